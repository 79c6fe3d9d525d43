"""The Transformer: what must not change its logits, and what it makes of limits."""

import pytest
import torch
from small_models import VARIANTS, VOCAB, config, ids, model
from torch.nn import functional as F

from hexapla import hardware
from hexapla.config.model import Learned
from hexapla.errors import DataError
from hexapla.models.build import build
from hexapla.models.contract import State, Transducer

PAD, BOS = 0, 2
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(autouse=True, params=["written out", "fused"])
def kernel(request, monkeypatch):
    monkeypatch.setattr(hardware, "WRITTEN_OUT_UP_TO", {"written out": 10**9, "fused": 0}[request.param])


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-11, rtol=0)


def gradient(module):
    assert module.weight.grad is not None
    return module.weight.grad


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


@each_variant
def test_step_by_step_equals_all_at_once(variant):
    transformer, target = model(variant), ids(2, 6)
    source = padded([ids(1, 5)[0], ids(1, 3)[0]])
    state = transformer.begin(source)
    steps = [transformer.step(target[:, t], state) for t in range(6)]
    close(torch.stack(steps, dim=1), transformer(source, target))


@each_variant
def test_step_by_step_equals_all_at_once_after_rows_are_repeated_dropped_and_swapped(variant):
    transformer, source, target = model(variant), padded([ids(1, 5)[0], ids(1, 3)[0], ids(1, 4)[0]]), ids(3, 3)
    state = transformer.begin(source)
    for t in range(3):
        transformer.step(target[:, t], state)
    for rows in ([2, 0, 0, 1], [3, 1, 1], [0, 2]):
        rows = torch.tensor(rows)
        state.reorder(rows)
        source, target = source[rows], torch.cat([target[rows], ids(len(rows), 1)], dim=1)
        close(transformer.step(target[:, -1], state), transformer(source, target)[:, -1])


@each_variant
def test_a_future_target_token_changes_no_earlier_logit(variant):
    transformer, source, target = model(variant), ids(2, 5), ids(2, 6)
    before = transformer(source, target)
    others = (target - 3) % (VOCAB - 4) + 4
    for t in range(1, 6):
        after = transformer(source, torch.cat([target[:, :t], others[:, t:]], dim=1))
        close(after[:, :t], before[:, :t])
        assert not torch.allclose(after[:, t], before[:, t])


@each_variant
def test_the_amount_of_padding_changes_nothing(variant):
    transformer, source, target = model(variant), ids(2, 5), ids(2, 6)
    expected = transformer(source, target)
    close(transformer(F.pad(source, (0, 4)), F.pad(target, (0, 3)))[:, :6], expected)


def test_what_stands_at_padding_changes_nothing():
    transformer = model("untied")
    source, target = padded([ids(1, 5)[0], ids(1, 3)[0]]), padded([ids(1, 6)[0], ids(1, 4)[0]])
    before = transformer(source, target)
    with torch.no_grad():
        transformer.source_embedding.weight[PAD] += 100
        transformer.target_embedding.weight[PAD] -= 100
    after = transformer(source, target)
    assert torch.equal(after[0], before[0])
    assert torch.equal(after[1, :4], before[1, :4])


def test_padding_has_no_gradient():
    transformer = model("untied")
    source, target = padded([ids(1, 5)[0], ids(1, 3)[0]]), padded([ids(1, 6)[0], ids(1, 4)[0]])
    counted = (target != PAD)[..., None]
    (transformer(source, target) * counted).square().sum().backward()
    for embedding in (transformer.source_embedding, transformer.target_embedding):
        assert not gradient(embedding)[PAD].any()
        assert gradient(embedding)[4:].any()


@each_variant
def test_the_rows_of_a_batch_are_strangers(variant):
    transformer = model(variant)
    sources, targets = [ids(1, length)[0] for length in (5, 1, 3)], [ids(1, length)[0] for length in (2, 6, 4)]
    together = transformer(padded(sources), padded(targets))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        close(together[row, : len(target)], transformer(source[None], target[None])[0])
    close(transformer(padded(sources)[[2, 0, 1]], padded(targets)[[2, 0, 1]]), together[[2, 0, 1]])


@pytest.mark.parametrize("length", [0, 3], ids=["no token", "padding alone"])
def test_an_empty_source_gives_finite_logits(length):
    transformer, target = model(), ids(2, 3)
    source = torch.full((2, length), PAD)
    logits = transformer(source, target)
    assert logits.isfinite().all()
    close(logits, transformer(torch.full((2, 5), PAD), target))
    logits.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in transformer.parameters())


def test_the_source_matters_and_its_order_too():
    transformer, source, target = model(), ids(1, 5), ids(1, 3)
    assert not torch.allclose(transformer(source, target), transformer(source.roll(1, dims=1), target))


def test_three_way_tying_is_one_matrix_that_gathers_all_gradients():
    tied, source, target = model(), ids(2, 5), ids(2, 6)
    untied = build(config(tie="none")).double().eval()
    untied.load_state_dict(tied.state_dict())
    for each in (tied, untied):
        each(source, target).square().sum().backward()
    assert tied.source_embedding.weight is tied.target_embedding.weight is tied.output.weight
    parts = [gradient(part) for part in (untied.source_embedding, untied.target_embedding, untied.output)]
    assert all(part.any() for part in parts)
    torch.testing.assert_close(gradient(tied.output), torch.stack(parts).sum(dim=0))


def test_decoder_tying_leaves_the_source_its_own_matrix():
    transformer = model("decoder tied")
    assert transformer.target_embedding.weight is transformer.output.weight
    assert transformer.source_embedding.weight.shape == (VOCAB, 8)
    assert transformer.output.weight.shape == (VOCAB + 2, 8)


def test_dropout_falls_on_the_sum_of_embedding_and_position():
    """Section 5.4."""
    transformer = build(config(dropout=0.5, both=config().encoder.__class__(layers=0))).train()
    source, kept = ids(1, 200), []
    transformer.encoder.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    transformer.encode(source)
    whole = transformer.positions(transformer.source_embedding(source))
    assert 0.4 < (kept[0] == 0).float().mean() < 0.6
    torch.testing.assert_close(kept[0], torch.where(kept[0] == 0, 0.0, 2 * whole))


def test_learned_positions_refuse_a_target_that_outgrows_them():
    transformer = model("learned positions", positions=Learned(length=4))
    state = transformer.begin(ids(1, 4))
    for _ in range(4):
        transformer.step(ids(1, 1)[:, 0], state)
    with pytest.raises(DataError, match="a text of 5 tokens: the model's learned positions end at 4; shorten the text"):
        transformer.step(ids(1, 1)[:, 0], state)


def test_it_is_a_transducer():
    transformer = model()
    assert isinstance(transformer, Transducer)
    assert transformer.specials.bos == BOS
    state: State = transformer.begin(ids(2, 5))
    assert transformer.step(torch.tensor([BOS, BOS]), state).shape == (2, VOCAB)
