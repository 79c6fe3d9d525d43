"""What may be written, and how much of it."""

import pytest
from tables import BANNED, EOS, SPECIALS, TableModel, always, follow, random_sources, random_table, small_seq2seq, sources

from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.decoding.search import search
from reference import search as plain

SOURCES = [(4, 5), (6,), (5, 5, 7, 4)]
STRATEGIES = [Beam(width=1), Beam(width=3), Sample(temperature=2.0)]
GOES_ON = always({4: 0.6, 5: 0.3, EOS: 0.1})
"""the end is never the likeliest"""


def outputs(table, rules, strategy=STRATEGIES[1], n_best=1, rows=SOURCES, **settings):
    return search(TableModel(table), sources(*rows), strategy, rules, n_best=n_best, **settings)


def lengths(rules, rows=SOURCES, table=GOES_ON):
    return [len(hypotheses[0].ids) for hypotheses in outputs(table, rules, Beam(width=1), rows=rows)]


def test_the_limit_counts_the_source_without_its_end_token():
    assert lengths(Rules(max_extra=3)) == [5, 4, 7]
    assert lengths(Rules(max_extra=0), rows=[(), (4,), (4, 4)]) == [0, 1, 2]


def test_max_length_holds_beside_max_extra_the_smaller_of_both():
    assert lengths(Rules(max_extra=3, max_length=5)) == [5, 4, 5]
    assert lengths(Rules(max_length=1)) == [1, 1, 1]


def test_min_length_holds_even_where_the_limit_would_be_lower():
    ends = always({EOS: 0.9, 4: 0.1})
    assert lengths(Rules(min_length=2), table=ends) == [2, 2, 2]
    assert lengths(Rules(min_length=6, max_extra=3), table=ends) == [6, 6, 6]
    assert lengths(Rules(), table=ends) == [0, 0, 0]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["greedy", "beam", "sample"])
@pytest.mark.parametrize("rules", [Rules(min_length=3, max_length=3), Rules(min_length=2, max_length=4, suppress=(4, EOS))], ids=str)
def test_lengths_and_suppressed_ids_hold_for_every_strategy(strategy, rules):
    model, rows = small_seq2seq(), random_sources(6, 11)
    found = search(model, sources(*rows), strategy, rules, n_best=1 if strategy == Beam(width=1) else 3)
    written = [h.ids for hypotheses in found for h in hypotheses]
    assert {len(ids) for ids in written} <= set(range(rules.min_length, (rules.max_length or 99) + 1))
    assert not {*BANNED, *rules.suppress} & {i for ids in written for i in ids}
    if EOS in rules.suppress:  # then only the limit ends an output
        assert {len(ids) for ids in written} == {rules.max_length}


def test_a_model_that_prefers_the_special_tokens_never_writes_them():
    table = always({SPECIALS.pad: 0.4, SPECIALS.unk: 0.2, SPECIALS.bos: 0.2, 7: 0.15, EOS: 0.05})
    for strategy in STRATEGIES:
        for hypotheses in outputs(table, Rules(max_extra=2), strategy):
            assert set(hypotheses[0].ids) <= {7}


def test_an_output_is_truncated_where_something_else_than_the_end_was_likelier():
    def ends_after_three(source, ids):
        return always({EOS: 0.8, 4: 0.2} if len(ids) == 3 else {4: 0.9, EOS: 0.1})(source, ids)

    def truncated(**rules):
        (hypotheses,) = outputs(ends_after_three, Rules(**rules), Beam(width=1), rows=[(4,)])
        return len(hypotheses[0].ids), hypotheses[0].truncated

    assert truncated(max_length=2) == (2, True)
    assert truncated(max_length=3) == (3, False)  # it ends there of itself
    assert truncated(max_length=4) == (3, False)
    assert truncated(max_length=4, min_length=4) == (4, True)


def test_what_the_limit_forces_keeps_its_probability():
    ((one,),) = outputs(GOES_ON, Rules(max_length=1), Beam(width=1), rows=[(4,)])
    assert one.log_prob == pytest.approx(plain.greedy(follow(GOES_ON, (4,)), eos=EOS, limit=1, banned=BANNED)[0], abs=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["greedy", "beam", "sample"])
def test_each_sentence_begins_with_its_prefix_at_the_prefix_s_own_probability(strategy):
    prefixes = [(7,), (), (6, 7, 7)]
    model = TableModel(random_table(4, vocab=8))
    found = search(
        model, sources(*SOURCES), strategy, Rules(max_extra=4), prefixes=prefixes, more_rules=[model.in_step(SOURCES)],
        n_best=1 if strategy == Beam(width=1) else 2,
    )  # fmt: skip
    for source, prefix, hypotheses in zip(SOURCES, prefixes, found, strict=True):
        log_probs = follow(model.table, source)
        for h in hypotheses:
            assert h.ids[: len(prefix)] == prefix
            assert h.log_prob == pytest.approx(sum(log_probs(h.ids[:t])[i] for t, i in enumerate((*h.ids, EOS))), abs=1e-4)
    free = search(model, sources(SOURCES[1]), strategy, Rules(max_extra=4), n_best=1)
    assert found[1][0].ids == free[0][0].ids


@pytest.mark.parametrize(
    "rules",
    [Rules(max_length=2), Rules(max_extra=0), Rules(no_repeat=1), Rules(suppress=(4, 5)), Rules(min_length=5, max_length=5)],
    ids=str,
)
def test_a_prefix_holds_whatever_else_forbids(rules):
    prefix = (4, 4, 5)
    (hypotheses,) = outputs(random_table(0, vocab=8), rules, prefixes=[prefix], rows=[(6,)])
    assert hypotheses[0].ids[:3] == prefix
    if rules.max_length == 2 or rules.max_extra == 0:
        assert hypotheses[0].ids == prefix


def test_a_prefix_may_hold_what_is_never_written():
    (hypotheses,) = outputs(random_table(0, vocab=8), Rules(max_extra=3), prefixes=[(SPECIALS.unk,)], rows=[(6,)])
    assert hypotheses[0].ids[0] == SPECIALS.unk
    assert SPECIALS.unk not in hypotheses[0].ids[1:]


def ngrams(ids, size):
    return [ids[i : i + size] for i in range(len(ids) - size + 1)]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_comes_twice_and_nothing_else_is_forbidden(size):
    def repeating(ids):
        return BANNED | {i for i in range(4, 8) if len(set(ngrams((*ids, i), size))) < len(ngrams((*ids, i), size))}

    def table(source, ids):  # likes repeating the last two
        logits = random_table(7, vocab=8, spread=0.5)(source, ids)
        return [x + 3 * (i in ids[-2:]) - 6 * (i == EOS) for i, x in enumerate(logits)]

    found = outputs(table, Rules(max_extra=8, no_repeat=size), n_best=3)
    free = outputs(table, Rules(max_extra=8), n_best=3)
    for source, hypotheses, unruly in zip(SOURCES, found, free, strict=True):
        expected = plain.beam(
            follow(table, source), width=3, eos=EOS, limit=len(source) + 8, banned=repeating, kind="gnmt", alpha=0.6, outputs=3
        )
        assert [h.ids for h in hypotheses] == [ids for _, _, ids in expected]
        assert all(len(set(ngrams(h.ids, size))) == len(ngrams(h.ids, size)) for h in hypotheses)
        assert any(len(set(ngrams(h.ids, size))) < len(ngrams(h.ids, size)) for h in unruly)


@pytest.mark.parametrize("width", [1, 3])
def test_a_rule_of_the_user_s_moves_with_its_beam(width):
    """The phrase 4 5 is forbidden: what each row has written decides, wherever it stood a step before."""

    def no_4_5(log_probs, live):
        log_probs[live.ids[:, -1] == 4, 5] = float("-inf")

    table = random_table(11, vocab=7)
    rows = random_sources(8, 7)
    found, free = (
        outputs(table, Rules(max_extra=5), Beam(width=width), n_best=width, rows=rows, more_rules=rules) for rules in ([no_4_5], [])
    )
    assert any((4, 5) in ngrams(h.ids, 2) for hypotheses in free for h in hypotheses)
    for source, hypotheses in zip(rows, found, strict=True):
        expected = plain.beam(
            follow(table, source), width=width, eos=EOS, limit=len(source) + 5, kind="gnmt", alpha=0.6, outputs=width,
            banned=lambda ids: BANNED | ({5} if ids[-1:] == (4,) else set()),
        )  # fmt: skip
        assert [h.ids for h in hypotheses] == [ids for _, _, ids in expected]
        assert not any((4, 5) in ngrams(h.ids, 2) for h in hypotheses)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=["greedy", "beam", "sample"])
def test_where_rules_leave_nothing_to_write_there_is_no_output(strategy):
    rules = Rules(no_repeat=1, min_length=5)  # of the four symbols that there are
    stuck, fine = outputs(random_table(0, vocab=8), rules, strategy, rows=[(6,), (5,)], prefixes=[(), (4, 4, 4, 4, 4)])
    assert stuck == []
    assert len(fine) == 1
