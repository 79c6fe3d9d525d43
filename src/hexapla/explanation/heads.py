"""Multi-head attention: section 3.2.2."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from hexapla.axes import Float, Tensor
from hexapla.blocks.attention import Attention, attend, split
from hexapla.blocks.initialise import initialise
from hexapla.config.attention import AttentionConfig
from hexapla.explanation.parts import Bilingual, Claim, Explanation, HeatMap, Table
from hexapla.explanation.topics import TITLES

D_MODEL, LENGTH, HEADS = 512, 32, 8
COUNTS = (1, 2, 4, 8, 16)

PARAGRAPH = Bilingual(
    "h heads of width d_model/h have as many weights, and take as many multiplications, as one head of full width: the same matrices, "
    "cut into h pieces. But each piece projects into d_k of the d_model dimensions of its own and softmaxes by itself. One head gives "
    "each token one mixture of what it reads; eight give eight, and W^O adds up what they found. Before any training two heads share "
    "only d_k/d_model of their directions, as random subspaces do, and so look at different places.",
    "h 个宽为 d_model/h 的头，参数个数和乘法次数都与一个全宽的头相同：同样的矩阵，切成 h 块而已。但每一块各自投影到 d_model 维中的 d_k "
    "维，各自做 softmax。一个头给每个词一种混合；八个头给八种，再由 W^O 把各自找到的加起来。训练之前，任意两个头只共享 d_k/d_model "
    "的方向，正如随机子空间那样，因此看的地方各不相同。",
)


def attention_of(heads: int) -> Attention:
    attention = Attention(D_MODEL, AttentionConfig(heads=heads))
    initialise(attention)
    return attention


def multiply_adds(attention: Attention, x: Float[Tensor, "B T D"]) -> int:
    """Of all its matrix products, as torch counts them while it runs. Weights are recorded so that it is written out."""
    attention.record = lambda weights: None
    with FlopCounterMode(display=False) as counter:
        attention(x)
    attention.record = None
    return counter.get_total_flops() // 2


def overlaps(attention: Attention) -> Float[Tensor, "H H"]:
    """Of the subspaces that heads' queries read: the mean squared cosine of their principal angles. 1: the same, 0: at right angles."""
    directions = torch.linalg.qr(attention.query.weight.unflatten(0, (attention.heads, -1)).mT)[0]  # (H D K)
    cosines = torch.einsum("hdi,gdj->hgij", directions, directions)
    return cosines.square().sum(dim=(2, 3)) / directions.shape[2]


def one_by_one(attention: Attention, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
    """Σ_i head_i W_i^O: each head alone through its own rows of W^O, then their sum."""
    q, k, v = (split(linear(x), attention.heads) for linear in (attention.query, attention.key, attention.value))
    outputs = attention.output.weight.unflatten(1, (attention.heads, -1)).unbind(1)  # H of (D W)
    each = [attend(q[:, [i]], k[:, [i]], v[:, [i]])[:, 0] @ outputs[i].T for i in range(attention.heads)]
    return torch.stack(each).sum(dim=0) + attention.output.bias


@torch.no_grad()
def heads() -> Explanation:
    x = torch.randn(1, LENGTH, D_MODEL)
    costs = []
    for count in COUNTS:
        attention = attention_of(count)
        costs.append((count, D_MODEL // count, sum(p.numel() for p in attention.parameters()), multiply_adds(attention, x)))
    attention, recorded = attention_of(HEADS), list[Tensor]()
    attention.record = recorded.append
    out = attention(x)
    shared, weights = overlaps(attention), recorded[0][0]
    apart = float(shared[~torch.eye(HEADS, dtype=torch.bool)].mean())
    differing = (weights[:, None] - weights[None]).abs().sum(dim=-1).mean(dim=-1) / 2
    names = (Bilingual("heads", "头数"), "d_k", Bilingual("parameters", "参数个数"), Bilingual("multiplications", "乘法次数"))
    numbers = tuple(str(i + 1) for i in range(HEADS))
    closed_form = 4 * LENGTH * D_MODEL**2 + 2 * LENGTH**2 * D_MODEL
    return Explanation(
        topic="heads",
        title=TITLES["heads"],
        section="3.2.2",
        code=("blocks/attention.py: Attention",),
        formula=("MultiHead(Q, K, V) = Concat(head₁ … head_h) W^O = Σ_i head_i W_i^O",),
        paragraph=PARAGRAPH,
        tables=(Table(names, tuple(costs)),),
        plots=(
            HeatMap(
                Bilingual("Share of directions that the queries of two heads have in common", "两个头的查询共有的方向之比例"),
                numbers,
                numbers,
                tuple(tuple(min(1.0, value) for value in row) for row in shared.tolist()),
            ),
        ),
        claims={
            "cost": Claim(
                Bilingual("multiplications, any h; 4 T d² + 2 T² d", "乘法次数，任意 h；4 T d² + 2 T² d"),
                float(max(cost[3] for cost in costs)),
                float(closed_form),
            ),
            "parameters": Claim(
                Bilingual("parameters at h = 16 over those at h = 1", "h = 16 与 h = 1 的参数之比"), costs[-1][2] / costs[0][2], 1.0
            ),
            "sum": Claim(
                Bilingual("furthest from Σ head_i W_i^O", "与 Σ head_i W_i^O 的最大差"),
                float((one_by_one(attention, x) - out).abs().max()),
                0.0,
                tolerance=1e-5,
            ),
            "subspaces": Claim(
                Bilingual("directions in common; d_k / d_model", "共有方向的比例；d_k / d_model"),
                apart,
                1 / HEADS,
                tolerance=0.01,
            ),
            "different": Claim(
                Bilingual("weight that two heads place elsewhere", "两个头放在不同位置的权重"),
                float(differing.sum() / (HEADS * (HEADS - 1))),
                0.05,
                "at_least",
            ),
        },
    )
