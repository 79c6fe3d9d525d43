"""The worked example of the mission, exact to three digits, by the attention that every model uses."""

import math

import pytest
import torch
from computed import measured, rows, values
from torch.testing import assert_close

from hexapla.blocks.mask import CAUSAL, EVERYTHING
from hexapla.explanation.masking import SCORES, weights_of

ROWS = ["1.000 0.000 0.000 0.000", "0.354 0.646 0.000 0.000", "0.176 0.238 0.586 0.000", "0.105 0.142 0.234 0.520"]


def test_the_rows_are_exact_to_three_digits():
    shown = rows("masking")
    assert [" ".join(f"{weight:.3f}" for weight in row[5:9]) for row in shown] == ROWS


def test_they_are_softmax_over_what_is_visible():
    for t, (row, scores) in enumerate(zip(values("masking"), SCORES, strict=True)):
        total = sum(math.exp(score) for score in scores[: t + 1])
        expected = [math.exp(score) / total if s <= t else 0.0 for s, score in enumerate(scores)]
        assert all(math.isclose(one, other, rel_tol=1e-12, abs_tol=0) for one, other in zip(row, expected, strict=True))


def test_the_output_of_one_hot_keys_and_values_is_the_weights():
    scores = torch.tensor([[0.0, math.log(3)], [0.0, math.log(3)]])
    assert_close(weights_of(scores, EVERYTHING), torch.tensor([[0.25, 0.75], [0.25, 0.75]]))
    assert_close(weights_of(scores, CAUSAL), torch.tensor([[1.0, 0.0], [0.25, 0.75]]))


def test_cutting_after_the_softmax_leaves_less_than_1():
    last = [row[9] for row in rows("masking")]
    full = [[math.exp(score) for score in scores] for scores in SCORES]
    assert last == pytest.approx([sum(row[: t + 1]) / sum(row) for t, row in enumerate(full)])
    assert all(each < 1 for each in last[:3])


def test_nothing_comes_from_the_future():
    assert measured("masking")["future"] == measured("masking")["last_token"] == 0.0
