"""One core for every number: what it computes by default, what it notes, and that nothing else changes a score."""

import io
import json

import pytest
from rich.console import Console

from evaluation.corpora import disturbed, sentences
from hexapla.errors import ConfigError, DataError
from hexapla.evaluation import report
from hexapla.evaluation.corpus import bleu, chrf, ter
from hexapla.evaluation.errors import character_error_rate, exact_match, word_error_rate
from hexapla.evaluation.scoring import Scoring, compare, score_hypotheses

REFERENCE = sentences(1, 30)
GOOD, POOR = disturbed(REFERENCE, 2, share=0.1), disturbed(REFERENCE, 3, share=0.5)


def test_all_scores_are_those_of_the_single_functions():
    evaluation = score_hypotheses(GOOD, [REFERENCE])
    assert list(evaluation.scores) == ["bleu", "chrf", "ter", "exact", "wer", "cer"]
    functions = [bleu, chrf, ter, exact_match, word_error_rate, character_error_rate]
    assert list(evaluation.scores.values()) == [function(GOOD, [REFERENCE]) for function in functions]
    assert evaluation["bleu"] == evaluation.scores["bleu"].value
    assert evaluation.notes == ()


def test_asking_for_fewer_scores_changes_none():
    few = score_hypotheses(GOOD, [REFERENCE], Scoring(metrics=("chrf", "ser", "bleu")))
    assert list(few.scores) == ["chrf", "ser", "bleu"]
    assert few.scores["bleu"] == score_hypotheses(GOOD, [REFERENCE]).scores["bleu"]


def test_lowercase_reaches_each_score():
    upper = [line.upper() for line in REFERENCE]
    strict, loose = score_hypotheses(upper, [REFERENCE]), score_hypotheses(upper, [REFERENCE], Scoring(lowercase=True))
    assert {m for m in strict.scores if strict[m] != loose[m]} == {"bleu", "chrf", "exact", "wer", "cer"}
    assert loose["exact"] == 100


def test_chinese_gets_its_tokenizer_and_no_scores_of_words():
    evaluation = score_hypotheses(["一只狗在叫。"], [["一只猫在叫。"]])
    assert list(evaluation.scores) == ["bleu", "chrf", "exact", "cer"]
    assert "tok:zh" in evaluation.scores["bleu"].signature
    [note] = evaluation.notes
    assert note == "the references are in a script without spaces: BLEU's tokenizer is zh; no TER and WER, whose words stand between spaces"
    asked = score_hypotheses(["一只狗在叫。"], [["一只猫在叫。"]], Scoring(metrics=("bleu", "ter"), tokenize="zh"))
    assert "asian:yes" in asked.scores["ter"].signature and asked.notes == ()


def test_tokenised_text_scored_as_plain_text_is_noted():
    lines = [f"{line} ." for line in REFERENCE]
    [note] = score_hypotheses(lines, [lines], name="out.txt").notes
    assert note.startswith(
        "out.txt: 30 of 30 lines end in a mark after a space: the text looks tokenised; BLEU by 13a is meant for plain text"
    )
    assert score_hypotheses(lines, [lines], Scoring(tokenize="none")).notes == ()
    assert score_hypotheses(lines, [lines], Scoring(metrics=("chrf",))).notes == ()


def test_blank_lines_are_counted_and_scored():
    evaluation = score_hypotheses([*GOOD[:-2], "", " "], [REFERENCE, [*REFERENCE[:-1], "\t"]], reference_names=["a.txt", "b.txt"])
    assert (evaluation.blank_hypotheses, evaluation.blank_references) == (2, (0, 1))
    assert evaluation.notes == ("b.txt: blank lines: 1, scored as empty references",)
    assert "of 30 lines" in evaluation.scores["exact"].detail


def test_a_line_break_inside_a_hypothesis_scores_as_the_space_that_a_file_would_hold():
    broken = [line.replace(" ", "-\n", 1).replace(" ", "\r", 1) for line in GOOD]
    spaced = [line.replace(" ", "- ", 1).replace(" ", "\t", 2).replace("-\t", "- ").replace("\t", " ") for line in GOOD]
    assert score_hypotheses(broken, [REFERENCE]).hypotheses == tuple(spaced)
    assert score_hypotheses(broken, [REFERENCE]).scores == score_hypotheses(spaced, [REFERENCE]).scores


def test_a_comparison_holds_both_systems_and_a_test_of_each_score():
    evaluation = compare(GOOD, POOR, [REFERENCE], Scoring(metrics=("bleu", "exact")), names=("good", "poor"), samples=50)
    assert evaluation.against is not None and (evaluation.name, evaluation.against.name) == ("good", "poor")
    assert evaluation.against.scores == score_hypotheses(POOR, [REFERENCE], Scoring(metrics=("bleu", "exact"))).scores
    for metric, test in evaluation.comparisons.items():
        assert test.difference == pytest.approx(evaluation[metric] - evaluation.against[metric])
        assert test.p_value < 0.05
    assert evaluation.notes == ("30 lines are too few for resampling to say much; p means something from 100 on",)
    assert compare(GOOD * 4, POOR * 4, [REFERENCE * 4], Scoring(metrics=("exact",)), samples=5).notes == ()


def test_an_evaluation_is_json():
    plain = json.loads(json.dumps(compare(GOOD, POOR, [REFERENCE], Scoring(metrics=("wer",)), samples=50, seed=3).to_dict()))
    assert plain["lines"] == 30 and plain["system"] == "hypotheses" and plain["against"]["system"] == "against"
    assert plain["scores"]["wer"]["signature"].startswith("nrefs:1|case:mixed|unit:word")
    assert plain["comparisons"]["wer"]["seed"] == 3
    assert "against" not in score_hypotheses(GOOD, [REFERENCE]).to_dict()


def test_lines_for_other_programs_have_four_columns_or_with_a_comparison_seven():
    [line] = report.lines(score_hypotheses(GOOD, [REFERENCE], Scoring(metrics=("bleu",))))
    score = bleu(GOOD, [REFERENCE])
    assert line.split("\t") == ["BLEU", f"{score.value:.2f}", score.signature, score.detail]
    both = compare(GOOD, POOR, [REFERENCE], Scoring(metrics=("bleu",)), samples=50)
    name, value, signature, detail, other, difference, p = report.lines(both)[0].split("\t")
    assert (name, value, detail) == ("BLEU", f"{score.value:.2f}", score.detail)
    assert signature == f"{score.signature}|bs:50|seed:12345"
    assert (float(value) - float(other)) == pytest.approx(float(difference), abs=0.011)
    assert float(p) == pytest.approx(both.comparisons["bleu"].p_value, abs=1e-4)


def test_the_table_shows_each_number_its_direction_and_its_signature():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report.table(score_hypotheses(GOOD, [REFERENCE], name="[good]")))
    console.print(report.table(compare(GOOD, POOR, [REFERENCE], names=("good", "poor"), samples=50)))
    shown = console.export_text()
    score = bleu(GOOD, [REFERENCE])
    for expected in ("[good], 30 lines", "BLEU ↑", "TER ↓", f"{score.value:.2f}", score.signature, "good (1) against poor (2)", "bs:50"):
        assert expected in shown
    assert shown.count("0.020*") >= 4  # 1 of 51: significant, and marked so


def test_lines_that_do_not_match_are_refused_by_name():
    with pytest.raises(DataError, match=r"ref\.txt: 30 lines, but out\.txt has 29; line i of one must belong to line i of the other"):
        score_hypotheses(GOOD[1:], [REFERENCE], name="out.txt", reference_names=["ref.txt"])
    with pytest.raises(DataError, match=r"poor: 29 lines, but good has 30; line i of one must belong to line i of the other"):
        compare(GOOD, POOR[1:], [REFERENCE], names=("good", "poor"))
    with pytest.raises(ConfigError, match=r"references = \[\]: a score needs at least one list of reference lines"):
        score_hypotheses(GOOD, [])


def test_unknown_metrics_and_tokenizers_are_refused():
    with pytest.raises(ConfigError, match="metrics = meteor: no such metric; any of bleu, chrf, ter, exact, ser, wer, cer"):
        Scoring(metrics=("bleu", "meteor"))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="tokenize = moses: no such tokenizer; one of auto, 13a, intl, zh, char, none"):
        Scoring(tokenize="moses")  # pyright: ignore[reportArgumentType]


def test_where_two_systems_of_different_length_part_is_told_if_it_shows():
    lines = ["b" * (3 + i * 7919 % 83) for i in range(300)]
    with pytest.raises(DataError, match=r"^ref: 299 lines, but hyp has 300; .* of the other; they seem to part near line 12\d$"):
        score_hypotheses(lines, [lines[:120] + lines[121:]], name="hyp", reference_names=["ref"])
