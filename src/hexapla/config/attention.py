"""What an attention is: its heads and their widths."""

from typing import Annotated

from annotated_types import Ge, Le

from hexapla.config.setting import Probability, setting

Width = Annotated[int, Ge(1), Le(2**20)]
"""a side of a matrix; the product of any three still is a number of bytes that a machine can count"""


@setting
class AttentionConfig:
    """Multi-head attention, Vaswani et al. 2017, section 3.2.2."""

    heads: Width = 8
    """h, how many queries look at once"""
    kv_heads: Width | None = None
    """key and value heads, each read by heads / kv_heads queries (Ainslie et al. 2023); unset: one for each head"""
    d_k: Width | None = None
    """width of a query and of a key; unset: d_model / heads"""
    d_v: Width | None = None
    """width of a value; unset: d_model / heads"""
    bias: bool = True
    """projections add a bias"""
    dropout: Probability = 0.0
    """share of attention weights dropped while training"""
