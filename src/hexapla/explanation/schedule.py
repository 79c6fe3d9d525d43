"""The learning rate of section 5.3."""

from hexapla.config.training import Paper
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES
from hexapla.training.schedule import learning_rate

D_MODEL, WARMUP, STEPS = 512, 4000, 100_000
SHOWN = (1, 1000, 2000, 4000, 8000, 16_000, 100_000)
SETTINGS = ((512, 4000), (1024, 4000), (512, 8000))

PARAGRAPH = Bilingual(
    "Adam's first estimates of how large gradients are rest on few batches, and a post-norm stack has large gradients at its start, so "
    "the rate begins near 0 and rises in a straight line for warmup updates. From then on it falls with 1/√step. The two branches of the "
    "minimum meet at step = warmup, where the rate is highest: 1/√(d_model · warmup). A wider model gets a lower rate, a longer warm-up "
    "a lower peak. Four times the warm-up's steps after the start, the rate is half the peak.",
    "Adam 对梯度大小的最初估计只来自少数几批数据，而 post-norm 的网络一开始梯度又大，所以学习率从接近 0 开始，在 warmup 步之内直线上升，"
    "之后按 1/√step 下降。min 的两支在 step = warmup 处相交，那里学习率最高：1/√(d_model · warmup)。模型越宽，学习率越低；预热越长，"
    "峰值越低。到 4 倍预热步数时，学习率降到峰值的一半。",
)


def rate(step: int, d_model: int = D_MODEL, warmup: int = WARMUP) -> float:
    return learning_rate(Paper(warmup=warmup), step, d_model=d_model, steps=STEPS)


def schedule() -> Explanation:
    rates = [rate(step) for step in range(1, STEPS + 1)]
    peak = max(rates)
    heads = (Bilingual("step", "步"), *(f"d={d_model} w={warmup}" for d_model, warmup in SETTINGS))
    rows = tuple((step, *(rate(step, *setting) for setting in SETTINGS)) for step in SHOWN)
    steps = range(1, 40_001, 200)
    lines = [
        Line(
            Bilingual(f"d_model {d_model}, warmup {warmup}", f"d_model {d_model}，预热 {warmup}"),
            tuple(float(step) for step in steps),
            tuple(rate(step, d_model, warmup) for step in steps),
        )
        for d_model, warmup in SETTINGS
    ]
    return Explanation(
        topic="schedule",
        title=TITLES["schedule"],
        section="5.3, eq. (3)",
        code=("training/schedule.py: learning_rate",),
        formula=("lrate = d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows, form=".2e"),),
        plots=(Curves(Bilingual("Learning rate", "学习率"), Bilingual("step", "步"), tuple(lines)),),
        claims={
            "peak_step": Claim(
                Bilingual("step of the highest rate; warmup", "学习率最高的一步；预热步数"), rates.index(peak) + 1.0, float(WARMUP)
            ),
            "peak": Claim(
                Bilingual("highest rate; 1/√(d_model · warmup)", "最高学习率；1/√(d_model · warmup)"),
                peak,
                (D_MODEL * WARMUP) ** -0.5,
                tolerance=1e-15,
            ),
            "rise": Claim(
                Bilingual("rate at half the warm-up over the peak", "预热一半时与峰值之比"), rate(WARMUP // 2) / peak, 0.5, tolerance=1e-12
            ),
            "fall": Claim(
                Bilingual("rate at 4 × warmup over the peak", "4 倍预热步数时与峰值之比"), rate(4 * WARMUP) / peak, 0.5, tolerance=1e-12
            ),
        },
    )
