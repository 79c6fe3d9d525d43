"""Why scores are divided by √d_k: section 3.2.1 and its footnote 4."""

from dataclasses import dataclass

import torch

from hexapla.axes import Float, Tensor
from hexapla.blocks.attention import attend, weigh
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

WIDTHS = (1, 4, 16, 64, 256, 1024)
QUERIES, KEYS = 512, 16

PARAGRAPH = Bilingual(
    "Take queries and keys whose numbers have mean 0 and variance 1. Their dot product adds d_k products of variance 1 each, so its "
    "variance is d_k. With wide vectors some score stands far above the rest, the softmax gives it nearly all the weight, and the "
    "gradient that passes through the softmax vanishes: nothing is learned any more about where to look. Divided by √d_k, scores have "
    "variance 1 at every width, and weights and gradients stay as they are.",
    "设查询和键的每个分量均值为 0、方差为 1。点积是 d_k 个方差为 1 的乘积之和，所以它的方差是 d_k。向量一宽，总有一个分数远远高出其余，"
    "softmax 几乎把全部权重都给了它，而能穿过 softmax 的梯度趋于消失：模型再也学不到该看哪里。除以 √d_k 之后，无论多宽，分数的方差都是 "
    "1，权重和梯度也就保持不变。",
)


@dataclass(frozen=True)
class Saturation:
    """Of many queries, each with the same number of keys to choose from."""

    variance: float
    """of the scores"""
    largest: float
    """weight of a query, in the mean"""
    gradient: float
    """norm of what reaches the scores, where what arrives at each weight has variance 1; root mean square over the queries"""


def saturation(q: Float[Tensor, "B 1 1 K"], k: Float[Tensor, "B 1 S K"], arriving: Float[Tensor, "B S"], scale: float | None) -> Saturation:
    """`scale` as `attend` has it. The weights are those that `attend` records; `arriving` is the gradient at them."""
    recorded: list[Tensor] = []
    attend(q, k, k, scale=scale, record=recorded.append)
    weights = recorded[0].flatten(0, 2)
    scores = ((q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.mT).flatten(0, 2).requires_grad_()
    weigh(scores, None).backward(arriving)
    assert scores.grad is not None
    gradient = scores.grad.square().sum(dim=1).mean().sqrt()
    return Saturation(float(scores.detach().var()), float(weights.amax(dim=1).mean()), float(gradient))


def scaling() -> Explanation:
    plain, scaled = [], []
    for d_k in WIDTHS:
        q, k = torch.randn(QUERIES, 1, 1, d_k), torch.randn(QUERIES, 1, KEYS, d_k)
        arriving = torch.randn(QUERIES, KEYS)
        plain.append(saturation(q, k, arriving, 1.0))
        scaled.append(saturation(q, k, arriving, None))
    heads = (
        "d_k",
        Bilingual("variance of q·k", "q·k 的方差"),
        Bilingual("… / √d_k", "除以 √d_k 后"),
        Bilingual("top weight", "最大权重"),
        Bilingual("… / √d_k", "除以 √d_k 后"),
        Bilingual("gradient", "梯度"),
        Bilingual("… / √d_k", "除以 √d_k 后"),
    )
    rows = tuple(
        (d_k, one.variance, other.variance, one.largest, other.largest, one.gradient, other.gradient)
        for d_k, one, other in zip(WIDTHS, plain, scaled, strict=True)
    )
    x = tuple(float(d_k) for d_k in WIDTHS)
    return Explanation(
        topic="scaling",
        title=TITLES["scaling"],
        section="3.2.1, eq. (1), footnote 4",
        code=("blocks/attention.py: attend",),
        formula=("Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V,   Var(q·k) = Σ Var(q_i k_i) = d_k",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows),),
        plots=(
            Curves(
                Bilingual("Gradient that passes through the softmax", "能穿过 softmax 的梯度"),
                "d_k",
                (
                    Line(Bilingual("divided by √d_k", "除以 √d_k"), x, tuple(each.gradient for each in scaled)),
                    Line(Bilingual("not divided", "不除"), x, tuple(each.gradient for each in plain)),
                ),
                log_x=True,
            ),
        ),
        claims=claims(plain, scaled),
    )


def claims(plain: list[Saturation], scaled: list[Saturation]) -> dict[str, Claim]:
    return {
        "variance": Claim(
            Bilingual(f"variance of q·k over d_k, d_k = {WIDTHS[-1]}", f"q·k 的方差与 d_k 之比（d_k = {WIDTHS[-1]}）"),
            plain[-1].variance / WIDTHS[-1],
            1.0,
            tolerance=0.1,
        ),
        "scaled_variance": Claim(Bilingual("the same, divided by √d_k", "除以 √d_k 后的方差"), scaled[-1].variance, 1.0, tolerance=0.1),
        "gradient_kept": Claim(
            Bilingual("gradient at d_k = 1024 over that at 64, divided", "除以 √d_k：d_k 为 1024 与 64 时梯度之比"),
            scaled[-1].gradient / scaled[WIDTHS.index(64)].gradient,
            1.0,
            tolerance=0.15,
        ),
        "gradient_lost": Claim(
            Bilingual("gradient at 1024, not divided over divided", "d_k = 1024：不除与除之梯度比"),
            plain[-1].gradient / scaled[-1].gradient,
            0.6,
            "at_most",
        ),
    }
