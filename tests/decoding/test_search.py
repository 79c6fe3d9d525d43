"""The search, against plain Python, against brute force, and against itself in other batches."""

import math
import random
from itertools import pairwise

import pytest
import torch
from tables import (
    BANNED,
    EOS,
    SPECIALS,
    TableModel,
    always,
    batches,
    follow,
    follow_seq2seq,
    random_sources,
    random_table,
    small_seq2seq,
    sources,
)

from forgetful import Forgetful
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.decoding.score import forced_log_probs
from hexapla.decoding.search import search
from hexapla.decoding.strategy import first_largest, largest
from hexapla.errors import CheckpointError, ConfigError
from reference import search as plain

SOURCES = [(4, 5), (6,), (5, 5, 7, 4), ()]
RULES = Rules(max_extra=3)


def limit(source):
    return len(source) + 3


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_always_taking_the_likeliest_token(seed):
    table = random_table(seed, vocab=9)
    found = search(TableModel(table), sources(*SOURCES), Beam(width=1), RULES)
    for source, hypotheses in zip(SOURCES, found, strict=True):
        log_prob, ids = plain.greedy(follow(table, source), eos=EOS, limit=limit(source), banned=BANNED)
        assert [h.ids for h in hypotheses] == [ids]
        assert hypotheses[0].log_prob == pytest.approx(log_prob, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
@pytest.mark.parametrize("kind", ["gnmt", "power", "none"])
def test_a_beam_as_wide_as_all_outputs_is_exhaustive(kind, alpha):
    table, source = random_table(3, vocab=8, spread=1.0), (4, 6)
    every = plain.exhaustive(follow(table, source), eos=EOS, limit=4, banned=BANNED, kind=kind, alpha=alpha)
    assert len(every) == 1 + 4 + 16 + 64 + 256
    beam = Beam(width=len(every), penalty=kind, length_penalty=alpha)
    (found,) = search(TableModel(table), sources(source), beam, Rules(max_extra=2), n_best=len(every))
    assert [h.ids for h in found] == [ids for _, _, ids in every]
    assert [h.score for h in found] == pytest.approx([score for score, _, _ in every], abs=1e-4)


def test_the_length_penalty_changes_what_is_best():
    table = always({4: 0.45, EOS: 0.55})
    lengths = [
        len(search(TableModel(table), sources((4,)), Beam(width=9, penalty="power", length_penalty=alpha), RULES)[0][0].ids)
        for alpha in (0.0, 2.0)
    ]
    assert lengths == [0, 4]


@pytest.mark.parametrize("width", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_a_beam_is_the_beam_of_plain_python(width, seed):
    table = random_table(seed, vocab=9)
    beam = Beam(width=width, penalty="power", length_penalty=0.8)
    model = TableModel(table)
    found = search(model, sources(*SOURCES), beam, RULES, n_best=width, more_rules=[model.in_step(SOURCES)])
    for source, hypotheses in zip(SOURCES, found, strict=True):
        expected = plain.beam(
            follow(table, source), width=width, eos=EOS, limit=limit(source), banned=lambda ids: BANNED, kind="power", alpha=0.8,
            outputs=width,
        )  # fmt: skip
        assert [h.ids for h in hypotheses] == [ids for _, _, ids in expected]
        assert [h.score for h in hypotheses] == pytest.approx([score for score, _, _ in expected], abs=1e-4)
        for h in hypotheses:
            log_probs = follow(table, source)(h.ids)
            ends = log_probs[EOS] == max(log_prob for i, log_prob in enumerate(log_probs) if i not in BANNED)
            assert h.truncated == (len(h.ids) == limit(source) and not ends)


@pytest.mark.parametrize("width", [1, 3])
def test_a_transformer_is_searched_as_plain_python_would(width):
    model = small_seq2seq()
    rows = random_sources(4, 11)
    found = search(model, sources(*rows), Beam(width=width), Rules(max_extra=4), n_best=width)
    for source, hypotheses in zip(rows, found, strict=True):
        expected = plain.beam(
            follow_seq2seq(model, source), width=width, eos=EOS, limit=len(source) + 4, banned=lambda ids: BANNED, kind="gnmt", alpha=0.6,
            outputs=width,
        )  # fmt: skip
        assert [h.ids for h in hypotheses] == [ids for _, _, ids in expected]
        assert [h.log_prob for h in hypotheses] == pytest.approx([log_prob for _, log_prob, _ in expected], abs=1e-4)


@pytest.mark.parametrize("strategy", [Beam(width=4), Sample(temperature=2.0)], ids=["beam", "sample"])
def test_an_output_s_log_probability_is_that_of_forced_decoding(strategy):
    model, rows = small_seq2seq(), random_sources(5, 11)
    found = search(model, sources(*rows), strategy, Rules(max_extra=4, min_length=2), n_best=3)
    for source, hypotheses in zip(rows, found, strict=True):
        for h in hypotheses:
            forced = forced_log_probs(model, sources(source), torch.tensor([[SPECIALS.bos, *h.ids, EOS]]))
            assert h.log_prob == pytest.approx(forced.sum().item(), abs=1e-4)
            penalty = ((5 + h.length) / 6) ** 0.6 if isinstance(strategy, Beam) else 1
            assert h.score == pytest.approx(h.log_prob / penalty, rel=1e-6)


def test_n_best_outputs_differ_are_sorted_and_begin_with_the_best():
    table = random_table(1, vocab=9)
    found = search(TableModel(table), sources(*SOURCES), Beam(width=5), RULES, n_best=5)
    best = search(TableModel(table), sources(*SOURCES), Beam(width=5), RULES)
    for hypotheses, (one,) in zip(found, best, strict=True):
        assert len({h.ids for h in hypotheses}) == len(hypotheses) == 5
        assert all(h.score >= worse.score for h, worse in pairwise(hypotheses))
        assert hypotheses[0] == one


def test_a_beam_wider_than_the_vocabulary_neither_repeats_nor_fails():
    table = random_table(2, vocab=5)  # one symbol and the end: an output for each length
    (found,) = search(TableModel(table), sources((4, 4)), Beam(width=10), Rules(max_extra=2), n_best=10)
    assert sorted(h.ids for h in found) == [(4,) * n for n in range(5)]
    (only,) = search(TableModel(table), sources(()), Beam(width=10), Rules(max_extra=0), n_best=10)
    assert [h.ids for h in only] == [()]


@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_of_equally_likely_continuations_the_better_row_s_then_the_lower_id_comes_first(width):
    logits = [0.0] * 40
    model = TableModel(lambda source, ids: logits)
    (found,) = search(model, sources((4,)), Beam(width=width, penalty="none"), Rules(max_extra=0, min_length=1), n_best=width)
    assert [h.ids for h in found] == [(4 + i,) for i in range(width)]
    draw = random.Random(5)
    drawn = {ids: [float(draw.randrange(3)) for _ in range(40)] for ids in [(), *((i,) for i in range(40))]}
    (found,) = search(TableModel(lambda source, ids: drawn[ids[:1]]), sources((4,)), Beam(width=width), Rules(max_extra=2), n_best=width)
    expected = plain.beam(
        lambda ids: log_probs_in_float32(drawn[ids[:1]]), width=width, eos=EOS, limit=3, banned=lambda ids: BANNED, kind="gnmt", alpha=0.6,
        outputs=width,
    )  # fmt: skip
    assert [h.ids for h in found] == [ids for _, _, ids in expected]


def test_the_largest_come_in_order_equals_by_place():
    draw = random.Random(0)
    for count, size in [(4, 300), (1, 200), (7, 7), (9, 400), (3, 640), (9, 1000)]:
        rows = [[float(draw.randrange(2 * size)) for _ in range(size)] for _ in range(40)]  # a few equals, also across the last place
        values, places = largest(torch.tensor(rows), count)
        for row, found, at in zip(rows, values.tolist(), places.tolist(), strict=True):
            expected = [i for _, i in sorted((-value, i) for i, value in enumerate(row))][:count]
            assert at == expected
            assert found == [row[i] for i in expected]


@pytest.mark.parametrize("size", [5, 64, 130, 192, 640])
def test_the_first_of_the_largest_is_found(size):
    values = torch.randint(0, 9, (40, size), generator=torch.Generator().manual_seed(size)).float()
    best, place = first_largest(values)
    expected = [(max(row), row.index(max(row))) for row in values.tolist()]
    assert list(zip(best[:, 0].tolist(), place[:, 0].tolist(), strict=True)) == expected


def log_probs_in_float32(logits):
    return torch.tensor(logits).log_softmax(dim=0).tolist()


def test_a_finished_sentence_leaves_the_batch_while_others_go_on():
    ends, goes_on = always({EOS: 0.9, 4: 0.06, 5: 0.04}), always({4: 0.6, 5: 0.4 - 1e-6, EOS: 1e-6})
    model = TableModel(lambda source, ids: (ends if source == (5,) else goes_on)(source, ids))
    rows = [(6, 6), (5,), (7, 7, 7)]
    found = search(model, sources(*rows), Beam(width=2), Rules(max_extra=2), more_rules=[model.in_step(rows)])
    assert [len(hypotheses[0].ids) for hypotheses in found] == [4, 0, 5]
    assert model.rows == [3, 6, 4, 4, 4, 2]  # the easy one ends in two steps, the others at their limits
    assert [hypotheses[0].truncated for hypotheses in found] == [True, False, True]


def test_greedy_search_moves_no_row_but_when_a_sentence_leaves():
    model = TableModel(lambda source, ids: always({EOS if len(ids) == len(source) else 4: 1.0})(source, ids))
    found = search(model, sources((4,), (4, 4, 4, 4)), Beam(width=1))
    assert [len(hypotheses[0].ids) for hypotheses in found] == [1, 4]
    assert model.rows == [2, 2, 1, 1, 1]
    assert model.state.moves == 2  # when one leaves, and when the other does


STRATEGIES = {
    "greedy": (Beam(width=1), 1),
    "beam": (Beam(width=4), 4),
    "sample": (Sample(temperature=1.5), 2),
    "sample top-p": (Sample(top_p=0.8, top_k=6), 1),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_neighbours_order_and_padding_change_nothing(name):
    strategy, n_best = STRATEGIES[name]
    model, rows = small_seq2seq(), random_sources(11, 11)

    def found(some, width=0):
        return [[h.ids for h in each] for each in search(model, sources(*some, width=width), strategy, Rules(max_extra=5), n_best=n_best)]

    together = found(rows)
    assert len({ids for each in together for ids in each}) >= 9  # each source has outputs of its own
    for size in (1, 3, 7):
        assert [each for some in batches(rows, size) for each in found(some)] == together
    order = random.Random(0).sample(range(11), 11)
    shuffled = found([rows[i] for i in order])
    assert [shuffled[order.index(i)] for i in range(11)] == together
    giant = tuple(4 + i % 7 for i in range(90))
    assert found([*rows[:5], giant, *rows[5:]])[:5] == together[:5]
    assert found(rows, width=33) == together


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_cache_changes_nothing(name):
    strategy, n_best = STRATEGIES[name]
    model, rows = small_seq2seq(seed=0), random_sources(6, 11)
    cached, whole = (search(each, sources(*rows), strategy, n_best=n_best, rules=Rules(max_extra=6)) for each in (model, Forgetful(model)))
    assert [[h.ids for h in each] for each in cached] == [[h.ids for h in each] for each in whole]
    for one, other in zip(cached, whole, strict=True):
        assert [h.log_prob for h in one] == pytest.approx([h.log_prob for h in other], abs=1e-4)


@pytest.mark.parametrize("strategy", [Beam(width=1), Beam(width=3), Sample()], ids=["greedy", "beam", "sample"])
def test_an_output_that_is_not_a_number_is_an_error(strategy):
    table = random_table(0, vocab=8)
    broken = TableModel(lambda source, ids: [math.nan if len(ids) == 2 else x for x in table(source, ids)])
    with pytest.raises(CheckpointError) as caught:
        search(broken, sources((4, 5), (5,)), strategy, Rules(min_length=5))
    message = "the model's output at token 3 is not a number; its weights are damaged or training diverged: use another checkpoint"
    assert str(caught.value) == message


def test_a_number_beyond_all_is_not_a_number():
    with pytest.raises(CheckpointError, match="token 1 is not a number"):
        search(TableModel(lambda source, ids: [math.inf] * 8), sources((4,)))


def test_no_source_has_no_output():
    assert search(TableModel(always({EOS: 1.0})), torch.zeros(0, 1, dtype=torch.long)) == []
    assert search(small_seq2seq(), torch.zeros(0, 3, dtype=torch.long)) == []


def test_a_source_of_its_end_token_alone_is_translated_like_any():
    model = small_seq2seq()
    (with_others, _) = search(model, sources((), (4, 5, 6)), Beam(width=2), Rules(max_extra=4))
    (alone,) = search(model, sources(()), Beam(width=2), Rules(max_extra=4))
    assert with_others[0].ids == alone[0].ids
    assert len(alone[0].ids) <= 4


@pytest.mark.parametrize(
    ("strategy", "rules", "n_best", "message"),
    [
        (Beam(width=2), Rules(), 3, "n-best = 3: must not exceed the beam width 2; widen the beam"),
        (Beam(), Rules(), 0, "n-best = 0: must be at least 1"),
        (Beam(width=0), Rules(), 1, "width = 0: must be at least 1"),
        (Sample(), Rules(), 1025, "n-best = 1025: must be at most 1,024"),
        (Beam(), Rules(), True, "n-best = true: must be an integer"),
        (Beam(width=True), Rules(), 1, "width = true: must be an integer"),
        (Beam(width=2**20), Rules(), 1, f"width = {2**20}: must be at most 1,024"),
        (Beam(length_penalty=1e308), Rules(), 1, "length_penalty = 1e+308: must be at most 10"),
        (Beam(length_penalty=-11.0), Rules(), 1, "length_penalty = -11.0: must be at least -10"),
        (Beam(length_penalty=math.nan), Rules(), 1, "length_penalty = NaN: must be a finite number"),
        (Beam(), Rules(max_length=0), 1, "max_length = 0: must be at least 1"),
        (Beam(), Rules(max_length=10**30), 1, f"max_length = {10**30}: must be at most 100,000"),
        (Beam(), Rules(max_extra=10**9), 1, f"max_extra = {10**9}: must be at most 100,000"),
        (Beam(), Rules(min_length=10**9), 1, f"min_length = {10**9}: must be at most 100,000"),
        (Sample(temperature=0.0), Rules(), 1, "temperature = 0.0: must be above 0"),
        (Beam(), Rules(min_length=9, max_length=8), 1, "min_length = 9: must not exceed max_length = 8"),
        (Beam(), Rules(max_extra=-1), 1, "max_extra = -1: must be at least 0"),
        (Beam(), Rules(suppress=(4, 8)), 1, "rules.suppress = 8: the target vocabulary's ids are 0 to 7"),
    ],
)
def test_settings_that_cannot_be_are_refused(strategy, rules, n_best, message):
    with pytest.raises(ConfigError) as caught:
        search(TableModel(random_table(0, vocab=8)), sources((4,)), strategy, rules, n_best=n_best)
    assert str(caught.value) == message
