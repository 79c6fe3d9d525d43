"""Post-norm, the paper's, against pre-norm: section 3.1, and Xiong et al. 2020."""

from dataclasses import dataclass
from typing import Literal, cast

import torch

from hexapla.axes import Hidden
from hexapla.blocks.layer import EncoderLayer
from hexapla.blocks.stack import Encoder
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.residual import D_MODEL, LENGTH, encoder
from hexapla.explanation.topics import TITLES

DEPTHS = (6, 12, 24)
NormPosition = Literal["post", "pre"]

PARAGRAPH = Bilingual(
    "Post-norm, the paper's, normalises each sum: every layer puts out vectors of squared length d_model, and the last layers' weights "
    "get gradients as large in 24 layers as in 6. Large steps there upset a stack that has learned nothing yet: hence, say Xiong et al., "
    "the warm-up. Pre-norm normalises what a sublayer reads and leaves the sum alone; so the sum grows with depth, one sublayer more "
    "matters less, and the last layers' gradients shrink as stacks deepen. One more norm ends it. One article calls the paper's form "
    "“pre-activation”: it is not.",
    "论文用的 post-norm 对每次相加的结果归一化：每层输出向量的长度平方都是 d_model，末层权重的梯度在 24 层时与 6 层时一样大。"
    "网络还什么都没学到时，在那里迈大步就会出乱子：Xiong 等人认为这就是需要预热的原因。pre-norm 只归一化子层读入的内容，相加的结果不动；"
    "于是它随深度增长，多一个子层影响更小，层数越多，末层的梯度越小。最后再加一次归一化。有文章把论文的形式叫作“预激活”，其实不是。",
)


@dataclass(frozen=True)
class Depth:
    """A stack as it was initialised, and one backward pass."""

    gradients: list[float]
    """norm of that of each layer's outer feed-forward matrix, first layer first"""
    lengths: list[float]
    """squared length of a position's vector behind each layer, in the mean"""


def measured(stack: Encoder, x: Hidden, g: Hidden) -> Depth:
    """`g` is the gradient by the stack's output."""
    y, lengths = x, []
    layers = [cast(EncoderLayer, layer) for layer in stack.layers]
    for layer in layers:
        y = layer(y)
        lengths.append(float(y.detach().square().sum(dim=-1).mean()))
    matrices = [layer.feed_forward.outer.weight for layer in layers]
    found = torch.autograd.grad(stack.norm(y), matrices, g)
    return Depth([float(each.norm()) for each in found], lengths)


def both(depth: int, x: Hidden, g: Hidden, seed: int) -> dict[NormPosition, Depth]:
    """With the same weights."""
    positions: tuple[NormPosition, ...] = ("post", "pre")
    made = {}
    for position in positions:
        torch.manual_seed(seed)
        made[position] = measured(encoder(position, depth), x, g)
    return made


def normalisation() -> Explanation:
    seed = int(torch.randint(2**31, ()))
    x, g = torch.randn(2, 8, LENGTH, D_MODEL)
    found = {depth: both(depth, x, g / g.norm(), seed) for depth in DEPTHS}
    heads = (
        Bilingual("layers", "层数"),
        Bilingual("post: first", "post：首层"),
        Bilingual("last", "末层"),
        "‖y‖²",
        Bilingual("pre: first", "pre：首层"),
        Bilingual("last", "末层"),
        "‖y‖²",
    )
    rows = tuple(
        (depth, post.gradients[0], post.gradients[-1], post.lengths[-1], pre.gradients[0], pre.gradients[-1], pre.lengths[-1])
        for depth, (post, pre) in ((depth, (each["post"], each["pre"])) for depth, each in found.items())
    )
    shallow, deep = found[DEPTHS[0]], found[DEPTHS[-1]]
    layer = tuple(float(number + 1) for number in range(DEPTHS[-1]))
    return Explanation(
        topic="normalisation",
        title=TITLES["normalisation"],
        section="3.1; Xiong et al. 2020",
        code=("blocks/residual.py: Residual", "blocks/norm.py: norm"),
        formula=("post-norm: y = LayerNorm(x + f(x))      pre-norm: y = x + f(LayerNorm(x))",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows),),
        plots=(
            Curves(
                Bilingual("Gradient of each layer's W₂, 24 layers", "各层 W₂ 的梯度，共 24 层"),
                Bilingual("layer", "层"),
                (
                    Line("post-norm", layer, tuple(deep["post"].gradients)),
                    Line("pre-norm", layer, tuple(deep["pre"].gradients)),
                ),
                log_y=True,
            ),
        ),
        claims=claims(deep, shallow),
    )


def claims(deep: dict[NormPosition, Depth], shallow: dict[NormPosition, Depth]) -> dict[str, Claim]:
    return {
        "length": Claim(
            Bilingual("post-norm: ‖y‖² behind the last layer; d_model", "post-norm：末层之后的 ‖y‖²；d_model"),
            deep["post"].lengths[-1],
            float(D_MODEL),
            tolerance=0.01,
        ),
        "growth": Claim(
            Bilingual("pre-norm: the same, 24 layers over 6", "pre-norm：24 层与 6 层的 ‖y‖² 之比"),
            deep["pre"].lengths[-1] / shallow["pre"].lengths[-1],
            1.5,
            "at_least",
        ),
        "post_last": Claim(
            Bilingual("post-norm: last layer's gradient, 24 over 6", "post-norm：末层梯度，24 层比 6 层"),
            deep["post"].gradients[-1] / shallow["post"].gradients[-1],
            1.0,
            tolerance=0.25,
        ),
        "pre_last": Claim(
            Bilingual("pre-norm: last layer's gradient, 24 over 6", "pre-norm：末层梯度，24 层比 6 层"),
            deep["pre"].gradients[-1] / shallow["pre"].gradients[-1],
            0.8,
            "at_most",
        ),
    }
