"""The other parts of a layer by loops over numbers, each from its paper."""

import math

import numpy as np


def sinusoid(position, column, d_model):
    """Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same)."""
    i, odd = divmod(column, 2)
    angle = position / 10000 ** (2 * i / d_model)
    return math.cos(angle) if odd else math.sin(angle)


def layer_norm(x, gain, bias, epsilon):
    """Ba et al. 2016, eq. (4), for one vector; the variance is that of the d numbers, not an estimate from them."""
    mean = sum(x) / len(x)
    variance = sum((each - mean) ** 2 for each in x) / len(x)
    return np.array([(each - mean) / math.sqrt(variance + epsilon) * g + b for each, g, b in zip(x, gain, bias, strict=True)])


def rms_norm(x, gain, epsilon):
    """Zhang and Sennrich 2019, eq. (4), for one vector."""
    root = math.sqrt(sum(each**2 for each in x) / len(x) + epsilon)
    return np.array([each / root * g for each, g in zip(x, gain, strict=True)])


def activation(name, x):
    """relu; gelu of Hendrycks and Gimpel 2016, x Φ(x); silu of Elfwing et al. 2018, x σ(x)."""
    match name:
        case "relu":
            return max(0.0, x)
        case "gelu":
            return x * (1 + math.erf(x / math.sqrt(2))) / 2
        case "silu":
            return x / (1 + math.exp(-x))
    raise AssertionError(name)


def feed_forward(x, w_1, b_1, w_2, b_2, *, name="relu", gate=None):
    """Eq. (2) for one vector, max(0, x W₁ + b₁) W₂ + b₂; a `gate` (V, c) makes it (f(x W₁ + b₁) ⊙ (x V + c)) W₂ + b₂, Shazeer 2020."""
    inner = [activation(name, each) for each in x @ w_1 + b_1]
    if gate is not None:
        inner = [each * g for each, g in zip(inner, x @ gate[0] + gate[1], strict=True)]
    return np.array(inner) @ w_2 + b_2
