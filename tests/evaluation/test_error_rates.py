"""Error rates: equal to the table of the edit distance, and exact if and only if there is no error."""

import pytest

from evaluation.corpora import disturbed, sentences
from hexapla.errors import ConfigError, DataError
from hexapla.evaluation.errors import character_error_rate, exact_match, sequence_error_rate, word_error_rate
from reference.edit_distance import edit_distance

REFERENCE = sentences(1, 30)
HYPOTHESES = [*disturbed(REFERENCE, 2, share=0.1)[:-2], "", "a"]
ALL = [exact_match, sequence_error_rate, word_error_rate, character_error_rate]


def test_word_errors_are_those_of_the_table():
    edits = sum(edit_distance(h.split(), r.split()) for h, r in zip(HYPOTHESES, REFERENCE, strict=True))
    words = sum(len(r.split()) for r in REFERENCE)
    score = word_error_rate(HYPOTHESES, [REFERENCE])
    assert score.value == pytest.approx(100 * edits / words)
    assert score.detail == f"{edits} edits for {words} words"


def test_character_errors_are_those_of_the_table():
    edits = sum(edit_distance(h, r) for h, r in zip(HYPOTHESES, REFERENCE, strict=True))
    assert character_error_rate(HYPOTHESES, [REFERENCE]).value == pytest.approx(100 * edits / sum(map(len, REFERENCE)))


def test_a_character_outside_the_basic_plane_is_one_character():
    assert character_error_rate(["𝄞a𐌰"], [["𝄞b𐌰"]]).value == pytest.approx(100 / 3)


def test_phonemes_between_spaces_are_words():
    assert word_error_rate(["ɦ ɔ n t"], [["ɦ ɔ n d ə"]]).value == pytest.approx(40)


def test_exact_match_and_sequence_error_rate_share_the_lines():
    exact = sum(h == r for h, r in zip(HYPOTHESES, REFERENCE, strict=True))
    assert 5 < exact < 25
    matched, wrong = exact_match(HYPOTHESES, [REFERENCE]), sequence_error_rate(HYPOTHESES, [REFERENCE])
    assert matched.value == pytest.approx(100 * exact / 30)
    assert matched.value + wrong.value == pytest.approx(100)
    assert matched.detail == f"{exact} of 30 lines; sequence error rate {wrong.value:.2f}"
    assert wrong.detail == f"{30 - exact} of 30 lines; called word error rate in G2P papers"


@pytest.mark.parametrize("line", ["a dog", " a  dog\t", "a\u3000dog"])
def test_a_line_is_exact_if_and_only_if_nothing_is_wrong_in_it(line):
    assert [score([line], [["a dog"]]).value for score in ALL] == [100, 0, 0, 0]
    assert [score([line.replace("dog", "dogs")], [["a dog"]]).value for score in ALL] == [0, 100, 50, 20]


def test_case_is_ignored_on_request_and_the_signature_says_so():
    for score in ALL:
        strict, loose = score(["A Dog"], [["a dog"]]), score(["A Dog"], [["a dog"]], lowercase=True)
        assert (strict.value == 0) == (score is exact_match)
        assert (loose.value == 100) == (score is exact_match)
        assert "case:mixed" in strict.signature and "case:lc" in loose.signature


def test_of_several_references_the_nearest_counts():
    references = [["a dog barks loudly"], ["the cat sleeps"]]
    assert word_error_rate(["the cat slept"], references).value == pytest.approx(100 / 3)
    assert word_error_rate(["a b c"], [["a b"], ["a b c d e"]]).value == pytest.approx(40)  # not 50: nearest in errors per word
    assert exact_match(["the cat sleeps"], references).value == 100
    assert "nrefs:2" in exact_match(["x"], references).signature


def test_an_empty_reference_costs_what_is_written_against_it():
    assert word_error_rate(["", "a b"], [["", "a b"]]).value == 0
    assert word_error_rate(["x y", "a b"], [["", "a b"]]).value == 100
    assert character_error_rate(["x"], [[""]]).value == 100
    assert character_error_rate([""], [[""]]).value == 0
    assert word_error_rate([""], [["a b c"]]).value == 100


@pytest.mark.parametrize("score", ALL)
def test_different_numbers_of_lines_are_refused_with_both(score):
    with pytest.raises(DataError, match="reference 1: 3 lines, but hypotheses has 2; line i of one must belong to line i of the other"):
        score(["a", "b"], [["a", "b", "c"]])
    with pytest.raises(ConfigError, match=r"references = \[\]: a score needs at least one list of reference lines"):
        score(["a"], [])
