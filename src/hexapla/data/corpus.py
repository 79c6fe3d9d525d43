"""Parallel text: two files line by line, or one file with a tab between the sides."""

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice, zip_longest
from typing import Literal

from hexapla.data.lines import Damaged, read_line_lists, read_lines
from hexapla.data.opening import is_plain_file, shown
from hexapla.errors import ConfigError, DataError

File = str | os.PathLike[str]

SOME = 128
"""lines of a TSV file that are split at a time: each may be long"""

_STANDARD_INPUT = ("-", "/dev/stdin")


def read_pairs(source: File, target: File | None = None, *, bad_bytes: Literal["refuse", "mark"] = "refuse") -> Iterator[tuple[str, str]]:
    """The pairs of a corpus in order: line i of `source` with line i of `target`, or one TSV file's lines.

    With `bad_bytes` mark, a line that is not UTF-8 makes a pair of which a side is `Damaged`.
    A TSV line holds exactly one tab; quotes have no meaning in it. Raises what `read_lines` raises; ConfigError when both
    sides are standard input; DataError when a line has no tab or several, and, after the last pair, when one file has more lines.
    """
    if target is None:
        yield from _read_tsv(source, bad_bytes)
        return
    sides = enumerate(zip_sides(source, target, bad_bytes=bad_bytes))
    for before, (one, other) in sides:
        if one is None or other is None:
            ours, theirs = before + (one is not None), before + (other is not None)
            for _, (more, others) in sides:  # the rest is only counted
                ours, theirs = ours + (more is not None), theirs + (others is not None)
            raise different_counts(source, target, ours, theirs, bad_bytes)
        yield one, other


def zip_sides(source: File, target: File, *, bad_bytes: Literal["refuse", "mark"] = "refuse") -> Iterator[tuple[str | None, str | None]]:
    """Both files line by line to the end of the longer one; None where a side has ended."""
    refuse_one_stream(source, target)
    read = partial(read_lines, bad_bytes=bad_bytes)
    return zip_longest(read(source), read(target))


def read_sides(
    source: File, target: File | None = None, *, bad_bytes: Literal["refuse", "mark"] = "refuse"
) -> Iterator[tuple[list[str], list[str]]]:
    """All lines of each side, some of both at a time and not as many of one as of the other: for who looks at the sides one by one.

    Of a TSV file there are as many. Raises what `read_pairs` raises, but not that one file has more lines.
    """
    if target is None:
        pairs = _read_tsv(source, bad_bytes)
        while some := list(islice(pairs, SOME)):
            yield [one for one, _ in some], [other for _, other in some]
        return
    refuse_one_stream(source, target)
    read = partial(read_line_lists, bad_bytes=bad_bytes)
    yield from zip_longest(read(source), read(target), fillvalue=[])


def refuse_one_stream(source: File, target: File) -> None:
    if os.fspath(source) in _STANDARD_INPUT and os.fspath(target) in _STANDARD_INPUT:
        raise ConfigError('source = "-", target = "-": standard input can be one side only; give a file for the other')


def different_counts(source: File, target: File, source_lines: int, target_lines: int, bad_bytes: Literal["refuse", "mark"]) -> DataError:
    from hexapla.data.inspect_alignment import parting_remark  # numpy is needed now only

    remark = parting_remark(read_sides(source, target, bad_bytes=bad_bytes)) if can_be_read_again(source, target) else ""
    return DataError(
        f"{shown(target)}: {target_lines} lines, but {shown(source)} has {source_lines};"
        f" line i of one must translate line i of the other{remark}"
    )


def can_be_read_again(*files: File) -> bool:
    """Whether all are plain files, no streams."""
    return all(is_plain_file(file) and os.fspath(file) not in _STANDARD_INPUT for file in files)


def _read_tsv(file: File, bad_bytes: Literal["refuse", "mark"]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(read_lines(file, bad_bytes=bad_bytes), 1):
        if isinstance(line, Damaged):
            yield line, Damaged()
            continue
        source, tab, target = line.partition("\t")
        if not tab or "\t" in target:
            raise DataError(f"{shown(file)}:{number}: {line.count(chr(9))} tabs, {_tab_remedy(line)}")
        yield source, target


def _tab_remedy(line: str) -> str:
    if "\t" in line:
        return "a line holds exactly one, between source and target; keep two columns, as in: cut -f1,2"
    return "a line holds exactly one, between source and target; for separate files give both: SOURCE TARGET"
