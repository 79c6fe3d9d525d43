"""The pairs held out are those of the plain rule, found without holding a number for each pair."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapla.data import hold_out
from hexapla.data.hold_out import choose, lowest


def place(source, seed):
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()).digest(), "little")


def chosen_plainly(sources, wanted, seed):
    """Groups of equal sources by their hash; each that still fits is taken whole."""
    taken = set()
    for source, size in sorted(Counter(sources).items(), key=lambda each: place(each[0], seed)):
        if size <= wanted:
            taken.add(source)
            wanted -= size
    return [source in taken for source in sources]


@given(
    sources=st.lists(st.sampled_from("abcdefghijklmn"), max_size=40),
    wanted=st.integers(8, 20),  # groups enough: fewer than 14 can be passed over
    seed=st.integers(0, 3),
    block=st.sampled_from([1, 3, 1000]),
)
def test_the_lowest_hashes_are_held_out_as_the_rule_says(sources, wanted, seed, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hold_out, "BLOCK", block)
        assert choose(iter(sources), len(sources), wanted, seed).tolist() == chosen_plainly(sources, wanted, seed)


def test_the_search_ends_where_what_is_left_is_passed_over_again_and_again():
    """Two are wanted, in a corpus of triples: after 4 groups it is enough, whatever single source there may be further on."""
    triples = sorted("abcdefgh", key=lambda source: place(source, 1))
    assert not choose(iter([*(triples[:4] * 3), triples[7]]), 13, 2, 1).any()
    assert choose(iter([*(triples[:3] * 3), triples[7]]), 10, 2, 1).sum() == 1


@pytest.mark.parametrize("block", [1, 7, 100])
def test_what_is_remembered_is_the_lowest_alone(monkeypatch, block):
    monkeypatch.setattr(hold_out, "BLOCK", block)
    sources = [f"s{n % 60}" for n in range(120)]
    places, rows = lowest(iter(sources), 1, groups=10)
    low = sorted({place(source, 1) for source in sources})[:10]
    assert rows.tolist() == [n for n, source in enumerate(sources) if place(source, 1) in low]
    assert places.tolist() == [place(sources[n], 1) for n in rows] and places.dtype == np.uint64
