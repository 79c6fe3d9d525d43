"""The worked example of a causal mask: section 3.2.3."""

import torch

from hexapla.blocks.attention import attend
from hexapla.blocks.mask import CAUSAL, EVERYTHING, Mask
from hexapla.explanation.parts import Bilingual, Cell, Claim, Explanation, HeatMap, Table
from hexapla.explanation.topics import TITLES

SCORES = ((1.2, 0.8, 0.5, 0.3), (0.9, 1.5, 0.7, 0.4), (0.6, 0.9, 1.8, 0.6), (0.4, 0.7, 1.2, 2.0))
ROUNDED = ((1.0, 0.0, 0.0, 0.0), (0.354, 0.646, 0.0, 0.0), (0.176, 0.238, 0.586, 0.0), (0.105, 0.142, 0.234, 0.520))
"""the softmax of each row's visible scores, worked out to three digits"""

PARAGRAPH = Bilingual(
    "While training, the decoder is given the whole target at once, so a token must be kept from reading the answer behind it. Scores of "
    "later keys become −∞ before the softmax: their weights are exactly 0, and those of each row still sum to 1. Had the weights been "
    "set to zero after the softmax instead, the rows would sum to less than 1. Since nothing flows back from the future, changing the "
    "last token changes no earlier output at all, and a whole sentence is trained in one pass.",
    "训练时解码器一次读入整个目标句，所以必须防止一个词偷看它后面的答案。在 softmax 之前，后面各键的分数变成 −∞：它们的权重恰好是 0，"
    "而每一行的权重之和仍然是 1。如果改在 softmax 之后才把权重清零，各行之和就会小于 1。未来的信息一点也不会流回来，因此改动最后一个词，"
    "前面的输出丝毫不变，整个句子只需一次前向计算就能训练。",
)


def weights_of(scores: torch.Tensor, mask: Mask) -> torch.Tensor:
    """What `attend` makes of (T S) scores: with one-hot keys and values its scores are its queries, and its output the weights."""
    one_hot = torch.eye(scores.shape[1], dtype=scores.dtype)
    return attend(scores[None, None], one_hot[None, None], one_hot[None, None], mask, scale=1.0)[0, 0]


def masking() -> Explanation:
    scores = torch.tensor(SCORES, dtype=torch.float64)
    weights = weights_of(scores, CAUSAL)
    cut_after = weights_of(scores, EVERYTHING).tril().sum(dim=1)
    another = scores.clone()
    another[:, 3] += torch.randn(4, dtype=torch.float64)
    moved = (weights_of(another, CAUSAL) - weights)[:3].abs().max()
    rows: list[tuple[Cell, ...]] = [
        (f"{t + 1}", *(f"{SCORES[t][s]:.1f}" if s <= t else "−∞" for s in range(4)), *weights[t].tolist(), float(cut_after[t]))
        for t in range(4)
    ]
    heads = ("t", *(f"s{s + 1}" for s in range(4)), *(f"w{s + 1}" for s in range(4)), Bilingual("sum if cut after", "事后清零之和"))
    numbers = tuple(str(s + 1) for s in range(4))
    return Explanation(
        topic="masking",
        title=TITLES["masking"],
        section="3.2.3",
        code=("blocks/mask.py: Mask", "blocks/attention.py: weigh"),
        formula=(
            Bilingual(
                "w = softmax(s + m),   m[t, s] = 0 where s ≤ t, −∞ where s > t",
                "w = softmax(s + m)，  m[t, s]：s ≤ t 时为 0，s > t 时为 −∞",
            ),
        ),
        paragraph=PARAGRAPH,
        tables=(Table(heads, tuple(rows), form=".3f"),),
        plots=(
            HeatMap(
                Bilingual("Weights: which token (row) reads which (column)", "权重：哪个词（行）读哪个词（列）"),
                numbers,
                numbers,
                tuple(tuple(row) for row in weights.tolist()),
            ),
        ),
        claims={
            "rows": Claim(
                Bilingual("furthest from 1 | .354 .646 | .176 .238 .586 | …", "与 1 | .354 .646 | .176 .238 .586 | … 的最大差"),
                float((weights - torch.tensor(ROUNDED, dtype=torch.float64)).abs().max()),
                0.0,
                tolerance=0.0005,
            ),
            "sums": Claim(
                Bilingual("furthest of a row's sum from 1", "各行之和与 1 的最大差"),
                float((weights.sum(dim=1) - 1).abs().max()),
                0.0,
                tolerance=1e-12,
            ),
            "future": Claim(Bilingual("sum of all weights above the diagonal", "对角线以上权重之和"), float(weights.triu(1).sum()), 0.0),
            "last_token": Claim(Bilingual("change of rows 1 to 3 by another token 4", "换掉第 4 个词后前 3 行的变化"), float(moved), 0.0),
        },
    )
