"""The paired bootstrap: ours draws as sacrebleu's does, and knows a real difference from none."""

import os

import numpy as np
import pytest

from evaluation.corpora import disturbed, sentences
from hexapla.errors import ConfigError
from hexapla.evaluation.corpus import bleu
from hexapla.evaluation.errors import word_error_rate
from hexapla.evaluation.significance import compare_corpus, compare_errors

REFERENCE = sentences(1, 60)
GOOD, POOR = disturbed(REFERENCE, 2, share=0.15), disturbed(REFERENCE, 3, share=0.35)
TWIN = disturbed(REFERENCE, 4, share=0.15)


@pytest.mark.parametrize("other", [TWIN, POOR], ids=["alike", "worse"])
def test_sequence_errors_of_single_words_are_tested_as_sacrebleu_tests_ter(other):
    """On lines of one word TER is the share of wrong lines, so both bootstraps must agree in every number."""
    first, second, answers = ([line.split()[0] for line in lines] for lines in (GOOD, other, REFERENCE))
    theirs = compare_corpus("ter", first, second, [answers], samples=200)
    ours = compare_errors("ser", first, second, [answers], samples=200)
    assert abs(ours.difference) > 0
    assert ours.difference == pytest.approx(theirs.difference)
    assert ours.p_value == theirs.p_value
    for one, two in ((ours.interval, theirs.interval), (ours.against_interval, theirs.against_interval)):
        assert (one.mean, one.half_width) == pytest.approx((two.mean, two.half_width), rel=1e-5)


def test_word_errors_are_resampled_as_a_ratio_of_sums():
    """A line counts by its length: the mean of the resampled rates is near the corpus rate, not near the mean rate of lines."""
    hypotheses, answers = ["x"] * 50 + ["a b c d e f g h i"] * 50, ["y"] * 50 + ["a b c d e f g h i"] * 50
    test = compare_errors("wer", hypotheses, answers, [answers], samples=300)
    assert test.difference == pytest.approx(10)
    assert test.interval.mean == pytest.approx(10, abs=0.5)
    assert (test.against_interval.mean, test.against_interval.half_width) == (0, 0)


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_clearly_better_system_is_significant_and_a_twin_is_not(metric):
    assert compare_corpus(metric, GOOD, POOR, [REFERENCE], samples=200).p_value < 0.01
    assert compare_corpus(metric, GOOD, TWIN, [REFERENCE], samples=200).p_value > 0.05


@pytest.mark.parametrize("metric", ["exact", "ser", "wer", "cer"])
def test_a_clearly_better_system_has_fewer_errors_significantly_and_a_twin_has_not(metric):
    assert compare_errors(metric, GOOD, POOR, [REFERENCE], samples=200).p_value < 0.05
    assert compare_errors(metric, GOOD, TWIN, [REFERENCE], samples=200).p_value > 0.05


def test_differences_are_the_first_minus_the_other():
    test = compare_corpus("bleu", GOOD, POOR, [REFERENCE], samples=50)
    assert test.difference == pytest.approx(bleu(GOOD, [REFERENCE]).value - bleu(POOR, [REFERENCE]).value)
    rates = compare_errors("wer", GOOD, POOR, [REFERENCE], samples=50)
    assert rates.difference == pytest.approx(word_error_rate(GOOD, [REFERENCE]).value - word_error_rate(POOR, [REFERENCE]).value)


def test_the_interval_is_where_the_true_score_lies():
    """On lines that are right with probability 0.7 the 95% interval of exact match has the width of the binomial's."""
    right = np.random.default_rng(0).random(400) < 0.7
    test = compare_errors("exact", ["a" if one else "b" for one in right], ["b"] * 400, [["a"] * 400], samples=1000)
    assert test.interval.mean == pytest.approx(100 * right.mean(), abs=0.3)
    assert test.interval.half_width == pytest.approx(100 * 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / 400), rel=0.15)


def test_a_system_does_not_differ_from_itself():
    assert compare_corpus("bleu", GOOD, GOOD, [REFERENCE], samples=50).p_value == 1
    assert compare_errors("wer", GOOD, GOOD, [REFERENCE], samples=50).p_value == 1


@pytest.mark.parametrize("environment", [None, "7"], ids=["no seed in the environment", "another one there"])
def test_the_seed_alone_decides_what_is_drawn(environment, monkeypatch):
    if environment is None:
        monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    else:
        monkeypatch.setenv("SACREBLEU_SEED", environment)
    first, again = (compare_corpus("chrf", GOOD, TWIN, [REFERENCE], samples=30, seed=5) for _ in range(2))
    assert first == again
    assert first.signature == "bs:30|seed:5"
    assert first.interval != compare_corpus("chrf", GOOD, TWIN, [REFERENCE], samples=30, seed=6).interval
    assert os.environ.get("SACREBLEU_SEED") == environment
    rates = [compare_errors("cer", GOOD, TWIN, [REFERENCE], samples=30, seed=seed).interval for seed in (5, 5, 6)]
    assert rates[0] == rates[1] != rates[2]


@pytest.mark.parametrize(
    "compare",
    [lambda **o: compare_corpus("bleu", GOOD, POOR, [REFERENCE], **o), lambda **o: compare_errors("wer", GOOD, POOR, [REFERENCE], **o)],
)
def test_a_bootstrap_without_samples_or_seed_is_refused(compare):
    with pytest.raises(ConfigError, match="samples = 0: must be at least 1; 1000 is usual"):
        compare(samples=0)
    with pytest.raises(ConfigError, match="seed = 0: must be at least 1, so that two runs draw the same lines"):
        compare(seed=0)
