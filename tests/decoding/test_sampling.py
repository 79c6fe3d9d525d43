"""Drawing: from the right distribution, the same again for the same seed and sentence."""

from collections import Counter
from itertools import pairwise

import pytest
from tables import EOS, TableModel, always, random_sources, random_table, small_seq2seq, sources

from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.decoding.search import search

RULES = Rules(max_extra=4)
FOUR = {4: 0.5, 5: 0.25, 6: 0.15, 7: 0.1}
BOUND = 16.27  # chi-square of 3 degrees of freedom passes this once in a thousand


def texts(model, rows, strategy, rules=RULES, n_best=1):
    return [[h.ids for h in hypotheses] for hypotheses in search(model, sources(*rows), strategy, rules, n_best=n_best)]


@pytest.mark.parametrize(
    "sample",
    [Sample(temperature=1e-6), Sample(temperature=1e-300), Sample(top_k=1), Sample(top_k=1, temperature=1e300), Sample(top_p=1e-9)],
    ids=str,
)
def test_where_only_the_likeliest_token_is_left_sampling_is_greedy(sample):
    table, rows = random_table(0, vocab=9), random_sources(12, 9)
    assert texts(TableModel(table), rows, sample) == texts(TableModel(table), rows, Beam(width=1))


def chi_square(counts, expected):
    total = sum(counts.values())
    assert counts.keys() <= expected.keys()
    return sum((counts[i] - total * p) ** 2 / (total * p) for i, p in expected.items())


def tempered(temperature):
    weights = {i: p ** (1 / temperature) for i, p in FOUR.items()}
    return {i: weight / sum(weights.values()) for i, weight in weights.items()}


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (Sample(), FOUR),
        (Sample(temperature=0.5), tempered(0.5)),
        (Sample(temperature=3.0), tempered(3.0)),
        (Sample(top_k=2), {4: 2 / 3, 5: 1 / 3}),
        (Sample(top_p=0.75), {4: 2 / 3, 5: 1 / 3}),
        (Sample(top_p=0.76), {4: 0.5 / 0.9, 5: 0.25 / 0.9, 6: 0.15 / 0.9}),
        (Sample(top_k=3, top_p=0.8), {4: 2 / 3, 5: 1 / 3}),  # among three, two reach 0.8
    ],
    ids=str,
)
def test_tokens_are_drawn_as_often_as_they_are_likely(sample, expected):
    once = Rules(max_length=1, min_length=1)
    drawn = texts(TableModel(always(FOUR | {EOS: 1e-9})), [(5, 6), (6, 5)], sample, once, n_best=1000)
    counts = Counter(ids[0] for samples in drawn for ids in samples)
    assert sum(counts.values()) == 2000
    assert chi_square(counts, expected) < BOUND


def test_different_sentences_and_steps_are_drawn_independently():
    rows = [(4 + i % 4, 4 + i // 4 % 4, 4 + i // 16 % 4, 4 + i // 64 % 4) for i in range(256)]
    drawn = texts(TableModel(always(FOUR | {EOS: 1e-9})), rows, Sample(), Rules(max_length=8, min_length=8))
    assert chi_square(Counter(ids[0] for (ids,) in drawn), FOUR) < BOUND
    assert chi_square(Counter(i for (ids,) in drawn for i in ids), FOUR) < BOUND
    after_4 = Counter(after for (ids,) in drawn for before, after in pairwise(ids) if before == 4)
    assert chi_square(after_4, FOUR) < BOUND


def test_a_seed_repeats_and_another_differs():
    model, rows = small_seq2seq(), random_sources(10, 11)
    one, again, other = (texts(model, rows, Sample(seed=seed, temperature=2.0)) for seed in (1, 1, 2))
    assert one == again
    assert sum(a != b for a, b in zip(one, other, strict=True)) >= 8


def test_equal_sentences_are_drawn_alike_whatever_stands_between():
    model, rows = small_seq2seq(), random_sources(5, 11)
    first, *_, last = texts(model, [rows[0], *rows[1:], rows[0]], Sample(temperature=2.0))
    assert first == last


def test_more_samples_leave_the_first_as_they_are_and_are_streams_of_their_own():
    model, rows = small_seq2seq(), random_sources(6, 11)
    fewer = texts(model, rows, Sample(temperature=2.0), n_best=1)
    for count in range(2, 7):
        found = search(model, sources(*rows), Sample(temperature=2.0), RULES, n_best=count)
        for hypotheses, before in zip(found, fewer, strict=True):
            assert len(hypotheses) == count
            assert len(Counter(h.ids for h in hypotheses) - Counter(before)) == 1  # the new one
            assert len({h.ids for h in hypotheses}) >= count - 1
            assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        fewer = [[h.ids for h in hypotheses] for hypotheses in found]


def test_the_highest_temperature_draws_what_is_allowed_all_alike():
    table = always({4: 0.9, 5: 0.05, 6: 0.04, 7: 0.01 - 1e-9, EOS: 1e-9})
    (drawn,) = texts(TableModel(table), [(5,)], Sample(temperature=1e300), Rules(max_length=1, min_length=1), n_best=1000)
    assert chi_square(Counter(ids[0] for ids in drawn), dict.fromkeys(FOUR, 0.25)) < BOUND


def test_more_samples_than_the_vocabulary_has_ids_come_back():
    (drawn,) = texts(TableModel(always({4: 0.5, EOS: 0.5}, vocab=5)), [(4,)], Sample(), n_best=30)
    assert len(drawn) == 30
    assert len(set(drawn)) > 2
