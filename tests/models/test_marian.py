"""Seq2Seq against transformers' Marian model: the same random weights, the same logits."""

import warnings

import pytest
import torch
from torch import nn

from hexapla.config.attention import AttentionConfig
from hexapla.config.model import Seq2SeqConfig, Sinusoidal, Specials
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.models.build import build

VOCAB, D_MODEL, HEADS, D_FF, LAYERS = 23, 8, 2, 16, 3
SPECIALS = Specials(pad=22, unk=1, bos=21, eos=0)  # Marian's habit: padding last, and the decoder starts on a token of its own


@pytest.fixture(scope="module")
def marian():
    """Post-norm, ReLU, sinusoids in halves, √d_model times embeddings, one tied matrix, a bias on the logits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformers = pytest.importorskip("transformers", reason="equality with Marian needs transformers: pip install 'hexapla[dev]'")
        config = transformers.MarianConfig(
            vocab_size=VOCAB,
            d_model=D_MODEL,
            encoder_layers=LAYERS,
            decoder_layers=LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=D_FF,
            decoder_ffn_dim=D_FF,
            max_position_embeddings=32,
            activation_function="relu",
            scale_embedding=True,
            dropout=0.0,
            attention_dropout=0.0,
            activation_dropout=0.0,
            pad_token_id=SPECIALS.pad,
            eos_token_id=SPECIALS.eos,
            forced_eos_token_id=None,
            decoder_start_token_id=SPECIALS.bos,
            attn_implementation="eager",
        )
        model = transformers.MarianMTModel(config).eval()
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if "embed_positions" not in name:
            nn.init.normal_(parameter, mean=0.1, std=0.4)
    nn.init.normal_(model.final_logits_bias)
    return model


@pytest.fixture(scope="module")
def ours(marian):
    stack = StackConfig(layers=LAYERS, attention=AttentionConfig(heads=HEADS), feed_forward=FeedForwardConfig(d_ff=D_FF))
    model = build(
        Seq2SeqConfig(
            source_vocab=VOCAB,
            target_vocab=VOCAB,
            d_model=D_MODEL,
            encoder=stack,
            decoder=stack,
            positions=Sinusoidal(layout="halves"),
            output_bias=True,
            specials=SPECIALS,
        )
    ).eval()
    model.load_state_dict(renamed(marian))
    return model


def renamed(marian):
    """Marian's weights under our names; sinusoids are computed, not loaded."""
    embedding = marian.model.shared.weight
    found = {f"{name}.weight": embedding for name in ("source_embedding", "target_embedding", "output")}
    found["output.bias"] = marian.final_logits_bias[0]
    parts = {
        "self_attn.q_proj": "self_attention.query",
        "self_attn.k_proj": "self_attention.key",
        "self_attn.v_proj": "self_attention.value",
        "self_attn.out_proj": "self_attention.output",
        "self_attn_layer_norm": "around_self.norm",
        "encoder_attn.q_proj": "cross_attention.query",
        "encoder_attn.k_proj": "cross_attention.key",
        "encoder_attn.v_proj": "cross_attention.value",
        "encoder_attn.out_proj": "cross_attention.output",
        "encoder_attn_layer_norm": "around_cross.norm",
        "fc1": "feed_forward.inner",
        "fc2": "feed_forward.outer",
        "final_layer_norm": "around_feed_forward.norm",
    }
    for side in ("encoder", "decoder"):
        for name, weight in getattr(marian.model, side).layers.state_dict().items():
            number, _, rest = name.partition(".")
            part, _, kind = rest.rpartition(".")
            found[f"{side}.layers.{number}.{parts[part]}.{kind}"] = weight
    return found


@pytest.fixture
def pair():
    source, target = torch.randint(1, 20, (2, 7)), torch.randint(1, 20, (2, 5))
    source[1, 4:], target[:, 0] = SPECIALS.pad, SPECIALS.bos
    return source, target


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def theirs(marian, pair):
    source, target = pair
    options = {"output_hidden_states": True, "output_attentions": True, "use_cache": False}
    with torch.no_grad():
        return marian(input_ids=source, attention_mask=(source != SPECIALS.pad).long(), decoder_input_ids=target, **options)


@pytest.mark.timeout(400)  # importing transformers takes its time on a busy machine
def test_the_logits_are_marian_s(marian, ours, pair):
    expected = theirs(marian, pair).logits
    assert expected.std() > 0.5, "random enough to tell models apart"
    close(ours(*pair), expected)


@pytest.mark.timeout(400)
def test_every_layer_and_attention_is_marian_s(marian, ours, pair):
    outputs, weights = {}, {}
    hooks = []
    for side in ("encoder", "decoder"):
        for i, layer in enumerate(getattr(ours, side).layers):
            hooks.append(layer.register_forward_hook(lambda _, inputs, output, key=(side, i): outputs.update({key: output})))
            for kind in ("self", "cross"):
                attention = getattr(layer, f"{kind}_attention", None)
                if attention is not None:
                    attention.record = lambda seen, key=(side, i, kind): weights.update({key: seen})
    try:
        ours(*pair)
    finally:
        for hook in hooks:
            hook.remove()
        for side in ("encoder", "decoder"):
            for layer in getattr(ours, side).layers:
                layer.self_attention.record = None
                if side == "decoder":
                    layer.cross_attention.record = None
    expected = theirs(marian, pair)
    for i in range(LAYERS):
        close(outputs["encoder", i], expected.encoder_hidden_states[i + 1])
        close(outputs["decoder", i], expected.decoder_hidden_states[i + 1])
        close(weights["encoder", i, "self"], expected.encoder_attentions[i])
        close(weights["decoder", i, "self"], expected.decoder_attentions[i])
        close(weights["decoder", i, "cross"], expected.cross_attentions[i])


@pytest.mark.timeout(400)
def test_decoding_step_by_step_gives_marian_s_logits(marian, ours, pair):
    source, target = pair
    state, expected = ours.begin(source), theirs(marian, pair).logits
    for t in range(target.shape[1]):
        close(ours.step(target[:, t], state), expected[:, t])
