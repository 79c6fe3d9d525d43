"""Many heads cost as much as one, and read different subspaces."""

import pytest
import torch
from computed import measured, rows
from torch.testing import assert_close

from hexapla.blocks.attention import Attention
from hexapla.config.attention import AttentionConfig
from hexapla.explanation.heads import multiply_adds, one_by_one, overlaps


def test_parameters_and_multiplications_are_the_closed_forms_for_any_number_of_heads():
    d, t = 512, 32
    for heads, d_k, parameters, products in rows("heads"):
        assert heads * d_k == d
        assert parameters == 4 * (d * d + d)
        assert products == 4 * t * d * d + 2 * t * t * d


def test_multiplications_are_counted_by_those_of_each_product():
    attention = Attention(8, AttentionConfig(heads=2))
    assert multiply_adds(attention, torch.randn(1, 5, 8)) == 4 * 5 * 8 * 8 + 2 * 2 * 5 * 5 * 4
    assert attention.record is None


def test_overlaps_of_equal_and_of_orthogonal_heads_are_1_and_0():
    attention = Attention(4, AttentionConfig(heads=2))
    with torch.no_grad():
        attention.query.weight.copy_(torch.eye(4))
        assert_close(overlaps(attention), torch.eye(2))
        attention.query.weight.copy_(torch.tensor([[1.0, 2, 0, 0], [0, 3, 0, 0], [5, 1, 0, 0], [1, 1, 0, 0]]))
        assert_close(overlaps(attention), torch.ones(2, 2))


@torch.no_grad()
def test_heads_added_one_by_one_are_the_whole():
    attention, x = Attention(8, AttentionConfig(heads=4)), torch.randn(2, 5, 8)
    assert_close(one_by_one(attention, x), attention(x))


def test_random_subspaces_share_d_k_over_d_model():
    assert measured("heads")["subspaces"] == pytest.approx(64 / 512, abs=0.01)
