"""The weights a model starts from."""

import pytest
import torch
from torch import nn

from hexapla.blocks.embedding import Embedding, Output
from hexapla.blocks.feed_forward import FeedForward
from hexapla.blocks.initialise import initialise
from hexapla.blocks.positions import LearnedPositions
from hexapla.config.model import Learned
from hexapla.config.stack import FeedForwardConfig


def made(*, default=torch.float32):
    torch.set_default_dtype(default)
    try:
        model = nn.ModuleDict(
            {
                "embedding": Embedding(500, 64),
                "positions": LearnedPositions(64, Learned(length=400)),
                "feed_forward": FeedForward(64, FeedForwardConfig(d_ff=256)),
                "norm": nn.LayerNorm(64),
                "output": Output(500, 64, bias=True),
            }
        )
        initialise(model)
    finally:
        torch.set_default_dtype(torch.float32)
    return model


@pytest.mark.parametrize("default", [torch.float32, torch.float64], ids=str)
def test_matrices_are_xavier_uniform_embeddings_normal_and_biases_zero(default):
    weights = dict(made(default=default).named_parameters())
    assert {weight.dtype for weight in weights.values()} == {default}
    limit = (6 / (64 + 256)) ** 0.5
    for name in ("feed_forward.inner.weight", "feed_forward.outer.weight"):
        assert weights[name].var().item() == pytest.approx(2 / (64 + 256), rel=0.05)
        assert 0.98 * limit < weights[name].abs().max().item() <= limit
    for name in ("embedding.weight", "positions.weight", "output.weight"):
        assert weights[name].var().item() == pytest.approx(1 / 64, rel=0.05)
        assert weights[name].abs().max().item() > 3 * 64**-0.5, "normal, not uniform"
        assert weights[name].mean().item() == pytest.approx(0, abs=0.004)
    for name, weight in weights.items():
        if name.endswith("bias"):
            assert not weight.any(), name
    assert weights["norm.weight"].eq(1).all()


def test_an_embedding_has_unit_variance_once_it_is_scaled():
    embedding = made()["embedding"]
    assert embedding(torch.arange(500)[None]).var().item() == pytest.approx(1, rel=0.05)


def test_the_same_seed_gives_the_same_weights_and_another_others():
    def weights(seed):
        torch.manual_seed(seed)
        return torch.cat([parameter.flatten() for parameter in made().parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))
