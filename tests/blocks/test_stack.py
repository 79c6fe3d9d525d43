"""Layers and stacks with the weights of torch.nn's, layer by layer."""

import pytest
import torch
from torch import nn

from hexapla import hardware
from hexapla.blocks.layer import DecoderLayer, EncoderLayer
from hexapla.blocks.mask import CAUSAL, EVERYTHING, Mask
from hexapla.blocks.stack import Decoder, Encoder
from hexapla.config.attention import AttentionConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from reference import torch_weights

SOURCE_KEYS = torch.tensor([[True, True, True, True, True], [True, True, True, False, False]])
BLOCKED = torch.ones(4, 4, dtype=torch.bool).triu(1)

pytestmark = pytest.mark.parametrize("position", ["post", "pre"])


@pytest.fixture(autouse=True, params=["written out", "fused"])
def kernel(request, monkeypatch):
    monkeypatch.setattr(hardware, "WRITTEN_OUT_UP_TO", {"written out": 10**9, "fused": 0}[request.param])


def ours(position, layers=1):
    heads, inner = AttentionConfig(heads=2), FeedForwardConfig(d_ff=16)
    return StackConfig(layers=layers, attention=heads, feed_forward=inner, norm_position=position, dropout=0.0)


def theirs(cls, position):
    return cls(8, 2, 16, dropout=0.0, batch_first=True, norm_first=position == "pre")


def drawn(module):
    """All weights random, those of norms and biases too, which would hide an error by being 1 and 0."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.4)
    return module


def stacks(position):
    """torch.nn.Transformer of three layers; in pre-norm with the norm after the last layer, as ours."""

    def last():
        return nn.LayerNorm(8) if position == "pre" else None

    encoder = nn.TransformerEncoder(theirs(nn.TransformerEncoderLayer, position), 3, last(), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(theirs(nn.TransformerDecoderLayer, position), 3, last())
    return drawn(nn.Transformer(8, 2, custom_encoder=encoder, custom_decoder=decoder, batch_first=True))


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def loaded(module, weights):
    module.load_state_dict(weights)
    return module


def test_an_encoder_layer_is_torch_s(position):
    reference = drawn(theirs(nn.TransformerEncoderLayer, position))
    layer = loaded(EncoderLayer(8, ours(position)), torch_weights.encoder_layer(reference))
    x = torch.randn(2, 5, 8)
    close(layer(x), reference(x))
    close(layer(x, Mask(keys=SOURCE_KEYS)), reference(x, src_key_padding_mask=~SOURCE_KEYS))


def test_a_decoder_layer_is_torch_s(position):
    reference = drawn(theirs(nn.TransformerDecoderLayer, position))
    layer = loaded(DecoderLayer(8, ours(position)), torch_weights.decoder_layer(reference))
    x, memory = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    close(layer(x, EVERYTHING, layer.project(memory), EVERYTHING), reference(x, memory))
    expected = reference(x, memory, tgt_mask=BLOCKED, memory_key_padding_mask=~SOURCE_KEYS)
    close(layer(x, CAUSAL, layer.project(memory), Mask(keys=SOURCE_KEYS)), expected)


def test_both_stacks_are_torch_s_transformer(position):
    reference = stacks(position)
    encoder = loaded(Encoder(8, ours(position, 3)), torch_weights.stack(reference.encoder, torch_weights.encoder_layer))
    decoder = loaded(Decoder(8, ours(position, 3)), torch_weights.stack(reference.decoder, torch_weights.decoder_layer))
    source, target = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    expected = reference(source, target, tgt_mask=BLOCKED, src_key_padding_mask=~SOURCE_KEYS, memory_key_padding_mask=~SOURCE_KEYS)
    memory = encoder(source, Mask(keys=SOURCE_KEYS))
    close(decoder(target, decoder.project(memory), Mask(keys=SOURCE_KEYS)), expected)


def test_the_gradients_of_both_stacks_are_torch_s(position):
    reference = stacks(position)
    source, target, towards = torch.randn(2, 5, 8), torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    encoder = loaded(Encoder(8, ours(position, 3)), torch_weights.stack(reference.encoder, torch_weights.encoder_layer))
    decoder = loaded(Decoder(8, ours(position, 3)), torch_weights.stack(reference.decoder, torch_weights.decoder_layer))
    (reference(source, target, tgt_mask=BLOCKED) * towards).sum().backward()
    (decoder(target, decoder.project(encoder(source)), EVERYTHING) * towards).sum().backward()
    for stack, expected in ((encoder, reference.encoder), (decoder, reference.decoder)):
        found, theirs = dict(stack.named_parameters()), dict(expected.named_parameters())
        for i in range(3):
            for ours_name, theirs_name in (("feed_forward.inner", "linear1"), ("feed_forward.outer", "linear2")):
                close_gradients([found[f"layers.{i}.{ours_name}.weight"]], theirs[f"layers.{i}.{theirs_name}.weight"])
            projections = [found[f"layers.{i}.self_attention.{name}.weight"] for name in ("query", "key", "value")]
            close_gradients(projections, theirs[f"layers.{i}.self_attn.in_proj_weight"])


def close_gradients(found, expected):
    torch.testing.assert_close(torch.cat([part.grad for part in found]), expected.grad, atol=1e-4, rtol=1e-4)
