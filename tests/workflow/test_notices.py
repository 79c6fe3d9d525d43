"""What `prepare` warns of, from a part of the corpus."""

import random
from itertools import islice

import pytest

from hexapla.config.data import Cleaning, Words
from hexapla.data import texts as spooling
from hexapla.data.clean import Account, TextFilter
from hexapla.phrasebook.sentences import drawn
from hexapla.workflow import notices as module
from hexapla.workflow.prepare import prepare

BLANK = 150
"""lines without text at the head of each corpus: what is said counts them, though they are dropped"""


@pytest.fixture(scope="module")
def triples():
    return list(islice(drawn(11), 1000))


@pytest.fixture(params=["all of it", "a part"])
def noted(request, tmp_path, monkeypatch):
    """The notices of preparing a corpus behind some blank lines, which is looked at wholly or by a third."""
    if request.param == "a part":
        monkeypatch.setattr(module, "LOOKED_AT", 333)

    def notices(source, target) -> list[str]:
        lines = ["\t\n"] * BLANK + [f"{s}\t{t}\n" for s, t in zip(source, target, strict=True)]
        (tmp_path / "corpus.tsv").write_text("".join(lines), encoding="utf-8")
        return prepare(tmp_path / "corpus.tsv", into=tmp_path / "data", overwrite=True, subwords=Words(), hold_out=0).report["notices"]

    return notices


def test_a_corpus_in_order_is_not_talked_about(triples, noted):
    for language in ("de", "zh"):
        assert noted([t.en for t in triples], [getattr(t, language) for t in triples]) == []


def test_sides_out_of_step_are_told_with_the_line_where_that_begins(triples, noted):
    source, target = [t.en for t in triples], [t.de for t in triples]
    (notice,) = noted(source[:-1], target[:500] + target[501:])
    begins = int(notice.partition("from about line ")[2].partition(" ")[0])
    assert abs(begins - BLANK - 500) < 40
    assert "there line i of the source fits line i-1 of the target" in notice and f"near line {begins} look for a line that" in notice


def test_sides_in_another_order_swapped_or_copied_are_told(triples, noted):
    english, german, chinese = zip(*((t.en, t.de, t.zh) for t in triples), strict=True)
    (notice,) = noted(english, random.Random(1).sample(german, len(german)))
    assert notice.startswith("long lines do not meet long lines") and "see whether both files are in the same order" in notice
    (notice,) = noted((*english[:960], *chinese[960:]), (*chinese[:960], *english[960:]))
    assert "pairs with source and target swapped, by their scripts" in notice and "exchange the two sides of these lines" in notice
    first = int(notice.partition("(first at line ")[2].partition(")")[0])
    assert BLANK + 960 < first <= BLANK + 990
    (notice,) = noted(english, (*german[:960], *english[960:]))
    assert "pairs with source = target" in notice and "untranslated lines teach copying" in notice


def test_a_sample_is_blocks_of_neighbours_from_the_first_line_to_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(spooling, "CHUNK", 7)
    rows = [(f"s{i}", f"t{i}") for i in range(1000)]
    with (tmp_path / "log").open("w") as log:
        keep, account = TextFilter(Cleaning()), Account("train", log)
        texts = spooling.spool(iter([("", ""), *rows]), tmp_path, "texts", keep, account, lambda read: None)
    lines, sources, targets = texts.sample(100, blocks=5)
    assert list(zip(sources, targets, strict=True)) == [rows[line - 2] for line in lines.tolist()]
    assert [int(line) for line in lines if line - 1 not in lines] == [2, 247, 492, 737, 982] and len(lines) == 100 and lines[-1] == 1001
    assert texts.sample(1000)[1] == texts.sample(5000)[1] == [source for source, _ in rows]
