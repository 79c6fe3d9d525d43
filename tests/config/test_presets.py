"""The named runs, against what the papers say of them."""

from dataclasses import replace

import pytest

from hexapla.config.decoding import Beam, Rules
from hexapla.config.model import Sinusoidal
from hexapla.config.presets import PRESETS, paper_base, paper_big, tiny
from hexapla.config.training import Paper


@pytest.mark.parametrize(
    ("preset", "d_model", "d_ff", "heads", "dropout", "steps", "averaged"),
    [(paper_base, 512, 2048, 8, 0.1, 100_000, 5), (paper_big, 1024, 4096, 16, 0.3, 300_000, 20)],
)
def test_the_paper_s_presets_are_table_3_and_sections_5_and_6(preset, d_model, d_ff, heads, dropout, steps, averaged):
    run = preset(37_000)
    model, training = run.model, run.training
    for stack in (model.encoder, model.decoder):
        assert (stack.layers, stack.attention.heads, stack.feed_forward.d_ff, stack.dropout) == (6, heads, d_ff, dropout)
        assert (stack.norm, stack.norm_position, stack.feed_forward.activation, stack.feed_forward.gated) == (
            "layer",
            "post",
            "relu",
            False,
        )
        assert (stack.attention.dropout, stack.feed_forward.dropout, stack.attention.kv_heads) == (0.0, 0.0, None)
    assert (model.d_model, model.dropout, model.positions, model.tie, model.output_bias) == (d_model, dropout, Sinusoidal(), "all", False)
    assert (training.steps, training.schedule, training.label_smoothing, training.keep_last) == (steps, Paper(warmup=4000), 0.1, averaged)
    assert (training.optimiser.beta1, training.optimiser.beta2, training.optimiser.epsilon) == (0.9, 0.98, 1e-9)
    assert training.batch_tokens == 2 * 25_000
    assert (run.decoding, run.rules) == (Beam(width=4, penalty="gnmt", length_penalty=0.6), Rules(max_extra=50))


def test_tiny_is_the_published_transformer_tiny():
    model = tiny(10_000).model
    for stack in (model.encoder, model.decoder):
        assert (stack.layers, stack.attention.heads, stack.feed_forward.d_ff) == (4, 4, 256)
    assert model.d_model == 128


@pytest.mark.parametrize("name", PRESETS)
def test_two_vocabularies_tie_the_decoder_alone(name):
    one, two = PRESETS[name](50, None), PRESETS[name](50, 60)
    assert (one.model.tie, two.model.tie) == ("all", "decoder")
    assert replace(two, model=replace(two.model, target_vocab=50, tie="all")) == one


def test_settings_are_frozen():
    with pytest.raises(AttributeError, match="cannot assign"):
        tiny(50).model.d_model = 3  # type: ignore[misc]
