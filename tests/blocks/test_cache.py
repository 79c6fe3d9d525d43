"""What decoding keeps between steps."""

import pytest
import torch

from hexapla.blocks.attention import Attention
from hexapla.blocks.cache import Cache
from hexapla.blocks.mask import CAUSAL
from hexapla.config.attention import AttentionConfig


def test_append_puts_new_positions_after_the_old_and_returns_all():
    keys, values, cache = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 6), Cache()
    for part in (slice(0, 2), slice(2, 3), slice(3, 5)):
        found = cache.append(keys[:, :, part], values[:, :, part])
        assert torch.equal(found[0], keys[:, :, : part.stop])
        assert torch.equal(found[1], values[:, :, : part.stop])
    assert all(torch.equal(kept, whole) for kept, whole in zip(cache.filled(), (keys, values), strict=True))


@pytest.mark.parametrize("rows", [[1, 0], [1, 1], [0], [0, 0, 1, 1, 1], []], ids=str)
def test_reorder_takes_the_rows_named(rows):
    keys, values = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 6)
    cache = Cache(keys.clone(), values.clone())
    cache.reorder(torch.tensor(rows, dtype=torch.long))
    assert all(torch.equal(kept, whole[rows]) for kept, whole in zip(cache.filled(), (keys, values), strict=True))


def test_an_empty_cache_reorders_to_an_empty_one():
    cache = Cache()
    cache.reorder(torch.tensor([1, 0]))
    assert cache.keys is None


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("parts", [[1, 1, 1, 1, 1], [2, 3], [4, 1], [5]], ids=str)
def test_attention_in_parts_equals_attention_at_once(parts, kv_heads):
    module = Attention(8, AttentionConfig(heads=4, kv_heads=kv_heads)).double()
    x, cache = torch.randn(2, 5, 8, dtype=torch.float64), Cache()
    found = torch.cat([module(part, CAUSAL, cache) for part in x.split(parts, dim=1)], dim=1)
    torch.testing.assert_close(found, module(x, CAUSAL))
    assert cache.filled()[0].shape == (2, kv_heads, 5, 2)


def test_rows_that_leave_and_room_that_grows_keep_what_was_appended():
    draw, cache = torch.Generator().manual_seed(1), Cache()
    expected = torch.empty(5, 2, 0, 3)
    for step in range(40):
        new = torch.randn(len(expected), 2, 1, 3, generator=draw)
        expected = torch.cat([expected, new], dim=2)
        keys, values = cache.append(new, -new)
        assert torch.equal(keys, expected)
        assert torch.equal(values, -expected)
        if step in (3, 20, 33):
            rows = torch.randperm(len(expected), generator=draw)[:-1]
            expected = expected[rows]
            cache.reorder(rows)
        if step == 25:
            rows = torch.tensor([0, 0, 2, 1, 1, 0])
            expected = expected[rows]
            cache.reorder(rows)
