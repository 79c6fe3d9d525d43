"""What an attention is: its heads and their widths."""

from hexapla.config.setting import Count, Probability, setting


@setting
class AttentionConfig:
    """Multi-head attention, Vaswani et al. 2017, section 3.2.2."""

    heads: Count = 8
    """h, how many queries look at once"""
    kv_heads: Count | None = None
    """key and value heads, each read by heads / kv_heads queries (Ainslie et al. 2023); unset: one for each head"""
    d_k: Count | None = None
    """width of a query and of a key; unset: d_model / heads"""
    d_v: Count | None = None
    """width of a value; unset: d_model / heads"""
    bias: bool = True
    """projections add a bias"""
    dropout: Probability = 0.0
    """share of attention weights dropped while training"""
