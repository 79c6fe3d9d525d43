"""The position-wise feed-forward network: section 3.3."""

import torch
from torch import nn
from torch.nn import functional as F

from hexapla.axes import Float, Tensor
from hexapla.blocks.attention import Attention
from hexapla.blocks.feed_forward import FeedForward
from hexapla.config.attention import AttentionConfig
from hexapla.config.stack import FeedForwardConfig
from hexapla.explanation.parts import Bars, Bilingual, Claim, Explanation, Table
from hexapla.explanation.topics import TITLES

D_MODEL, D_FF, LENGTH = 512, 2048, 6
CHANGED = 2

PARAGRAPH = Bilingual(
    "After attention has gathered from other positions, the feed-forward network works on each position alone, with the same weights "
    "everywhere: widen to d_ff, cut what is negative, narrow again. That is what a convolution of kernel size 1 does, so two of them "
    "with the same weights give the same numbers. Change one position's input and no other output moves. It holds two thirds of an "
    "encoder layer's weights, and at its start about half of its inner units are at work for a position.",
    "注意力从别的位置取来信息之后，前馈网络在每个位置上单独计算，各处用同一组权重：展宽到 d_ff，负数清零，再收窄。这正是核大小为 1 "
    "的卷积，所以用同样的权重做两次卷积，得到同样的数。改动一个位置的输入，别处的输出都不变。编码器每层三分之二的权重都在这里；"
    "刚初始化时，每个位置大约有一半的内部单元在起作用。",
)


def by_convolution(network: FeedForward, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """The same weights as kernels of size 1, over positions."""
    inner = F.conv1d(x.mT, network.inner.weight[:, :, None], network.inner.bias)
    return F.conv1d(inner.relu(), network.outer.weight[:, :, None], network.outer.bias).mT


def by_position(network: FeedForward, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """max(0, x W₁ + b₁) W₂ + b₂ for one position after the other."""
    w1, b1, w2, b2 = network.inner.weight, network.inner.bias, network.outer.weight, network.outer.bias
    return torch.stack([(w2 @ (w1 @ row + b1).clamp(min=0) + b2) for row in x[0]])[None]


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@torch.no_grad()
def feedforward() -> Explanation:
    network = FeedForward(D_MODEL, FeedForwardConfig(d_ff=D_FF)).double()
    attention = Attention(D_MODEL, AttentionConfig(heads=8))
    x = torch.randn(1, LENGTH, D_MODEL, dtype=torch.float64)
    out = network(x)
    another = x.clone()
    another[0, CHANGED] += torch.randn(D_MODEL, dtype=torch.float64)
    moved = (network(another) - out).norm(dim=-1)[0]
    elsewhere = float(moved[torch.arange(LENGTH) != CHANGED].max())
    at_work = float((network.inner(x) > 0).double().mean())
    apart = [float((form(network, x) - out).abs().max()) for form in (by_convolution, by_position)]
    share = count(network) / (count(network) + count(attention))
    closed_form = 2 * D_MODEL * D_FF + D_FF + D_MODEL
    heads = (
        Bilingual("the same function as", "同一个函数"),
        Bilingual("weights", "权重"),
        Bilingual("furthest apart", "最大差"),
    )
    rows = (
        (Bilingual("two matrix products", "两次矩阵乘法"), f"{D_MODEL} × {D_FF}, {D_FF} × {D_MODEL}", 0.0),
        (Bilingual("two convolutions, kernel size 1", "两次核大小为 1 的卷积"), f"{D_MODEL} × {D_FF} × 1, …", apart[0]),
        (Bilingual("a loop over positions", "逐个位置循环"), f"{D_MODEL} × {D_FF}, …", apart[1]),
    )
    return Explanation(
        topic="feedforward",
        title=TITLES["feedforward"],
        section="3.3, eq. (2)",
        code=("blocks/feed_forward.py: FeedForward",),
        formula=("FFN(x) = max(0, x W₁ + b₁) W₂ + b₂",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows, words=2),),
        plots=(
            Bars(
                Bilingual("Change of each output when the input of position 3 changes", "改动位置 3 的输入时各位置输出的变化"),
                tuple(Bilingual(f"position {t + 1}", f"位置 {t + 1}") for t in range(LENGTH)),
                tuple(moved.tolist()),
            ),
        ),
        claims={
            "convolution": Claim(
                Bilingual("furthest of two 1×1 convolutions from it", "与两个 1×1 卷积的最大差"), apart[0], 0.0, tolerance=1e-12
            ),
            "elsewhere": Claim(Bilingual("largest change at another position", "其余位置的最大变化"), elsewhere, 0.0, tolerance=1e-12),
            "parameters": Claim(
                Bilingual("parameters; 2 d d_ff + d_ff + d", "参数个数；2 d d_ff + d_ff + d"),
                float(count(network)),
                float(closed_form),
            ),
            "share": Claim(
                Bilingual("its share of it and attention; 2/3", "占前馈与注意力总参数的比例；2/3"), share, 2 / 3, tolerance=0.001
            ),
            "at_work": Claim(Bilingual("share of inner units above 0", "内部单元大于 0 的比例"), at_work, 0.5, tolerance=0.05),
        },
    )
