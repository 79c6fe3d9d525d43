"""What a stack of layers is: the encoder or the decoder of Figure 1."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Le

from hexapla.config.attention import AttentionConfig, Width
from hexapla.config.setting import Positive, Probability, setting

MOST_LAYERS = 64
"""with as many, the header of a checkpoint's optimiser still is what `training.header` reads"""

Activation = Literal["relu", "gelu", "silu"]


@setting
class FeedForwardConfig:
    """The position-wise network, Vaswani et al. 2017, section 3.3."""

    d_ff: Width = 2048
    """inner width"""
    activation: Activation = "relu"
    """relu as in the paper, gelu, or silu"""
    gated: bool = False
    """multiply by a second projection of the input (Shazeer 2020); three matrices instead of two"""
    bias: bool = True
    """projections add a bias"""
    dropout: Probability = 0.0
    """share of inner activations dropped while training"""


@setting
class StackConfig:
    """N layers of one shape."""

    layers: Annotated[int, Ge(0), Le(MOST_LAYERS)] = 6
    """N, how many layers"""
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    feed_forward: FeedForwardConfig = field(default_factory=FeedForwardConfig)
    norm: Literal["layer", "rms"] = "layer"
    """LayerNorm as in the paper, or RMSNorm (Zhang and Sennrich 2019)"""
    norm_position: Literal["post", "pre"] = "post"
    """post: Norm(x + f(x)), the paper's; pre: x + f(Norm(x)), with one more norm after the last layer"""
    norm_epsilon: Positive = 1e-5
    """added to the variance before its root is taken"""
    dropout: Probability = 0.1
    """share of each sublayer's output dropped before it is added, section 5.4"""
