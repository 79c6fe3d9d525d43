"""Label smoothing: section 5.4."""

import math
from collections.abc import Sequence

import torch

from hexapla.axes import Float, Tensor
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES
from hexapla.objectives.loss import Loss, smoothed_cross_entropy

VOCAB, GOLD = 1000, 7
SHARES = (0.0, 0.05, 0.1, 0.2)
NOBODY = VOCAB
"""an id for padding, which no gold token here is"""

PARAGRAPH = Bilingual(
    "The model is not asked to be certain: of each target, ε is spread evenly over the vocabulary, and the loss is the cross-entropy to "
    "that distribution q. No model can bring it below the entropy of q, and it is there exactly when it predicts q itself: the gold "
    "token's logit then stands ln(q_gold/q_other) above the others, where plain cross-entropy pulls it up for ever. More certainty than "
    "q costs: the curves turn up at the right. So perplexity must get worse; the paper found accuracy and BLEU the better for it.",
    "模型不必做到百分之百确定：每个目标有 ε 的概率平摊到整个词表，损失就是对这个分布 q 的交叉熵。任何模型都不能让损失低于 q 的熵，"
    "恰好预测出 q 时才达到它：这时正确词的 logit 比其余的高 ln(q正/q余)，而普通交叉熵会把它无休止地往上推。比 q 更确定反而要受罚："
    "曲线在右端翘起。所以困惑度必然变差；论文发现，准确率和 BLEU 却因此变好。",
)


def smoothed(vocab: int, smoothing: float) -> tuple[float, float]:
    """q of the gold token, and of each other one."""
    return 1 - smoothing + smoothing / vocab, smoothing / vocab


def entropy(vocab: int, smoothing: float) -> float:
    """Of q, in nats: -Σ q ln q."""
    gold, other = smoothed(vocab, smoothing)
    return -gold * math.log(gold) - ((vocab - 1) * other * math.log(other) if other else 0.0)


def loss_of(logits: Float[Tensor, " V"], smoothing: float) -> Loss:
    """Of one target, by the loss that training uses: it projects, so the logits are given as a projection of the number 1."""
    one = torch.ones(1, 1, dtype=logits.dtype)
    return smoothed_cross_entropy(one, logits[:, None], None, torch.tensor([GOLD]), smoothing=smoothing, pad=NOBODY)


def with_gold(probability: float) -> Float[Tensor, " V"]:
    """Logits that give the gold token this probability, and the others what remains, evenly."""
    logits = torch.full((VOCAB,), math.log((1 - probability) / (VOCAB - 1)))
    logits[GOLD] = math.log(probability)
    return logits


def lowest(smoothing: float) -> Float[Tensor, " V"]:
    """Logits at which the loss is lowest, found by descending from where all are equal."""
    logits = torch.zeros(VOCAB, requires_grad=True)
    descent = torch.optim.LBFGS([logits], max_iter=200, tolerance_grad=1e-9, tolerance_change=0.0, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        descent.zero_grad()
        total = loss_of(logits, smoothing).total
        total.backward()
        return total

    descent.step(closure)
    return logits.detach()


def curve(smoothing: float, probabilities: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(loss_of(with_gold(p), smoothing).total) for p in probabilities)


def smoothing() -> Explanation:
    found = {share: lowest(share) for share in SHARES if share}
    rows, gaps = [], {}
    for share in SHARES:
        gold, other = smoothed(VOCAB, share)
        if share:
            logits = found[share]
            least, others = float(loss_of(logits, share).total), logits[torch.arange(VOCAB) != GOLD]
            gaps[share] = float(logits[GOLD] - others.mean())
            rows.append((f"{share:g}", gold, other, entropy(VOCAB, share), least, math.log(gold / other), gaps[share], 1 / gold))
        else:
            rows.append((f"{share:g}", gold, other, 0.0, "→ 0", "∞", "→ ∞", 1.0))
    heads = (
        "ε",
        Bilingual("q gold", "q 正"),
        Bilingual("q other", "q 余"),
        Bilingual("entropy", "熵"),
        Bilingual("least loss", "最低损失"),
        Bilingual("ln ratio", "ln(q正/q余)"),
        Bilingual("logit gap", "logit 差"),
        Bilingual("perplexity", "困惑度"),
    )
    probabilities = tuple(1 - 10 ** (-i / 20) for i in range(6, 81))
    certainty = tuple(1 / (1 - p) for p in probabilities)
    return Explanation(
        topic="smoothing",
        title=TITLES["smoothing"],
        section="5.4; Szegedy et al. 2016, section 7",
        code=("objectives/loss.py: smoothed_cross_entropy",),
        formula=("L = −Σ_v q(v) ln p(v)  ≥  −Σ_v q(v) ln q(v),   q(v) = (1 − ε) [v = gold] + ε/V",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, tuple(rows)),),
        plots=(
            Curves(
                Bilingual("Loss by how certain the model is of the gold token", "损失与模型对正确词的把握"),
                "1 / (1 − p)",
                tuple(Line(Bilingual(f"ε = {share}", f"ε = {share}"), certainty, curve(share, probabilities)) for share in (0.2, 0.1, 0.0)),
                log_x=True,
            ),
        ),
        claims=claims(found[0.1], gaps[0.1], 0.1),
    )


def claims(found: Float[Tensor, " V"], gap: float, share: float) -> dict[str, Claim]:
    """Of the logits at which the loss was lowest, and how far the gold token's stood above the others there."""
    gold, other = smoothed(VOCAB, share)
    at_q = with_gold(gold).requires_grad_()
    total = loss_of(at_q, share).total
    (slope,) = torch.autograd.grad(total, at_q)
    return {
        "lowest": Claim(
            Bilingual(f"lowest loss found, ε = {share}; entropy of q", f"找到的最低损失（ε = {share}）；q 的熵"),
            float(loss_of(found, share).total),
            entropy(VOCAB, share),
            tolerance=1e-4,
        ),
        "at_q": Claim(
            Bilingual("loss where the model predicts q", "模型恰好预测 q 时的损失"),
            float(total.detach()),
            entropy(VOCAB, share),
            tolerance=1e-5,
        ),
        "flat": Claim(
            Bilingual("largest gradient by a logit there", "那里对 logit 的最大梯度"), float(slope.abs().max()), 0.0, tolerance=1e-6
        ),
        "gap": Claim(
            Bilingual("logit gap found; ln(q_gold / q_other)", "找到的 logit 差；ln(q正/q余)"),
            gap,
            math.log(gold / other),
            tolerance=0.05,
        ),
    }
