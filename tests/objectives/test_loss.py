from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from hexapla.blocks.embedding import Output
from hexapla.config.model import Specials
from hexapla.data.batches import Batch
from hexapla.objectives.loss import Loss, SmoothedCrossEntropy, smoothed_cross_entropy
from hexapla.objectives.sequence import transduction
from reference import loss as reference

PAD, BOS = 0, 2
NEVER = (PAD, BOS)


def of_logits(logits: Any, gold: torch.Tensor, **settings: Any) -> Loss:
    """The loss where hidden vectors are the logits: they are projected by the identity."""
    return smoothed_cross_entropy(logits, torch.eye(logits.shape[-1], dtype=logits.dtype), None, gold, **settings)


def rows(n=7, vocab=9, dtype=torch.float32) -> tuple[Any, torch.Tensor]:
    """Logits (n V) that want a gradient, and gold ids, one of them padding."""
    gold = torch.randint(3, vocab, (n,))
    gold[n // 2] = PAD
    return (3 * torch.randn(n, vocab)).to(dtype).requires_grad_(), gold


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("never", [(), NEVER], ids=["all ids", "pad and bos never"])
def test_the_loss_is_the_papers_formula(smoothing, never):
    logits, gold = rows()
    loss = of_logits(logits, gold, smoothing=smoothing, pad=PAD, never=never)
    total, surprise, count = reference.cross_entropy(logits.detach().numpy(), gold.numpy(), smoothing, PAD, never)
    assert loss.total.item() == pytest.approx(total, rel=1e-5)
    assert loss.surprise == pytest.approx(surprise, rel=1e-5)
    assert loss.count == count == 6


def test_the_reference_wants_a_distribution_without_padding_or_start():
    """And the gradient is p - q: the loss is trained towards the very q of the reference."""
    logits, gold = rows()
    of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER).total.backward()
    q = logits.detach().double().softmax(-1) - logits.grad.double()
    for row, answer in zip(q, gold.tolist(), strict=True):
        if answer == PAD:
            continue
        assert_close(row.numpy(), reference.wanted(answer, 9, 0.1, NEVER), atol=1e-6, rtol=0)
        assert row.sum().item() == pytest.approx(1, abs=1e-6)
        assert row[PAD].item() == pytest.approx(0, abs=1e-6)
        assert row[BOS].item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_where_every_id_may_follow_it_is_torchs_cross_entropy(smoothing):
    logits, gold = rows()
    ours = of_logits(logits, gold, smoothing=smoothing, pad=PAD)
    ours.total.backward()
    gradient, logits.grad = logits.grad, None
    theirs = cross_entropy(logits, gold, ignore_index=PAD, label_smoothing=smoothing, reduction="sum")
    theirs.backward()
    assert_close(ours.total, theirs)
    assert_close(gradient, logits.grad)


def test_the_gradient_is_that_of_finite_differences():
    logits, gold = rows(n=3, vocab=5)
    of_logits(logits, gold, smoothing=0.2, pad=PAD, never=NEVER).total.backward()
    plain, step = logits.detach().double().numpy(), 1e-5
    numeric = np.zeros_like(plain)
    for place in np.ndindex(plain.shape):
        up, down = plain.copy(), plain.copy()
        up[place] += step
        down[place] -= step
        above, below = (reference.cross_entropy(each, gold.numpy(), 0.2, PAD, NEVER)[0] for each in (up, down))
        numeric[place] = (above - below) / (2 * step)
    assert_close(logits.grad.double().numpy(), numeric, atol=1e-6, rtol=1e-5)


def test_a_multiple_of_the_loss_has_that_multiple_of_the_gradient():
    logits, gold = rows()
    of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER).total.backward()
    once, logits.grad = logits.grad, None
    (3 * of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER).total).backward()
    assert_close(logits.grad, 3 * once)


def test_padding_counts_nowhere():
    logits, gold = rows()
    whole = of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER)
    whole.total.backward()
    kept = gold != PAD
    without = of_logits(logits[kept], gold[kept], smoothing=0.1, pad=PAD, never=NEVER)
    assert_close(whole.total, without.total)
    assert (whole.count, whole.surprise) == (without.count, pytest.approx(without.surprise, rel=1e-6))
    assert logits.grad[~kept].count_nonzero() == 0


def projected(dtype=torch.float32) -> tuple[list[Any], torch.Tensor]:
    """Hidden vectors (2 5 4), a projection to 9 ids, its bias, and gold ids, two of them padding."""
    gold = torch.randint(3, 9, (2, 5))
    gold[1, 3:] = PAD
    tensors = [torch.randn(2, 5, 4, dtype=dtype), torch.randn(9, 4, dtype=dtype), torch.randn(9, dtype=dtype)]
    return [each.requires_grad_() for each in tensors], gold


@pytest.mark.parametrize("at_once", [1, 27, 10**9], ids=["a row", "three rows", "all"])
@pytest.mark.parametrize("biased", [True, False])
def test_the_projection_and_its_gradients_are_autograds(monkeypatch, at_once, biased):
    monkeypatch.setattr(SmoothedCrossEntropy, "LOGITS_AT_ONCE", at_once)
    (hidden, weight, bias), gold = projected()
    given = [hidden, weight, bias][: 2 + biased]
    loss = smoothed_cross_entropy(hidden, weight, bias if biased else None, gold, smoothing=0.1, pad=PAD)
    ours = torch.autograd.grad(3 * loss.total, given)
    logits = torch.nn.functional.linear(hidden, weight, bias if biased else None).flatten(0, 1)
    plain = cross_entropy(logits, gold.flatten(), ignore_index=PAD, label_smoothing=0.1, reduction="sum")
    assert_close(loss.total, plain)
    for mine, theirs in zip(ours, torch.autograd.grad(3 * plain, given), strict=True):
        assert_close(mine, theirs)


def test_under_autocast_products_are_bf16_and_sums_fp32():
    (hidden, weight, bias), gold = projected()
    exact = smoothed_cross_entropy(hidden, weight, bias, gold, smoothing=0.1, pad=PAD, never=NEVER)
    wanted = torch.autograd.grad(exact.total, [hidden, weight, bias])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = smoothed_cross_entropy(hidden, weight, bias, gold, smoothing=0.1, pad=PAD, never=NEVER)
    found = torch.autograd.grad(rounded.total, [hidden, weight, bias])
    assert rounded.total.dtype == torch.float32
    assert rounded.total.item() != exact.total.item()
    assert_close(rounded.total, exact.total, rtol=0.02, atol=0)
    for near, true in zip(found, wanted, strict=True):
        assert near.dtype == torch.float32
        assert_close(near, true, rtol=0, atol=0.05)


def test_only_what_wants_a_gradient_gets_one():
    (hidden, weight, bias), gold = projected()
    loss = smoothed_cross_entropy(hidden.detach(), weight, bias.detach(), gold, smoothing=0.1, pad=PAD)
    loss.total.backward()
    assert (hidden.grad, bias.grad) == (None, None)
    assert weight.grad.shape == weight.shape


def test_nothing_but_padding_is_a_loss_of_zero_over_zero_targets():
    logits: Any = torch.randn(2, 3, 9, requires_grad=True)
    loss = of_logits(logits, torch.full((2, 3), PAD), smoothing=0.1, pad=PAD, never=NEVER)
    loss.total.backward()
    assert (loss.total.item(), loss.count, loss.surprise) == (0.0, 0, 0.0)
    assert logits.grad.count_nonzero() == 0


@pytest.mark.parametrize("at_once", [1, 20, 27, 10**9], ids=["a row", "two rows", "three rows", "all"])
def test_the_rows_worked_on_together_do_not_matter(monkeypatch, at_once):
    logits, gold = rows()
    whole = of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER)
    whole.total.backward()
    gradient, logits.grad = logits.grad, None
    monkeypatch.setattr(SmoothedCrossEntropy, "LOGITS_AT_ONCE", at_once)
    parts = of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER)
    parts.total.backward()
    assert_close(parts.total, whole.total)
    assert parts.surprise == pytest.approx(whole.surprise)
    assert_close(logits.grad, gradient, atol=0, rtol=0)


def test_logits_of_bf16_are_summed_in_fp32():
    logits, gold = rows(n=300, dtype=torch.bfloat16)
    loss = of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER)
    loss.total.backward()
    total, surprise, _ = reference.cross_entropy(logits.detach().float().numpy(), gold.numpy(), 0.1, PAD, NEVER)
    assert loss.total.dtype == torch.float32
    assert loss.total.item() == pytest.approx(total, rel=1e-5)
    assert loss.surprise == pytest.approx(surprise, rel=1e-5)
    assert logits.grad.dtype == torch.bfloat16


def test_large_logits_do_not_overflow():
    logits, gold = rows()
    large: Any = (1e4 * logits.detach()).requires_grad_()
    loss = of_logits(large, gold, smoothing=0.1, pad=PAD, never=NEVER)
    loss.total.backward()
    assert loss.total.isfinite()
    assert large.grad.isfinite().all()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_loss_is_the_same(mode):
    logits, gold = rows()
    trained = of_logits(logits, gold, smoothing=0.1, pad=PAD, never=NEVER)
    with mode():
        judged = of_logits(logits.detach(), gold, smoothing=0.1, pad=PAD, never=NEVER)
    assert not judged.total.requires_grad
    assert judged.total.item() == trained.total.item()
    assert judged.surprise == trained.surprise


class Echo(torch.nn.Module):
    """Remembers what it was given; its logits are those it was made with."""

    def __init__(self, logits):
        super().__init__()
        self.specials, self.logits = Specials(), logits
        self.output = Output(logits.shape[-1], logits.shape[-1], bias=False)
        torch.nn.init.eye_(self.output.weight)

    def begin(self, source): ...

    def step(self, ids, state): ...

    def forward(self, source, target): ...

    def hidden(self, source, target):
        self.given = (source, target)
        return self.logits


def test_the_decoder_reads_the_target_shifted_right_and_answers_for_what_follows():
    source = torch.tensor([[5, 6, 3], [7, 3, 0]])
    target = torch.tensor([[2, 4, 5, 3], [2, 6, 3, 0]])
    model: Any = Echo(torch.randn(2, 3, 9))
    loss = transduction(0.1)(model, Batch(source, target, [0, 1]))
    assert model.given[0] is source
    assert model.given[1].tolist() == [[2, 4, 5], [2, 6, 3]]
    gold = np.array([4, 5, 3, 6, 3, 0])
    total, surprise, count = reference.cross_entropy(model.logits.flatten(0, 1).numpy(), gold, 0.1, PAD, NEVER)
    assert loss.total.item() == pytest.approx(total, rel=1e-5)
    assert (loss.count, loss.surprise) == (count, pytest.approx(surprise, rel=1e-5))
    assert count == 5
