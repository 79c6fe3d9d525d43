from contextlib import nullcontext

import numpy as np
import pytest
import torch

from hexapla.config.model import Specials
from hexapla.data import batches as module
from hexapla.data.batches import Batches, collate, in_length_order
from hexapla.errors import ConfigError

SPECIALS = Specials()


class Fake:
    """A split of random ids, pair i on line i + 1."""

    def __init__(self, lengths):
        self.lengths = np.asarray(lengths, dtype=np.int32).reshape(-1, 2)

    def __len__(self):
        return len(self.lengths)

    def pair(self, i):
        random = np.random.default_rng(i)
        return tuple(random.integers(4, 100, size=n).astype(np.int32) for n in self.lengths[i])

    def line(self, i):
        return i + 1

    def unchanged(self):
        return nullcontext()


def split(pairs, seed=0, longest=40):
    random = np.random.default_rng(seed)
    source = random.integers(1, longest, size=pairs)
    return Fake(np.stack([source, np.maximum(1, source + random.integers(-5, 6, size=pairs))], axis=1))


def batches(data, tokens=400, seed=1):
    return Batches(data, specials=SPECIALS, batch_tokens=tokens, seed=seed)


def positions(batch):
    """What the model computes: every source column, and every target column but the one that is only predicted."""
    return batch.source.numel() + batch.target[:, 1:].numel()


@pytest.mark.parametrize("pairs", [0, 1, 2, 7, 8, 9, 500])
@pytest.mark.parametrize("tokens", [96, 400, 100_000])
def test_each_epoch_has_every_pair_once_within_the_budget(pairs, tokens):
    data = batches(split(pairs), tokens)
    for epoch in range(3):
        assert sorted(i for rows in data.order(epoch) for i in rows) == list(range(pairs))
        assert all(positions(batch) <= tokens for batch in data.iterate(epoch))


def test_a_batch_holds_its_pairs_and_padding_only():
    data = split(60)
    for batch in batches(data).iterate(0):
        for row, i in enumerate(batch.rows):
            source, target = data.pair(i)
            s, t = batch.source[row].tolist(), batch.target[row].tolist()
            assert s == [*source, SPECIALS.eos] + [SPECIALS.pad] * (len(s) - len(source) - 1)
            assert t == [SPECIALS.bos, *target, SPECIALS.eos] + [SPECIALS.pad] * (len(t) - len(target) - 2)


def test_the_order_is_a_function_of_seed_and_epoch():
    data = split(300)
    assert batches(data).order(3) == batches(data).order(3)
    asked_late = batches(data)
    asked_late.order(0)
    assert asked_late.order(3) == batches(data).order(3)
    orders = [batches(data, seed=seed).order(epoch) for seed in (1, 2) for epoch in (0, 1)]
    assert all(one != other for n, one in enumerate(orders) for other in orders[:n])


def test_pairs_of_equal_length_meet_others_in_each_epoch():
    data = batches(Fake([[7, 7]] * 64), 256)
    assert {frozenset(rows) for rows in data.order(0)} != {frozenset(rows) for rows in data.order(1)}


def test_batches_of_a_length_are_spread_over_the_epoch():
    """Sorted, the halves of an epoch would differ by 20 target tokens; shuffled, by 1.3 (one standard deviation) around 0."""
    data = batches(split(2000))
    epochs = [[max(data.split.lengths[rows, 1]) for rows in data.order(epoch)] for epoch in range(30)]
    differences = [np.mean(widths[: len(widths) // 2]) - np.mean(widths[len(widths) // 2 :]) for widths in epochs]
    assert abs(np.mean(differences)) < 1 and np.std(differences) < 2


@pytest.mark.parametrize("start", [0, 1, 5])
def test_an_epoch_goes_on_from_any_batch(start):
    data = batches(split(200))
    whole = list(data.iterate(2))
    rest = list(data.iterate(2, start))
    assert [batch.rows for batch in rest] == [batch.rows for batch in whole[start:]]
    assert all(torch.equal(one.target, other.target) for one, other in zip(rest, whole[start:], strict=True))


def test_past_the_last_batch_there_is_none():
    data = batches(split(20))
    assert list(data.iterate(0, len(data.order(0)))) == []


def test_shapes_come_again():
    data = split(5000, longest=30)
    shapes = [(tuple(b.source.shape), tuple(b.target.shape)) for b in batches(data, 1024).iterate(0)]
    sentences = [source[0] for source, _ in shapes]
    assert sum(n % 8 == 0 for n in sentences) >= len(sentences) - 2
    assert all(source[1] % 2 == 0 and target[1] % 2 == 1 for source, target in shapes)
    assert len(set(shapes)) < len(shapes) / 2


def test_little_is_padding():
    data = split(5000)
    real = (data.lengths + 1).sum()
    computed = sum(positions(batch) for batch in batches(data, 4096).iterate(0))
    assert 1 - real / computed < 0.10


def test_a_large_corpus_is_sorted_in_pools(monkeypatch):
    monkeypatch.setattr(module, "POOL", 100)
    data = batches(split(1050))
    assert sorted(i for rows in data.order(0) for i in rows) == list(range(1050))
    assert all(positions(batch) <= 400 for batch in data.iterate(0))


def test_a_pair_beyond_the_budget_is_refused_with_the_least_that_is_enough():
    data = Fake([[3, 3], [20, 9], [4, 1]])
    with pytest.raises(ConfigError) as error:
        batches(data, 31)
    assert str(error.value) == (
        "training.batch_tokens = 31: the pair of line 2 alone takes 32; give at least 32, or prepare with a smaller cleaning.max_tokens"
    )
    assert sorted(map(sorted, batches(data, 32).order(0))) == [[0, 2], [1]]


def test_collate_numbers_rows_from_0_unless_told():
    batch = collate([[5, 6, 7], [8]], [[9], []], SPECIALS)
    assert batch.source.tolist() == [[5, 6, 7, 3], [8, 3, 0, 0]]
    assert batch.target.tolist() == [[2, 9, 3], [2, 3, 0]]
    assert (batch.rows, batch.source.dtype, batch.target.dtype) == ([0, 1], torch.int64, torch.int64)
    assert collate([[5]], [[6]], SPECIALS, rows=[41]).rows == [41]


def test_collate_marks_by_the_specials_it_is_given():
    batch = collate([[5], []], [[6], []], Specials(pad=9, unk=0, bos=1, eos=2))
    assert batch.source.tolist() == [[5, 2], [2, 9]] and batch.target.tolist() == [[1, 6, 2], [1, 2, 9]]


def test_a_batch_moves_whole():
    batch = collate([[5]], [[6]], SPECIALS, rows=[3]).to(torch.device("meta"))
    assert (batch.source.device.type, batch.target.device.type, batch.rows) == ("meta", "meta", [3])


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("limits", [{"batch_size": 7}, {"batch_tokens": 100}, {"batch_size": 3, "batch_tokens": 60}, {}], ids=str)
def test_length_order_keeps_every_index_within_the_limits(sides, limits):
    lengths = np.random.default_rng(0).integers(0, 30, size=(50, sides)).squeeze()
    found = in_length_order(lengths, **limits)
    assert sorted(i for rows in found for i in rows) == list(range(50))
    largest = [lengths.reshape(50, -1)[rows].max(axis=0) for rows in found]
    assert [tuple(n) for n in largest] == sorted((tuple(n) for n in largest), key=lambda n: -n[-1])
    for rows, longest in zip(found, largest, strict=True):
        assert len(rows) <= limits.get("batch_size", 50)
        assert len(rows) == 1 or len(rows) * int((longest + 1).sum()) <= limits.get("batch_tokens", 10_000)
    assert len(found) == 1 if not limits else len(found) < 50


def test_length_order_is_longest_first_and_stable():
    assert in_length_order([1, 9, 1, 9], batch_size=2) == [[1, 3], [0, 2]]
    assert in_length_order([5, 500, 5], batch_tokens=20) == [[1], [0, 2]]
    assert in_length_order([], batch_size=2) == []
