"""Forced decoding."""

import math

import pytest
import torch
from tables import EOS, SPECIALS, TableModel, follow_seq2seq, random_sources, random_table, small_seq2seq, sources

from hexapla.decoding.score import forced_log_probs
from hexapla.errors import CheckpointError


def targets(*rows, width=0):
    """Rows with their start and end tokens."""
    return torch.cat([torch.full((len(rows), 1), SPECIALS.bos), sources(*rows, width=width)], dim=1)


PAIRS = list(zip(random_sources(5, 11, seed=1), [(4, 5), (), (9,), (10, 4, 4, 6, 7), (5, 5)], strict=True))


def test_a_target_s_probability_is_that_of_its_tokens_one_by_one():
    model = small_seq2seq()
    for source, target in PAIRS:
        follow = follow_seq2seq(model, source)
        expected = [follow(target[:t])[i] for t, i in enumerate((*target, EOS))]
        assert forced_log_probs(model, sources(source), targets(target))[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_forced_decoding_is_stepping_through_the_target():
    model = small_seq2seq()
    source, target = sources(*(source for source, _ in PAIRS)), targets(*(target for _, target in PAIRS))
    state, found = model.begin(source), []
    for t in range(target.shape[1] - 1):
        log_probs = model.step(target[:, t], state).log_softmax(dim=-1)
        found.append(log_probs.gather(1, target[:, t + 1, None])[:, 0].masked_fill(target[:, t + 1] == SPECIALS.pad, 0.0))
    torch.testing.assert_close(forced_log_probs(model, source, target), torch.stack(found, dim=1), atol=1e-5, rtol=0)


def test_padding_and_neighbours_change_nothing_and_padding_counts_nothing():
    model = small_seq2seq()
    rows, texts = [source for source, _ in PAIRS], [target for _, target in PAIRS]
    together = forced_log_probs(model, sources(*rows, width=30), targets(*texts, width=17))
    for i, (source, target) in enumerate(PAIRS):
        alone = forced_log_probs(model, sources(source), targets(target))[0]
        torch.testing.assert_close(together[i, : len(target) + 1], alone, atol=1e-5, rtol=0)
        assert together[i, len(target) + 1 :].eq(0).all()


def test_a_probability_that_is_not_a_number_is_an_error_but_not_behind_the_end():
    table = random_table(0, vocab=9)
    model = TableModel(lambda source, ids: [math.nan] * 9 if len(ids) >= 2 else table(source, ids))
    assert forced_log_probs(model, sources((4,), (5,)), targets((4,), (), width=6)).isfinite().all()
    with pytest.raises(CheckpointError) as caught:
        forced_log_probs(model, sources((4,), (5,)), targets((4,), (6, 7)))
    message = "the model's output at token 3 is not a number; its weights are damaged or training diverged: use another checkpoint"
    assert str(caught.value) == message
