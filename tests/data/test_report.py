"""The report's numbers equal a plain count, and its suspicions are right in both directions: raised and withheld."""

import gzip
import json
import lzma
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapla.data import corpus as reading
from hexapla.data import inspect_characters as measuring
from hexapla.data.report import describe
from hexapla.errors import DataError

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"
CORPORA = {
    "multi30k": ("multi30k/raw/train.en.gz", "multi30k/raw/train.de.gz"),
    "tatoeba": ("tatoeba_en_zh/train.en.xz", "tatoeba_en_zh/train.zh.xz"),
    "bible": ("bible_grc_en/train.tok.grc.xz", "bible_grc_en/train.tok.en.xz"),
    "scan": ("scan/length.train.in.xz", "scan/length.train.out.xz"),
}
GERMAN = ["ein", "der", "Hund", "sieht", "Haus", "morgen", "wir", "nicht"]
ENGLISH = ["a", "the", "dog", "sees", "house", "tomorrow", "we", "not"]


@pytest.fixture
def corpus(tmp_path):
    def write(source: list[str], target: list[str]) -> tuple[Path, Path]:
        for name, lines in (("a.src", source), ("a.tgt", target)):
            (tmp_path / name).write_bytes("".join(line + "\n" for line in lines).encode())
        return tmp_path / "a.src", tmp_path / "a.tgt"

    return write


def invented(lines: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Pairs whose lengths and question marks agree as those of translations do."""
    dice = random.Random(seed)
    source, target = [], []
    for _ in range(lines):
        words = dice.randint(3, 20)
        mark = "?" if dice.random() < 0.15 else "."
        source.append(" ".join(dice.choice(GERMAN) for _ in range(words)) + mark)
        size = max(1, round(words * dice.gauss(1.1, 0.15)))
        target.append(" ".join(dice.choice(ENGLISH) for _ in range(size)) + mark)
    return source, target


def found(report, code):
    return [finding for finding in report.findings if finding.code == code]


def only(report, code):
    (finding,) = found(report, code)
    return finding


TEXTS = st.text("ab ß?\xa0\t\x85\x1c", max_size=5) | st.text("ab ß漢か٣?\u2028\x0b\xa0\ufeff\r\t\x85\x1c", max_size=5).filter(
    lambda text: not text.endswith("\r")
)


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=12), st.sampled_from([1, 3, 8192]), st.sampled_from([1, 2**21]))
def test_every_number_equals_a_plain_count(tmp_path_factory, pairs, batch, characters):
    folder = tmp_path_factory.getbasetemp()
    for name, lines in zip("xy", zip(*pairs, strict=True) if pairs else ((), ()), strict=True):
        (folder / name).write_bytes("".join("." + line + "\n" for line in lines).encode())
    source, target = ["." + one for one, _ in pairs], ["." + other for _, other in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "BATCH_LINES", batch)
        patch.setattr(measuring, "BATCH_CHARACTERS", characters)
        report = describe(folder / "x", folder / "y", limit=100)
    assert report.pairs == len(pairs)
    assert report.copies == sum(one == other for one, other in zip(source, target, strict=True))
    assert report.repeated_pairs == len(pairs) - len(set(pairs))
    for side, lines, repeated in ((report.source, source, report.repeated_sources), (report.target, target, report.repeated_targets)):
        assert side.lines == len(lines)
        assert side.characters == sum(map(len, lines))
        assert side.words == sum(len(line.split()) for line in lines)
        assert side.distinct_words == len({word for line in lines for word in line.split()})
        assert side.distinct_characters == len(set("".join(lines)))
        assert repeated == len(lines) - len(set(lines))
        assert sum(side.lengths.counts) == len(lines)
        text = "".join(lines)
        odd = {"U+2028 line separator": "\u2028", "U+000B vertical tab": "\x0b", "lone CR": "\r", "no-break space": "\xa0"}
        odd |= {"byte-order mark inside": "\ufeff", "tab": "\t", "U+0085 next line": "\x85", "U+001C file separator": "\x1c"}
        assert side.odd == {name: text.count(char) for name, char in odd.items() if char in text}


def test_lengths_are_counted_in_words_and_the_last_bin_is_open(corpus):
    lines = ["", *["w " * n for n in range(1, 101)]]
    lengths = describe(*corpus(lines, lines)).source.lengths
    assert lengths.unit == "words"
    assert lengths.starts == (0, *range(1, 102, 10))
    assert lengths.counts == (1, *[10] * 10, 0)


def test_lengths_are_counted_in_characters_where_spaces_part_no_words(corpus):
    report = describe(*corpus(["今天天气很好", "我不去"], ["nice weather today", "I do not go"]))
    assert (report.source.lengths.unit, report.target.lengths.unit) == ("characters", "characters")
    assert (report.source.longest, report.source.longest_line) == (6, 1)


def test_ratios_are_binned_about_their_median(corpus):
    report = describe(*corpus(["abcd", "abcd", "abcd", ""], ["ab cd ef", "ab cd ef", "abcdefghijklmnopqrstuvwxyz", "x"]))
    assert report.typical_ratio == 2.0
    assert (sum(report.ratios.counts), report.ratios.counts[4], report.ratios.counts[7]) == (3, 2, 1)  # the blank pair has no ratio


def test_blank_sides_are_found_with_their_lines(corpus):
    report = describe(*corpus(["a b", "", " ", "c", "\t"], ["x", "y", "", "\u3000", "z"]))
    ours, theirs = found(report, "one_side_blank")
    assert (ours.count, ours.lines) == (2, (2, 5))
    assert (theirs.count, theirs.lines) == (1, (4,))
    assert only(report, "both_blank").lines == (3,)
    assert (report.source.blank, report.target.blank) == (3, 2)


def test_repeats_are_told_apart_from_lines_with_several_translations(corpus):
    report = describe(*corpus(["a", "b", "a", "a", "c"], ["x", "y", "x", "z", "y"]))
    assert only(report, "repeated_pairs").lines == (3,)
    assert [finding.lines for finding in found(report, "repeated_lines")] == [(4,), (5,)]
    assert (report.repeated_pairs, report.repeated_sources, report.repeated_targets) == (1, 2, 2)


def test_copies_are_a_warning_and_a_corpus_of_copies_an_error(corpus):
    source, target = invented(50)
    some = describe(*corpus([*source, "OK"], [*target, "OK"]))
    assert (only(some, "copies").level, only(some, "copies").lines) == ("warning", (51,))
    every = describe(*corpus(source, source))
    assert (only(every, "copies").level, every.worst) == ("error", "error")
    assert only(every, "copies").message == "source and target are the same text"


def test_characters_that_end_lines_elsewhere_are_warned_of_by_line(corpus):
    report = describe(*corpus(["a", "b\x0bc", "d\u2028\u2028e", "\x0b"], ["a b", "b c", "d e", "f"]))
    tab, separator = sorted(found(report, "odd_character"), key=lambda finding: finding.message[-40:])
    assert {tab.lines, separator.lines} == {(2, 4), (3,)}
    assert {finding.level for finding in (tab, separator)} == {"warning"}
    assert any("U+2028 line separator, 2 times in 1 line" in finding.message for finding in (tab, separator))


def test_control_tokens_in_text_and_decomposed_letters_are_only_information(corpus):
    report = describe(*corpus(["say </s> now </s>", "cafe\u0301", "x@@ y"], ["dis ▁ ceci", "un café", "z &amp; w"]))
    messages = [finding.message.partition(": ")[2] for finding in found(report, "lookalike")]
    assert messages == ['"</s>", 2 times in 1 line', '"@@ ", 1 time in 1 line', '"&amp;", 1 time in 1 line']
    assert only(report, "not_nfc").lines == (2,)
    assert "▁" in only(report, "odd_character").message
    assert report.worst == "info"


def test_lines_in_another_script_and_swapped_pairs_are_found(corpus):
    source, target = invented(40)
    target = ["собака видит дом " * (1 + len(line) // 20) for line in target]
    source[6], target[6] = target[6], source[6]
    target[30] = "not translated"
    report = describe(*corpus(source, target))
    assert (report.source.script, report.target.script) == ("Latin", "Cyrillic")
    assert only(report, "swapped").lines == (7,)
    assert only(report, "other_script").lines == (31,)


def test_japanese_may_be_written_in_han_alone(corpus):
    report = describe(*corpus(["Buch", "mein", "dies", "Tag", "Tokio"] * 20, ["これは", "わたしの", "それは", "あの日です", "東京"] * 20))
    assert report.target.scripts == {"Kana": 80, "Han": 20}
    assert not found(report, "other_script")


def test_overlap_with_a_test_set_is_counted_by_source_and_by_pair(corpus, tmp_path):
    source, target = invented(30)
    (tmp_path / "test.tsv").write_text(f"{source[4]}\t{target[4]}\n{source[9]}\tother\nnew\t{target[2]}\n\t\n")
    report = describe(*corpus([*source, ""], [*target, ""]), tests=[tmp_path / "test.tsv"])
    (overlap,) = report.overlaps
    assert (overlap.pairs, overlap.sources_seen, overlap.targets_seen, overlap.pairs_seen) == (4, 2, 2, 1)
    assert overlap.lines == (1, 2)
    assert only(report, "test_overlap").level == "warning"


def test_a_test_set_of_two_files_apart_from_the_corpus_is_said_to_be_so(corpus, tmp_path):
    (tmp_path / "t.a").write_text("never\n")
    (tmp_path / "t.b").write_text("seen\n")
    report = describe(*corpus(*invented(30)), tests=[(tmp_path / "t.a", tmp_path / "t.b")])
    assert "0 of 1 sources are in the corpus" in only(report, "test_overlap").message
    assert only(report, "test_overlap").level == "info"


def test_pairs_out_of_proportion_are_found(corpus):
    source, target = invented(60)
    source[20] = "word " * 60
    assert only(describe(*corpus(source, target)), "out_of_proportion").lines == (21,)


def test_a_long_line_is_named(corpus):
    source, target = invented(60)
    source[20], target[20] = "word " * 300, "words " * 300
    assert [finding.lines for finding in found(describe(*corpus(source, target)), "long_line")] == [(21,), (21,)]


def test_different_line_counts_are_an_error_that_says_where_the_sides_part(corpus):
    source, target = invented(400)
    paths = corpus(source[:150] + source[153:], target)
    finding = only(describe(*paths), "line_counts")
    assert finding.message == f"{paths[1]}: 400 lines, but {paths[0]} has 397"
    assert abs(finding.lines[0] - 151) <= 3 and f"near line {finding.lines[0]}" in finding.remedy
    tail = only(describe(*corpus(source, target[:-40])), "line_counts")
    assert tail.lines == (361,) and "look at the end of" in tail.remedy


@pytest.mark.parametrize("offset", [-2, -1, 1, 2])
@pytest.mark.parametrize("lines", [120, 3000])
def test_lines_out_of_step_are_found_where_they_begin(corpus, lines, offset):
    source, target = invented(lines + 3)
    half = lines // 2
    if offset > 0:
        source = source[:half] + source[half + offset :]
    else:
        target = target[:half] + target[half - offset :]
    report = describe(*corpus(source[:lines], target[:lines]))
    (shift,) = report.shifts
    assert shift.offset == offset
    assert abs(shift.first - half) <= 5 and shift.last >= lines - 5
    finding = only(report, "out_of_step")
    assert finding.level == "error" and f"line i{offset:+d} of" in finding.message


def test_a_stretch_that_falls_back_into_step_is_bounded(corpus):
    source, target = invented(2000)
    report = describe(*corpus(source[:900] + source[901:], target[:960] + target[961:]))
    (shift,) = report.shifts
    assert (shift.offset, abs(shift.first - 901) <= 5, abs(shift.last - 959) <= 5) == (1, True, True)
    assert only(report, "out_of_step").level == "warning"


@pytest.mark.parametrize("seed", range(5))
def test_aligned_random_and_constant_corpora_raise_no_alarm(corpus, seed):
    source, target = invented(700, seed)
    shuffled = random.Random(seed).sample(target, len(target))
    ordered = sorted(zip(source, target, strict=True), key=lambda pair: len(pair[0]))
    assert describe(*corpus(source, target)).shifts == ()
    assert describe(*corpus(*map(list, zip(*ordered, strict=True)))).shifts == ()
    assert describe(*corpus(["ein Satz."] * 700, ["a sentence."] * 700)).shifts == ()
    unrelated = describe(*corpus(source, shuffled))
    assert unrelated.shifts == ()
    assert only(unrelated, "unrelated_lengths").level == "warning"


@pytest.mark.parametrize("name", CORPORA)
def test_public_corpora_are_in_step_until_a_line_is_lost(corpus, name):
    if not SHARED.is_dir():
        pytest.skip("../shared/data is absent")
    read = [lzma.open if file.endswith(".xz") else gzip.open for file in CORPORA[name]]
    source, target = (
        opener(SHARED / file, "rt", encoding="utf-8", newline="\n").read().split("\n")[:-1]
        for opener, file in zip(read, CORPORA[name], strict=True)
    )
    assert describe(*corpus(source, target)).shifts == ()
    half = len(source) // 2
    (shift,) = describe(*corpus(source[:half] + source[half + 1 :], target[:-1])).shifts
    assert shift.offset == 1
    assert abs(shift.first - half) < 20 and shift.last > len(source) - 20


def test_no_pairs_and_blank_pairs_alone_are_errors(corpus):
    assert only(describe(*corpus([], [])), "no_pairs").message == "there is no pair to train on"
    assert only(describe(*corpus(["", "a"], ["b", ""])), "no_pairs").message == "each pair has a blank side"


def test_a_tsv_file_is_both_columns(tmp_path):
    (tmp_path / "t.tsv").write_text("ein Hund\ta dog\nzwei\ttwo\n")
    report = describe(tmp_path / "t.tsv")
    assert (report.source.name, report.target.name) == (f"{tmp_path / 't.tsv'}, column 1", f"{tmp_path / 't.tsv'}, column 2")
    assert (report.pairs, report.source.words, report.target.words) == (2, 3, 3)


@pytest.mark.parametrize("lines", [1, 2, 3, 7])
def test_a_tsv_file_s_report_is_that_of_two_files_however_it_is_split(corpus, tmp_path, monkeypatch, lines):
    source, target = invented(7)
    (tmp_path / "both.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in zip(source, target, strict=True)))
    monkeypatch.setattr(reading, "SOME", lines)
    two, one = describe(*corpus(source, target)).to_json(), describe(tmp_path / "both.tsv").to_json()
    for report in (one, two):
        report["source"]["name"] = report["target"]["name"] = ""
    assert one == two


def test_a_test_set_of_two_files_of_different_length_is_refused(corpus, tmp_path):
    for name, text in (("t.src", "a\nb\n"), ("t.tgt", "c\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=r"t\.tgt: 1 lines, but .*t\.src has 2; line i of one must translate line i of the other$"):
        describe(*corpus(["x"], ["y"]), tests=[(tmp_path / "t.src", tmp_path / "t.tgt")])


def test_a_file_that_is_no_text_is_refused(corpus, tmp_path):
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-16"):
        describe(tmp_path / "bad", corpus(["a"], ["b"])[1])


def test_limit_is_how_many_lines_a_finding_quotes(corpus):
    report = describe(*corpus(["a"] * 9, ["b"] * 9), limit=2)
    assert (only(report, "repeated_pairs").lines, only(report, "repeated_pairs").count) == ((2, 3), 8)


def test_the_json_form_holds_everything_and_findings_come_worst_first(corpus):
    source, target = invented(50)
    report = describe(*corpus([*source, "OK", ""], [*target, "OK", ""]))
    form = json.loads(json.dumps(report.to_json()))
    assert (form["format"], form["worst"], form["pairs"]) == (1, report.worst, report.pairs)
    assert form["source"]["lengths"]["counts"] == list(report.source.lengths.counts)
    levels = Counter(finding["level"] for finding in form["findings"])
    order = [finding["level"] for finding in form["findings"]]
    assert order == [level for level in ("error", "warning", "info") for _ in range(levels[level])]
    assert len(levels) >= 2
