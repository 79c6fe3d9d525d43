"""The smoothed loss against its closed form: no lower than the entropy of q, and that at q."""

import math

import numpy as np
import pytest
import torch
from computed import measured, rows

from hexapla.explanation.smoothing import GOLD, VOCAB, curve, entropy, loss_of, lowest, smoothed, with_gold


def q_of(smoothing: float) -> np.ndarray:
    q = np.full(VOCAB, smoothing / VOCAB)
    q[GOLD] += 1 - smoothing
    return q


@pytest.mark.parametrize("smoothing", [0.05, 0.1, 0.2])
def test_the_entropy_is_that_of_q(smoothing):
    q = q_of(smoothing)
    assert entropy(VOCAB, smoothing) == pytest.approx(-np.sum(q * np.log(q)))
    assert smoothed(VOCAB, smoothing) == pytest.approx((q[GOLD], q[0]))
    assert entropy(VOCAB, 0.0) == 0.0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_to_q_for_any_logits(smoothing):
    logits = torch.randn(VOCAB)
    p = np.exp(logits.double().numpy())
    expected = -np.sum(q_of(smoothing) * np.log(p / p.sum()))
    assert float(loss_of(logits, smoothing).total) == pytest.approx(expected, rel=1e-5)
    assert expected >= entropy(VOCAB, smoothing)


@pytest.mark.parametrize("smoothing", [0.05, 0.1, 0.2])
def test_descent_ends_at_the_entropy_and_never_below(smoothing):
    logits = lowest(smoothing)
    assert float(loss_of(logits, smoothing).total) == pytest.approx(entropy(VOCAB, smoothing), abs=1e-5)
    gold, other = smoothed(VOCAB, smoothing)
    assert float(logits[GOLD] - logits[torch.arange(VOCAB) != GOLD].mean()) == pytest.approx(math.log(gold / other), abs=0.05)
    assert min(curve(smoothing, [i / 1000 for i in range(10, 1000, 10)])) >= entropy(VOCAB, smoothing) - 1e-6


def test_a_curve_turns_up_beyond_q():
    gold = smoothed(VOCAB, 0.1)[0]
    below, at, above = curve(0.1, [gold - 0.05, gold, gold + 0.05])
    assert at < below and at < above
    assert float(with_gold(0.3).softmax(dim=0)[GOLD]) == pytest.approx(0.3)


def test_the_table_says_perplexity_is_1_over_q():
    for share, gold, *_, perplexity in rows("smoothing")[1:]:
        assert perplexity == pytest.approx(1 / gold) == pytest.approx(1 / (1 - float(share) + float(share) / VOCAB))
    assert measured("smoothing")["flat"] < 1e-6
