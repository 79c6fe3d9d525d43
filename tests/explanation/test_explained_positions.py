"""PE(pos + k) as rotations of PE(pos)."""

import math

import pytest
import torch
from computed import lines, measured, rows
from torch.testing import assert_close

from hexapla.explanation.positions import rotations


def encoding(pos: int, d_model: int) -> torch.Tensor:
    """Section 3.5, a number at a time."""
    angles = [pos / 10000 ** (2 * (i // 2) / d_model) for i in range(d_model)]
    return torch.tensor([math.sin(angle) if i % 2 == 0 else math.cos(angle) for i, angle in enumerate(angles)])


@pytest.mark.parametrize("k", [0, 1, 7, 100, -3])
@pytest.mark.parametrize("pos", [0, 5, 40])
def test_a_shift_is_the_rotation_that_depends_on_k_alone(k, pos):
    assert_close(rotations(k, 8) @ encoding(pos, 8), encoding(pos + k, 8), atol=1e-5, rtol=0)


def test_the_map_is_a_rotation():
    turn = rotations(5, 6)
    assert_close(turn @ turn.T, torch.eye(6))
    assert_close(rotations(2, 6) @ rotations(3, 6), turn)
    assert_close(torch.linalg.det(turn), torch.tensor(1.0))


def test_the_only_linear_map_that_fits_is_that_one():
    before = torch.stack([encoding(pos, 6) for pos in range(60)]).double()
    after = torch.stack([encoding(pos + 3, 6) for pos in range(60)]).double()
    assert_close(torch.linalg.lstsq(before, after).solution.T.float(), rotations(3, 6), atol=1e-3, rtol=0)


def test_wavelengths_go_from_2_pi_on_by_the_formula():
    shown = rows("positions")
    assert [row[1] for row in shown] == pytest.approx([2 * math.pi * 10000 ** (row[0] / 64) for row in shown])
    assert shown[0][4:] == pytest.approx([encoding(pos, 64)[0].item() for pos in (1, 10, 100)], abs=1e-6)


def test_dot_products_are_the_sum_of_cosines():
    dots = lines("positions", 1)[0]
    assert dots.y[0] == pytest.approx(32)
    assert dots.y[13] == pytest.approx(sum(math.cos(13 * 10000 ** (-2 * i / 64)) for i in range(32)), abs=1e-4)
    assert max(dots.y[1:]) < dots.y[0]


def test_without_positions_shuffled_tokens_give_shuffled_outputs():
    assert measured("positions")["permuted"] < 1e-5 < 0.1 < measured("positions")["placed"]
