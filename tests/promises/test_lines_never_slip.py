"""Line i of one file stays with line i of the other, from the bytes on disk to the ids of a batch, whatever characters are in them.

What a line is, which pairs are kept and which are dropped is worked out here once more, from the bytes and by plain Python.
"""

import gzip
import io
import json
import lzma
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hexapla.config.data import Bytes, Characters, Cleaning
from hexapla.config.model import Specials
from hexapla.data.batches import Batches
from hexapla.data.corpus import read_pairs
from hexapla.data.lines import count_lines, read_lines
from hexapla.data.prepared import Prepared
from hexapla.errors import DataError
from hexapla.workflow.prepare import prepare

ODD = [
    "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\r", "\xa0", "\u3000", "\u200b", "\u200d", "\u2060",
    "\ufeff", "\ufffd", "\x01", "\x1a", "\x7f", "\x9f", "<s>", "</s>", "<pad>", "<unk>", "▁", "▅", "⁇", "\ufdd0", "\uffff", "\U0010ffff",
    "e\u0301", "\u0301", "\u202e", "\u202d", "\u2066", "\u200f", "\u061c", "אב", "عر", "👩\u200d👩\u200d👧", "🇩🇪", "\U000e0067", "☺\ufe0f",
    "\ue000", "\U000f0000", "\u0378", "ﬁ", "Ｆ", "İ", "ı", "ß", "漢", "เ", "𝄞", " ", "  ", "\\n", '"', ",", "a", "b", "a b", "x" * 40,
]  # fmt: skip
TEXT = st.lists(st.sampled_from(ODD), max_size=5).map("".join)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=14)
ANYWHERE = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass(frozen=True)
class Form:
    """How a corpus is stored."""

    ending: str = "\n"
    last: bool = True
    """whether the last line has its ending"""
    mark: bool = False
    """whether a byte-order mark begins each file"""
    pack: str = ""

    def store(self, file: Path, lines: list[str]) -> Path:
        text = self.ending.join(lines) + (self.ending if self.last and lines else "")
        content = ("\ufeff" * self.mark + text).encode()
        packer: Callable[[bytes], bytes] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[self.pack]
        file = file.with_name(file.name + self.pack)
        file.write_bytes(packer(content))
        return file


FORMS = st.builds(
    Form, ending=st.sampled_from(["\n", "\r\n"]), last=st.booleans(), mark=st.booleans(), pack=st.sampled_from(["", "", ".gz", ".xz"])
)


def lines_of(content: bytes) -> list[str]:
    """What LF ends, with one CR before it and one mark at the start taken off: what `wc -l` counts, and a last line without LF."""
    parts = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    whole, rest = parts[:-1], parts[-1:] if parts[-1] else []
    return [part.removesuffix(b"\r").decode() for part in whole] + [part.decode() for part in rest]


def unpacked(file: Path) -> bytes:
    opener: Callable[[bytes], bytes] = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(file.suffix, bytes)
    return opener(file.read_bytes())


@settings(ANYWHERE, max_examples=300)
@given(pairs=PAIRS, form=FORMS, other=FORMS)
def test_two_files_give_the_pairs_of_their_line_feeds(tmp_path, pairs, form, other):
    files = form.store(tmp_path / "s", [s for s, _ in pairs]), other.store(tmp_path / "t", [t for _, t in pairs])
    ours, theirs = (lines_of(unpacked(file)) for file in files)
    for file, expected in zip(files, (ours, theirs), strict=True):
        content = unpacked(file).removeprefix(b"\xef\xbb\xbf")
        assert list(read_lines(file)) == expected
        assert count_lines(file) == len(expected) == content.count(b"\n") + (content[-1:] not in (b"", b"\n"))
    if len(ours) == len(theirs):
        assert list(read_pairs(*files)) == list(zip(ours, theirs, strict=True))
    else:  # a blank last line without its ending is none
        with pytest.raises(DataError, match=rf"{len(theirs)} lines, but .* has {len(ours)};"):
            list(read_pairs(*files))


@settings(ANYWHERE, max_examples=100)
@given(pairs=PAIRS, form=FORMS)
def test_one_file_with_tabs_and_standard_input_give_the_same_pairs(tmp_path, pairs, form):
    file = form.store(tmp_path / "t.tsv", [f"{s}\t{t}" for s, t in pairs])
    expected = [tuple(line.split("\t")) for line in lines_of(unpacked(file))]
    assert list(read_pairs(file)) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(unpacked(file))))
        assert list(read_pairs("-")) == expected


def test_there_are_as_many_lines_as_wc_counts(tmp_path):
    file = Form(ending="\r\n").store(tmp_path / "all", [f"a{odd}b" for odd in ODD])
    counted = subprocess.run(["wc", "-l", file], capture_output=True, text=True, check=True)
    assert len(list(read_lines(file))) == int(counted.stdout.split()[0]) == len(ODD)


CLEANINGS = st.builds(
    Cleaning,
    max_tokens=st.sampled_from([3, 12, 256]),
    max_ratio=st.sampled_from([None, 1.0, 2.0]),
    duplicates=st.sampled_from(["keep", "drop"]),
    copies=st.sampled_from(["keep", "drop"]),
    too_long=st.sampled_from(["drop", "cut"]),
)


def judged(pairs: list[tuple[str, str]], cleaning: Cleaning, size: Callable[[str], int]) -> list[str | None]:
    """Why each pair is dropped or cut, one after the other."""
    seen, reasons = set(), []
    for source, target in pairs:
        short, long = sorted((size(source), size(target)))
        reason = None
        if not source.strip() or not target.strip():
            reason = "empty"
        elif cleaning.copies == "drop" and source == target:
            reason = "copy"
        elif cleaning.duplicates == "drop" and (source, target) in seen:
            reason = "duplicate"
        elif long > cleaning.max_tokens and cleaning.too_long == "drop":
            reason = "too_long"
        elif cleaning.max_ratio is not None and long > cleaning.max_ratio * short + 5:
            reason = "ratio"
        elif long > cleaning.max_tokens:
            reason = "cut"
        if reason not in ("empty", "copy"):
            seen.add((source, target))
        reasons.append(reason)
    return reasons


def follow(folder: Path, pairs: list[tuple[str, str]], form: Form, cleaning: Cleaning, kind: Bytes | Characters, tabs: bool) -> None:
    """Prepare a corpus, then account for each of its lines: as dropped, or as the ids that training sees."""
    if tabs:
        files = [form.store(folder / "t.tsv", [f"{s}\t{t}" for s, t in pairs])]
        pairs = [(s, t) for s, _, t in (line.partition("\t") for line in lines_of(unpacked(files[0])))]
    else:
        form = Form(form.ending, True, form.mark, form.pack)  # else a blank last line is none
        files = [form.store(folder / name, list(side)) for name, side in zip("st", zip(*pairs, strict=True), strict=True)]
        pairs = list(zip(*(lines_of(unpacked(file)) for file in files), strict=True))
    size = (lambda text: len(text.encode())) if isinstance(kind, Bytes) else len
    reasons = judged(pairs, cleaning, size)
    lost = [(i, reason) for i, reason in enumerate(reasons, 1) if reason]
    try:
        prepared = prepare(*files, into=folder / "data", subwords=kind, cleaning=cleaning, hold_out=0, max_dropped=1.0, overwrite=True)
    except DataError as error:
        assert all(reason not in (None, "cut") for reason in reasons) and "no pair of" in str(error)
        return
    rows = [json.loads(line) for line in (folder / "data" / "dropped.jsonl").read_text().splitlines()]
    assert sorted((row["line"], row["reason"]) for row in rows) == lost
    account, counts = prepared.report["corpus"]["train"], Counter(reason for _, reason in lost)
    assert account["read"] == len(pairs) == account["kept"] + account["held_out"] + sum(account["dropped"].values())
    assert Counter(account["dropped"]) + Counter({"cut": account["cut"]}) == counts
    check_batches(prepared, pairs, reasons, cleaning.max_tokens)


def check_batches(prepared: Prepared, pairs: list[tuple[str, str]], reasons: list[str | None], most: int) -> None:
    specials, split = Specials(), prepared.train
    batches = Batches(split, specials=specials, batch_tokens=2000, seed=1)
    met = []
    for rows in batches.order(1):
        batch = batches.load(rows)
        for row, source, target in zip(rows, batch.source.tolist(), batch.target.tolist(), strict=True):
            line = split.line(row)
            met.append(line)
            for tokenizer, ids, text in ((prepared.source, source, pairs[line - 1][0]), (prepared.target, target, pairs[line - 1][1])):
                assert [i for i in ids if i not in specials.ids] == tokenizer.encode(text)[:most]
                if len(tokenizer.encode(text)) <= most:
                    assert tokenizer.decode(ids) == text
    assert sorted(met) == [i for i, reason in enumerate(reasons, 1) if reason in (None, "cut")]


CORPORA = {
    "pairs": st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=14),
    "form": FORMS,
    "cleaning": CLEANINGS,
    "kind": st.sampled_from([Bytes(), Characters()]),
    "tabs": st.booleans(),
}


@settings(ANYWHERE, max_examples=60)
@given(**CORPORA)
def test_a_pair_s_ids_are_of_its_own_line_and_what_is_not_kept_has_its_reason(tmp_path, pairs, form, cleaning, kind, tabs):
    follow(tmp_path, pairs, form, cleaning, kind, tabs)


@pytest.mark.thorough
@pytest.mark.timeout(1200)
@settings(ANYWHERE, max_examples=2000)
@given(**CORPORA)
def test_no_pair_of_2_000_corpora_slips(tmp_path, pairs, form, cleaning, kind, tabs):
    follow(tmp_path, pairs, form, cleaning, kind, tabs)
