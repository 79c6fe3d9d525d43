"""Normalisation of each position's vector."""

from torch import nn

from hexapla.config.stack import StackConfig


def norm(d_model: int, config: StackConfig) -> nn.LayerNorm | nn.RMSNorm:
    """LayerNorm (Ba et al. 2016), or RMSNorm (Zhang and Sennrich 2019), which leaves the mean and the bias out."""
    return {"layer": nn.LayerNorm, "rms": nn.RMSNorm}[config.norm](d_model, eps=config.norm_epsilon)
