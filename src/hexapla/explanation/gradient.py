"""The backward pass of attention, written out: section 3.2.1 differentiated."""

from dataclasses import dataclass

import torch

from hexapla.axes import Float, Tensor
from hexapla.blocks.attention import attend
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

LENGTH = WIDTH = 8
"""alike, so that the factors of W^Q's gradient could be multiplied in the wrong order without an error of shapes"""
STEPS = tuple(10.0**-power for power in range(10, 0, -1))

PARAGRAPH = Bilingual(
    "Going back through O = A V, A = softmax(S), S = Q Kᵀ/√d_k and Q = X W^Q needs four products and one formula for the softmax: dS = A "
    "∘ (dA − Σ_s A dA). A row of dS sums to 0, for a softmax does not see what is added to all its scores. All agree with autograd to "
    "rounding, and with a third witness that knows no calculus: the quotient of differences, whose error falls with the square of the "
    "step until rounding outweighs it. With the factors of XᵀdQ swapped the result is another one.",
    "沿 O = A V、A = softmax(S)、S = Q Kᵀ/√d_k、Q = X W^Q 逐层往回求导，只要四个矩阵乘积和 softmax 的一个公式：dS = A ∘ (dA − Σ_s A dA)。"
    "dS 每行之和为 0，因为给所有分数加上同一个数，softmax 的结果不变。手算结果与自动求导只差舍入误差，还有第三个不懂微积分的证人——差商："
    "它的误差随步长的平方下降，直到舍入误差占了上风。如果把 XᵀdQ 的两个因子写反，得到的就是另一个结果。",
)


@dataclass(frozen=True)
class Gradients:
    """Of Σ dO ∘ O by each of what it was computed from: one head, one sentence."""

    values: Float[Tensor, "S W"]
    weights: Float[Tensor, "T S"]
    scores: Float[Tensor, "T S"]
    queries: Float[Tensor, "T K"]
    keys: Float[Tensor, "S K"]
    query_projection: Float[Tensor, "D K"]


def backward(
    x: Float[Tensor, "T D"], projection: Float[Tensor, "D K"], k: Float[Tensor, "S K"], v: Float[Tensor, "S W"], d_out: Float[Tensor, "T W"]
) -> Gradients:
    """By hand, with matrix products alone; Q = x · projection, and `d_out` is the gradient by the output."""
    scale = k.shape[1] ** -0.5
    weights = (x @ projection @ k.T * scale).exp()
    weights = weights / weights.sum(dim=1, keepdim=True)
    d_weights = d_out @ v.T
    d_scores = weights * (d_weights - (weights * d_weights).sum(dim=1, keepdim=True))
    d_queries = d_scores @ k * scale
    return Gradients(
        values=weights.T @ d_out,
        weights=d_weights,
        scores=d_scores,
        queries=d_queries,
        keys=d_scores.T @ (x @ projection) * scale,
        query_projection=x.T @ d_queries,
    )


def gradient() -> Explanation:
    x, projection, k, v, d_out = (torch.randn(LENGTH, WIDTH, dtype=torch.float64) for _ in range(5))
    leaves = [part.clone().requires_grad_() for part in (projection, k, v)]

    def out(projection: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (attend((x @ projection)[None, None], k[None, None], v[None, None])[0, 0] * d_out).sum()

    by_autograd = torch.autograd.grad(out(*leaves), leaves)
    hand = backward(x, projection, k, v, d_out)
    by_hand = (hand.query_projection, hand.keys, hand.values)
    furthest = [float((one - other).abs().max()) for one, other in zip(by_hand, by_autograd, strict=True)]
    direction = torch.randn_like(projection)
    true_slope = float((hand.query_projection * direction).sum())
    errors = []
    for step in STEPS:
        ahead, behind = out(projection + step * direction, k, v), out(projection - step * direction, k, v)
        errors.append(max(abs(float(ahead - behind) / (2 * step) - true_slope) / abs(true_slope), torch.finfo(torch.float64).eps))
    swapped = (hand.queries.T @ x - by_autograd[0]).norm() / by_autograd[0].norm()
    names, formulas = ("dW^Q", "dK", "dV"), ("Xᵀ dQ,  dQ = dS K / √d_k", "dSᵀ Q / √d_k", "Aᵀ dO")
    heads = (
        Bilingual("gradient", "梯度"),
        Bilingual("by hand", "手算公式"),
        Bilingual("norm", "范数"),
        Bilingual("norm, autograd", "自动求导的范数"),
        Bilingual("furthest apart", "最大差"),
    )
    rows = tuple(
        (name, formula, float(one.norm()), float(other.norm()), apart)
        for name, formula, one, other, apart in zip(names, formulas, by_hand, by_autograd, furthest, strict=True)
    )
    return Explanation(
        topic="gradient",
        title=TITLES["gradient"],
        section="3.2.1, eq. (1)",
        code=("blocks/attention.py: attend", "explanation/gradient.py: backward"),
        formula=("dV = Aᵀ dO,  dA = dO Vᵀ,  dS = A ∘ (dA − Σ_s A dA),  dW^Q = Xᵀ dS K / √d_k",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows, words=2),),
        plots=(
            Curves(
                Bilingual("Relative error of the quotient of differences, by its step", "差商的相对误差与步长"),
                Bilingual("step", "步长"),
                (Line(Bilingual("error", "误差"), STEPS, tuple(errors)),),
                log_x=True,
                log_y=True,
            ),
        ),
        claims=claims(furthest, errors, hand, swapped),
    )


def claims(furthest: list[float], errors: list[float], hand: Gradients, swapped: Tensor) -> dict[str, Claim]:
    return {
        "autograd": Claim(
            Bilingual("furthest of any gradient from autograd's", "手算与自动求导的最大差"), max(furthest), 0.0, tolerance=1e-12
        ),
        "differences": Claim(Bilingual("least error of the quotient of differences", "差商的最小相对误差"), min(errors), 1e-8, "at_most"),
        "row_sums": Claim(
            Bilingual("furthest of a row of dS from sum 0", "dS 各行之和与 0 的最大差"),
            float(hand.scores.sum(dim=1).abs().max()),
            0.0,
            tolerance=1e-12,
        ),
        "swapped": Claim(
            Bilingual("relative error with factors swapped, dQᵀX", "因子写反（dQᵀX）的相对误差"), float(swapped), 0.1, "at_least"
        ),
    }
