"""The byte-level reader: what a line is, for every verb.

A line ends at LF. One CR before that LF belongs to the ending; every other character stays inside the line, U+2028, U+0085
and lone CR included, so that counting lines here equals counting LF bytes, as `wc -l` and every other toolkit do. A last line
without LF counts. Text is strict UTF-8; a byte-order mark is taken off once, at the start. Nothing is repaired in silence: a
byte that is not text is refused with file, line and offset (from 0, in the decompressed text).

Memory: one block and one line at most, whatever the file holds. `.gz` and `.xz` are read through once and verified before
their first line is handed out.
"""

import os
from collections.abc import Iterator
from itertools import chain
from typing import Literal

from hexapla.data.encodings import remedy, remedy_for_nul
from hexapla.data.opening import shown, text_blocks
from hexapla.errors import DataError

BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 2**20


class Damaged(str):
    """A line with a byte that is not UTF-8, or a NUL: what can be read of it, given only to who asked for such lines."""

    __slots__ = ()


def read_lines(
    file: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, bad_bytes: Literal["refuse", "mark"] = "refuse"
) -> Iterator[str]:
    """The lines of a file, without their endings; "-" is standard input.

    Raises DataError for a file that is missing, not a plain file, damaged, binary or not UTF-8, and for a line of more than
    `max_line_bytes` bytes; StorageError when the disk fails. Errors come up while iterating. With `bad_bytes` mark a line that is not
    UTF-8 comes as `Damaged` instead, whatever the file is otherwise.
    """
    return chain.from_iterable(read_line_lists(file, max_line_bytes=max_line_bytes, bad_bytes=bad_bytes))


def read_line_lists(
    file: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES, bad_bytes: Literal["refuse", "mark"] = "refuse"
) -> Iterator[list[str]]:
    """The lines that `read_lines` gives, as many together as were read at once."""
    for part, first_line, offset in _whole_lines(file, max_line_bytes):
        try:
            if b"\0" in part:
                raise ValueError("NUL")
            text = part.decode("utf-8")
        except ValueError as error:
            if bad_bytes == "mark":
                yield _marked(part)
                continue
            raise _undecodable(shown(file), part, first_line, offset) from (error if isinstance(error, UnicodeDecodeError) else None)
        if "\r\n" in text:
            text = text.replace("\r\n", "\n")
        lines = text.split("\n")
        if not lines[-1]:  # what follows the last LF is no line
            lines.pop()
        yield lines


def _marked(part: bytes) -> list[str]:
    """The lines of bytes of which some are no text."""
    return [_marked_line(line) for line in part.removesuffix(b"\n").split(b"\n")]


def _marked_line(line: bytes) -> str:
    line = line.removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = Damaged(line.decode("utf-8", "replace"))
    return Damaged(text) if "\0" in text else text


def count_lines(file: str | os.PathLike[str]) -> int:
    """How many lines `read_lines` would give, by counting LF bytes; the text itself is not looked at."""
    count, last = 0, b""
    for block in text_blocks(file):
        count += block.count(b"\n")
        last = (last + block)[-len(BOM) - 1 :]
    return count + (not last.endswith(b"\n") and last not in (b"", BOM))


def _whole_lines(file: str | os.PathLike[str], max_line_bytes: int) -> Iterator[tuple[bytes, int, int]]:
    """The file in parts that end with a line (or with the file): bytes, number of the first line, offset in the file."""
    held, line, offset = b"", 1, 0
    for block in text_blocks(file):
        held += block
        end = held.rfind(b"\n") + 1
        _refuse_long_line(shown(file), held, line, max_line_bytes)
        if not end:
            continue
        part, held = held[:end], held[end:]
        if offset == 0 and part.startswith(BOM):
            yield part[len(BOM) :], line, len(BOM)
        else:
            yield part, line, offset
        line += part.count(b"\n")
        offset += end
    if offset == 0 and held.startswith(BOM):
        held, offset = held[len(BOM) :], len(BOM)
    if held:
        yield held, line, offset


def _refuse_long_line(name: str, held: bytes, line: int, limit: int) -> None:
    """Jump from line to line, as far as the limit allows; where no LF is in reach, the line is too long."""
    start = 0
    while len(held) - start > limit:
        after = held.rfind(b"\n", start, start + limit + 1) + 1
        if not after:
            line += held.count(b"\n", 0, start)
            only_cr = held.count(b"\r", start) > 10
            hint = "its lines seem to end in CR alone: tr '\\r' '\\n' mends that" if only_cr else "lines must end in LF"
            raise DataError(f"{name}:{line}: a line of more than {limit:,} bytes, the longest that is read; {hint}")
        start = after


def _undecodable(name: str, part: bytes, first_line: int, offset: int) -> DataError:
    """The error for the first byte of `part` that is no text, with a guess at what the file is."""
    nul = part.find(b"\0")
    at, cut_off = nul, False
    try:
        part[: nul if nul >= 0 else None].decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
        cut_off = error.end == len(part) and error.reason == "unexpected end of data"
    line = first_line + part.count(b"\n", 0, at)
    place = f"{name}:{line}: byte {offset + at} (0x{part[at]:02x})"
    if at == nul:
        return DataError(f"{place} is NUL, which text never holds; {remedy_for_nul(part, at)}")
    if cut_off:
        return DataError(f"{place} begins a UTF-8 character that the file does not finish; it may be cut off: fetch it again")
    return DataError(f"{place} is not UTF-8; {remedy(part, at)}")
