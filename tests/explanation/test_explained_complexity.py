"""Costs are counted against closed forms. Times are measured and not judged."""

import pytest
import torch

from hexapla.explanation import complexity
from hexapla.explanation.complexity import (
    KERNEL,
    WIDTH,
    exponent,
    kept_bytes,
    layers,
    layers_until_all_is_read,
    milliseconds,
    multiply_adds,
    self_attention,
    steps_in_sequence,
    weight_bytes,
    window_of,
)
from hexapla.explanation.parts import Curves


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7, 2.0, 3.0])
def test_a_known_exponent_is_recovered(power):
    lengths = [10, 30, 70, 500]
    assert exponent(lengths, [0.3 * n**power for n in lengths]) == pytest.approx(power, abs=1e-12)


def test_the_exponent_is_that_of_the_line_of_least_squares():
    x, y = torch.tensor([10, 20, 50]), torch.tensor([3.0, 9.0, 11.0]).double()
    slope = torch.linalg.lstsq(torch.stack([x.log(), torch.ones(3).double()], dim=1), y.log()[:, None]).solution[0, 0]
    assert exponent(x.tolist(), y.tolist()) == pytest.approx(float(slope))


def test_multiplications_are_those_of_table_1():
    n, made = 12, layers()
    assert multiply_adds(made["self-attention"], n) == 2 * n * n * WIDTH
    assert multiply_adds(made["recurrent"], n) == 2 * n * WIDTH * WIDTH
    assert multiply_adds(made["convolutional"], n) == KERNEL * n * WIDTH * WIDTH


def test_attention_weights_take_4_bytes_for_each_pair_of_tokens():
    assert [weight_bytes(n) for n in (3, 16, 100)] == [4 * n * n for n in (3, 16, 100)]


def test_what_is_kept_grows_with_n_squared_in_attention_alone():
    lengths, made = (256, 512, 1024), layers()
    kept = {name: [kept_bytes(layer, n) for n in lengths] for name, layer in made.items()}
    assert all(4 * n * n < found <= 4 * (n * n + 4 * n * WIDTH) for n, found in zip(lengths, kept["self-attention"], strict=True))
    for name in ("recurrent", "convolutional"):
        assert kept[name][2] / kept[name][1] < 2.05


def test_the_layers_are_what_their_names_say():
    x, made = torch.randn(5, WIDTH), layers()
    assert torch.allclose(self_attention(x), (x @ x.T / WIDTH**0.5).softmax(dim=1) @ x, atol=1e-5)
    for name, layer in made.items():
        out = layer(x.requires_grad_())
        (reads,) = torch.autograd.grad(out[2].sum(), x)
        read = (reads.norm(dim=1) > 0).tolist()
        assert (
            read
            == {"self-attention": [True] * 5, "recurrent": [True] * 3 + [False] * 2, "convolutional": [False] + [True] * 3 + [False]}[name]
        )


def test_recurrence_alone_takes_more_steps_for_a_longer_text():
    made = layers()
    for name in ("self-attention", "convolutional"):
        assert steps_in_sequence(made[name], 4) == steps_in_sequence(made[name], 40) < 20
    few, some, many = (steps_in_sequence(made["recurrent"], n) for n in (10, 20, 40))
    assert many - some == 2 * (some - few) >= 20


def test_steps_are_the_longest_chain_of_operations():
    assert steps_in_sequence(lambda x: x.exp().sin() + x.cos(), 3) == len(["accumulate", "exp", "sin", "add"])


def test_a_time_is_measured_on_one_thread_and_leaves_as_many_as_there_were():
    seen = []

    def layer(x):
        seen.append(torch.get_num_threads())
        return x

    torch.set_num_threads(2)
    try:
        assert milliseconds(layer, 4) >= 0
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(("size", "length", "layers"), [(64, 64, 1), (2, 5, 4), (3, 5, 2), (4, 7, 2), (4, 8, 3)])
def test_a_window_of_r_needs_n_over_r_layers(size, length, layers):
    assert layers_until_all_is_read(window_of(size, length)) == layers == -(-(length - 1) // (min(size, length) - 1))


def test_the_explanation_holds_at_any_lengths(monkeypatch):
    monkeypatch.setattr(complexity, "LENGTHS", (16, 32, 64))
    found = complexity.complexity()
    assert all(claim.holds for claim in found.claims.values())
    assert [row[-1] for row in found.tables[0].rows] == [1, 63, 63]
    plot = found.plots[0]
    assert isinstance(plot, Curves)
    assert all(value > 0 for line in plot.lines for value in line.y)
