"""Positions against the formula of section 3.5, and what follows from it."""

import math

import pytest
import torch

from hexapla.blocks.positions import LearnedPositions, SinusoidalPositions, positions, sinusoids
from hexapla.config.model import Learned, Sinusoidal
from hexapla.errors import DataError
from reference.layers import sinusoid


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 29])
@pytest.mark.parametrize("start", [0, 1, 1000, 1_000_000])
def test_sinusoids_are_the_formula_at_any_width_and_place(d_model, start):
    table = sinusoids(4, d_model, start=start)
    assert table.dtype == torch.float32
    expected = torch.tensor([[sinusoid(start + t, column, d_model) for column in range(d_model)] for t in range(4)], dtype=torch.float64)
    # A float64 angle of 10⁶ is good to 10⁻¹⁰, the table rounds to float32.
    torch.testing.assert_close(table.double(), expected, atol=1e-7, rtol=0)


@pytest.mark.parametrize("d_model", [1, 2, 5, 8, 29])
def test_the_layout_of_halves_holds_all_sines_before_all_cosines(d_model):
    columns = [*range(0, d_model, 2), *range(1, d_model, 2)]
    assert torch.equal(sinusoids(7, d_model, layout="halves"), sinusoids(7, d_model)[:, columns])


@pytest.mark.parametrize("k", [1, 3, 100])
def test_a_shift_by_k_is_a_linear_map_that_depends_on_k_alone(k):
    """Section 3.5: PE(pos + k) is a linear function of PE(pos); each pair of columns turns by its own angle."""
    d_model = 8
    turn = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = k / 10000 ** (2 * i / d_model)
        sine, cosine = math.sin(angle), math.cos(angle)
        turn[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cosine, sine], [-sine, cosine]])
    table = sinusoids(600, d_model).double()
    torch.testing.assert_close(table[:-k] @ turn.T, table[k:], atol=1e-6, rtol=0)


def test_the_wavelengths_go_from_2_pi_to_10000_times_2_pi():
    d_model = 512
    first, last = sinusoids(63_000, d_model)[:, [0, d_model - 2]].T
    assert (first[1:] * first[:-1] < 0).nonzero()[1:3].diff(dim=0).item() in (3, 4)  # zeros of sin are π apart
    assert last[: int(10000 * math.pi * 0.9)].min() >= 0, "half of the longest wave is not over yet"
    assert last[int(10000 * math.pi * 1.1)] < 0


@pytest.mark.parametrize("config", [Sinusoidal(), Sinusoidal(layout="halves")], ids=str)
def test_any_length_grows_the_table_without_changing_earlier_values(config):
    module = SinusoidalPositions(6, config)
    short = module(torch.zeros(1, 256, 6))
    long = module(torch.zeros(1, 5000, 6))
    assert torch.equal(long[:, :256], short)
    assert torch.equal(long[0], sinusoids(5000, 6, layout=config.layout))
    assert torch.equal(module(torch.zeros(2, 3, 6), start=9000)[1], sinusoids(3, 6, start=9000, layout=config.layout))


def test_a_table_that_another_thread_replaces_by_a_shorter_one_serves_the_call_that_made_it():
    class Contested(SinusoidalPositions):
        def __setattr__(self, name, value):
            super().__setattr__(name, value[:3] if isinstance(value, torch.Tensor) else value)

    module = Contested(6, Sinusoidal())
    assert torch.equal(module(torch.zeros(1, 300, 6))[0], sinusoids(300, 6))
    assert len(dict(module.named_buffers())["table"]) == 3


def test_sinusoids_are_no_parameters_and_are_not_saved():
    module = SinusoidalPositions(6, Sinusoidal())
    assert list(module.parameters()) == []
    assert dict(module.state_dict()) == {}


def test_sinusoids_are_float32_whatever_the_default_and_follow_their_module():
    torch.set_default_dtype(torch.float64)
    try:
        assert sinusoids(3, 4).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    module = SinusoidalPositions(4, Sinusoidal()).double()
    assert module(torch.zeros(1, 3000, 4, dtype=torch.float64)).dtype == torch.float64


def test_positions_are_added_from_start_on():
    x = torch.randn(2, 3, 4)
    module = LearnedPositions(4, Learned(length=7))
    torch.nn.init.normal_(module.weight)
    for each, table in ((SinusoidalPositions(4, Sinusoidal()), sinusoids(7, 4)), (module, module.weight)):
        assert torch.equal(each(x), x + table[:3])
        assert torch.equal(each(x, start=4), x + table[4:7])


def test_learned_positions_refuse_longer_texts():
    module = positions(4, Learned(length=7))
    with pytest.raises(DataError) as caught:
        module(torch.zeros(1, 3, 4), start=5)
    assert str(caught.value) == (
        "a text of 8 tokens: the model's learned positions end at 7; shorten the text, or train with model.positions.kind = sinusoidal"
    )
    assert isinstance(positions(4, Sinusoidal()), SinusoidalPositions)
