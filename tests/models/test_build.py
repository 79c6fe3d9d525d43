"""A configuration made into a model, and refused where it cannot be one."""

from dataclasses import replace

import pytest
import torch
from small_models import config, stack

from hexapla.config.attention import AttentionConfig
from hexapla.config.model import Learned, Specials
from hexapla.config.run import RunConfig
from hexapla.config.stack import StackConfig
from hexapla.config.training import TrainingConfig
from hexapla.errors import ConfigError
from hexapla.models.build import build, parameter_count


def heads(count):
    return StackConfig(attention=AttentionConfig(heads=count))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: config(d_model=0), "model.d_model = 0: must be at least 1"),
        (lambda: config(d_model=8.0), "model.d_model = 8.0: must be an integer"),
        (lambda: config(both=heads(0)), "model.encoder.attention.heads = 0: must be at least 1"),
        (lambda: config(encoder=stack(), decoder=heads(-2)), "model.decoder.attention.heads = -2: must be at least 1"),
        (lambda: config(both=stack(attention={"kv_heads": 0})), "model.encoder.attention.kv_heads = 0: must be at least 1"),
        (lambda: config(both=stack(layers=-1)), "model.encoder.layers = -1: must be at least 0"),
        (lambda: config(both=stack(norm="batch")), 'model.encoder.norm = "batch": there is layer, rms'),
        (lambda: config(dropout=1.0), "model.dropout = 1.0: must be below 1"),
        (lambda: config(dropout=float("nan")), "model.dropout = NaN: must be a finite number"),
        (lambda: config(positions=Learned(length=0)), "model.positions.length = 0: must be at least 1"),
        (lambda: config(specials=Specials(pad=-1)), "model.specials.pad = -1: must be at least 0"),
        (lambda: config(tie="both"), 'model.tie = "both": there is all, decoder, none'),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_path(make, message):
    with pytest.raises(ConfigError) as caught:
        build(make())
    assert str(caught.value) == message


def test_a_whole_run_is_checked_not_only_its_model():
    with pytest.raises(ConfigError, match=r"^training\.steps = 0: must be at least 1$"):
        build(RunConfig(model=config(), training=TrainingConfig(steps=0)))


def test_the_same_seed_builds_the_same_model():
    def built(seed):
        torch.manual_seed(seed)
        return build(RunConfig(model=config())).state_dict()

    first, again, other = built(1), built(1), built(2)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_a_shared_matrix_counts_once():
    tied, untied = build(config()), build(replace(config(), tie="none"))
    assert parameter_count(untied) - parameter_count(tied) == 2 * 11 * 8
