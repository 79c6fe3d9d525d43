"""Small models of every variant, with random weights in all their parts."""

from typing import Any

import torch
from torch import nn

from hexapla.config.attention import AttentionConfig
from hexapla.config.model import Learned, Seq2SeqConfig, Sinusoidal
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.models.build import build
from hexapla.models.seq2seq import Seq2Seq

VOCAB, D_MODEL = 11, 8


def stack(
    *, layers: int = 2, norm: Any = "layer", norm_position: Any = "post", attention: Any = None, feed_forward: Any = None
) -> StackConfig:
    return StackConfig(
        layers=layers,
        norm=norm,
        norm_position=norm_position,
        attention=AttentionConfig(heads=4, **(attention or {})),
        feed_forward=FeedForwardConfig(d_ff=16, **(feed_forward or {})),
    )


def config(**changes: Any) -> Seq2SeqConfig:
    both = changes.pop("both", stack())
    values = {"source_vocab": VOCAB, "target_vocab": VOCAB, "d_model": D_MODEL, "encoder": both, "decoder": both}
    return Seq2SeqConfig(**(values | changes))


VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"both": stack(norm_position="pre")},
    "rms": {"both": stack(norm="rms", norm_position="pre")},
    "grouped heads": {"both": stack(attention={"kv_heads": 2})},
    "one key head": {"both": stack(attention={"kv_heads": 1, "bias": False})},
    "head widths": {"both": stack(attention={"d_k": 3, "d_v": 5})},
    "gated": {"both": stack(feed_forward={"gated": True, "activation": "silu", "bias": False})},
    "unequal stacks": {"encoder": stack(layers=3), "decoder": stack(layers=1, norm_position="pre")},
    "no layers": {"both": stack(layers=0)},
    "learned positions": {"positions": Learned(length=20)},
    "halves": {"positions": Sinusoidal(layout="halves")},
    "decoder tied": {"tie": "decoder", "target_vocab": VOCAB + 2},
    "untied": {"tie": "none", "target_vocab": VOCAB + 2, "output_bias": True},
}


def model(variant: str = "paper", **changes: Any) -> Seq2Seq:
    """Ready to decode, in float64, so that what should be equal is equal to 1e-12."""
    made = build(config(**(VARIANTS[variant] | changes))).double().eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.4)
    return made


def ids(rows: int, length: int) -> torch.Tensor:
    """Random text tokens, none of them special."""
    return torch.randint(4, VOCAB, (rows, length))
