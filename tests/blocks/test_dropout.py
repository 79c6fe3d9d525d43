import threading

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from hexapla.blocks.dropout import OUTCOMES, Dropout, drawing_from, dropped


def masks(p, *shape, seed=(1, 2)):
    with drawing_from(seed):
        return dropped(torch.ones(shape), p)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_each_number_is_dropped_with_its_probability_whatever_its_place(p):
    """Four numbers share a draw of 64 bits: each of the four places, and each pair of them, is as torch's own would be."""
    dropping = (masks(p, 100_000, 4) == 0).double()
    error = 5 * (p * (1 - p) / len(dropping)) ** 0.5
    assert (dropping.mean(dim=0) - p).abs().max() < error
    together = dropping.T @ dropping / len(dropping)
    assert (together - p * p)[~torch.eye(4, dtype=torch.bool)].abs().max() < 5 * p * error


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_is_kept_is_divided_by_the_share_kept(dtype):
    x = torch.randn(40, 50, dtype=dtype)
    with drawing_from([3]):
        found = dropped(x, 0.3)
    kept = found != 0
    share = 1 - round(0.3 * OUTCOMES) / OUTCOMES
    assert found.dtype == dtype
    assert_close(found, torch.where(kept, x / share, 0.0))


def test_the_gradient_passes_where_the_number_did():
    x = torch.randn(8, 9, requires_grad=True)
    with drawing_from([3]):
        found = dropped(x, 0.4)
    upstream = torch.randn(8, 9)
    found.backward(upstream)
    assert_close(x.grad, upstream * (found / x).detach())


def test_a_seed_repeats_and_another_differs():
    assert torch.equal(masks(0.5, 99), masks(0.5, 99))
    assert not torch.equal(masks(0.5, 99), masks(0.5, 99, seed=(1, 3)))


def test_two_calls_of_one_source_differ():
    with drawing_from([1]):
        assert not torch.equal(dropped(torch.ones(99), 0.5), dropped(torch.ones(99), 0.5))


def test_without_a_source_it_follows_torchs_seed():
    found = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        found.append(dropped(torch.ones(99), 0.5))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_source_is_of_its_thread_alone():
    def draw(into, seed):
        with drawing_from(seed):
            into.extend(dropped(torch.ones(50), 0.5) for _ in range(200))

    alone, threads, together = [], [], [[], []]
    draw(alone, [7])
    for i in range(2):
        threads.append(threading.Thread(target=draw, args=(together[i], [7 + i])))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert torch.equal(torch.stack(together[0]), torch.stack(alone))


def test_a_source_inside_another_ends_with_its_block():
    with drawing_from([1]):
        first = dropped(torch.ones(99), 0.5)
        with drawing_from([2]):
            dropped(torch.ones(99), 0.5)
        second = dropped(torch.ones(99), 0.5)
    with drawing_from([1]):
        assert torch.equal(torch.stack([dropped(torch.ones(99), 0.5) for _ in range(2)]), torch.stack([first, second]))


@pytest.mark.parametrize("p", [0.0, 1e-9])
def test_a_probability_of_nothing_drops_nothing(p):
    x = torch.randn(5)
    assert torch.equal(dropped(x, p), x)


def test_nearly_all_can_be_dropped():
    found = masks(1 - 1e-9, 1000)
    assert found.isfinite().all()
    assert set(found.unique().tolist()) <= {0.0, float(OUTCOMES)}


def test_the_module_drops_in_training_only():
    x, module = torch.randn(99), Dropout(0.5)
    assert (module(x) == 0).any()
    assert module.eval()(x) is x


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_any_number_of_numbers(size):
    assert masks(0.5, size).shape == (size,)
    assert np.isin(masks(0.5, size).numpy(), (0.0, 2.0)).all()
