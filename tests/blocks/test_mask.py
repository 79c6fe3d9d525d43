"""What a mask describes, as it becomes dense."""

import pytest
import torch

from hexapla.blocks.mask import CAUSAL, EVERYTHING, Mask

CPU = torch.device("cpu")
KEYS = torch.tensor([[True, True, True, False, False], [True, False, True, True, True]])


@pytest.mark.parametrize("keys", [None, KEYS], ids=["", "keys"])
@pytest.mark.parametrize("window", [None, 1, 2, 4, 5, 9])
@pytest.mark.parametrize("causal", [False, True], ids=["", "causal"])
@pytest.mark.parametrize("queries", [5, 3, 1])
def test_query_t_reads_key_s_where_every_condition_allows(queries, causal, window, keys):
    found = Mask(causal, window, keys).dense(queries, 5, CPU)
    expected = torch.ones(2, 1, queries, 5, dtype=torch.bool)
    for b in range(2):
        for t in range(queries):
            for s in range(5):
                position = 5 - queries + t
                after, far = s > position, abs(s - position) >= (window or 99)
                expected[b, 0, t, s] = not ((causal and after) or far or (keys is not None and not keys[b, s]))
    assert torch.equal(expected, (torch.ones(1, dtype=torch.bool) if found is None else found).expand(2, 1, queries, 5))


@pytest.mark.parametrize(("mask", "queries"), [(EVERYTHING, 5), (CAUSAL, 1), (Mask(window=5), 5), (Mask(causal=True, window=7), 1)])
def test_a_mask_that_hides_nothing_is_none(mask, queries):
    assert mask.dense(queries, 5, CPU) is None


@pytest.mark.parametrize(
    ("mask", "plain"), [(CAUSAL, True), (EVERYTHING, False), (Mask(causal=True, window=3), False), (Mask(causal=True, keys=KEYS), False)]
)
def test_only_a_causal_mask_and_nothing_else_is_plain(mask, plain):
    assert mask.plain_causal == plain


def test_reordering_takes_the_rows_of_the_batch_and_leaves_the_rest():
    mask = Mask(causal=True, window=3, keys=KEYS).reorder(torch.tensor([1, 1, 0]))
    assert mask.keys is not None
    assert torch.equal(mask.keys, KEYS[[1, 1, 0]])
    assert (mask.causal, mask.window) == (True, 3)
    assert CAUSAL.reorder(torch.tensor([0])) is CAUSAL


def test_a_mask_for_many_calls_is_the_same_mask():
    keys = torch.tensor([[True, True, False], [True, False, False]])
    ready = Mask(keys=keys).for_many_calls()
    assert ready.added is not None
    assert torch.equal(ready.added[:, 0, 0] == 0, keys)
    swapped = ready.reorder(torch.tensor([1, 0])).added
    assert swapped is not None
    assert torch.equal(swapped, ready.added.flip(0))
    assert Mask(keys=torch.ones(2, 3, dtype=torch.bool)).for_many_calls() == EVERYTHING
    blind = Mask(keys=torch.tensor([[True], [False]]))
    assert blind.for_many_calls() is blind
    assert CAUSAL.for_many_calls() is CAUSAL
