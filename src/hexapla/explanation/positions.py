"""Sinusoidal positions: section 3.5."""

import math

import torch

from hexapla.axes import Float, Tensor
from hexapla.blocks.initialise import initialise
from hexapla.blocks.positions import sinusoids
from hexapla.blocks.stack import Encoder
from hexapla.config.attention import AttentionConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

D_MODEL, LENGTH, SHIFT, SHUFFLED = 64, 200, 10, 12
PAIRS = (0, 8, 16, 31)

PARAGRAPH = Bilingual(
    "Attention alone sees a set: shuffle the tokens and its outputs are shuffled alike. So each position gets a vector of waves, fast "
    "ones in the first columns, slow ones in the last. A pair (sin, cos) is a point on a circle, and k steps on are a turn by k·ω: "
    "PE(pos+k) is PE(pos) times a matrix of 2×2 rotations that depends on k alone. Hence PE(pos)·PE(pos+k) = Σ cos(k ω_i), the same at "
    "every pos, and largest for near ones.",
    "单靠注意力，句子只是一个集合：把词打乱，输出也只是照样打乱。所以每个位置加上一个由波组成的向量，前面的列变化快，后面的列变化慢。"
    "一对 (sin, cos) 是圆上的一点，往后 k 步就是转过 k·ω 的角：PE(pos+k) 等于 PE(pos) 乘以由 2×2 旋转组成、只取决于 k 的矩阵。因此 "
    "PE(pos)·PE(pos+k) = Σ cos(k ω_i)，与 pos 无关，越近越大。",
)


def frequency(pair: int, d_model: int = D_MODEL) -> float:
    """ω of columns 2i and 2i+1, in radians a position."""
    return 10000 ** (-2 * pair / d_model)


def rotations(k: int, d_model: int = D_MODEL) -> Float[Tensor, "D D"]:
    """The matrix M of PE(pos + k) = M PE(pos): a turn by k·ω for each pair of columns."""
    blocks = []
    for pair in range(d_model // 2):
        sin, cos = math.sin(k * frequency(pair, d_model)), math.cos(k * frequency(pair, d_model))
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


def small_encoder() -> Encoder:
    stack = StackConfig(layers=2, attention=AttentionConfig(heads=4), feed_forward=FeedForwardConfig(d_ff=128))
    encoder = Encoder(D_MODEL, stack).eval()
    initialise(encoder)
    return encoder


@torch.no_grad()
def positions() -> Explanation:
    table = sinusoids(LENGTH, D_MODEL)
    dots = table @ table.T
    by_distance = torch.stack([dots.diagonal(k).mean() for k in range(LENGTH // 2)])
    rows = tuple(
        (
            2 * i,
            2 * math.pi / frequency(i),
            math.degrees(SHIFT * frequency(i)) % 360,
            *(float(table[pos, 2 * i]) for pos in (0, 1, 10, 100)),
        )
        for i in PAIRS
    )
    heads = (
        Bilingual("column", "列"),
        Bilingual("wavelength", "波长"),
        Bilingual(f"turn for k = {SHIFT}, in °", f"k = {SHIFT} 时转角 (°)"),
        *(f"PE({pos})" for pos in (0, 1, 10, 100)),
    )
    place = tuple(float(pos) for pos in range(LENGTH // 2))
    waves = [Line(Bilingual(f"column {c}", f"第 {c} 列"), place, tuple(table[: LENGTH // 2, c].tolist())) for c in (12, 20)]
    return Explanation(
        topic="positions",
        title=TITLES["positions"],
        section="3.5",
        code=("blocks/positions.py: sinusoids",),
        formula=("PE(pos, 2i) = sin(pos ω_i),  PE(pos, 2i+1) = cos(pos ω_i)", "ω_i = 10000^(−2i / d_model)"),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows),),
        plots=(
            Curves(Bilingual("Two of 64 waves", "64 列波中的两列"), "pos", tuple(waves), rows=4),
            Curves(
                "PE(pos) · PE(pos + k)",
                "k",
                (Line(Bilingual("dot product", "点积"), place, tuple(by_distance.tolist())),),
                rows=5,
            ),
        ),
        claims=claims(table, dots),
    )


def shuffled(places: Float[Tensor, "T D"]) -> float:
    """How far an encoder's outputs for shuffled tokens are from its outputs, shuffled. The tokens in turn stand at `places`."""
    encoder, tokens, order = small_encoder(), torch.randn(1, len(places), D_MODEL), torch.randperm(len(places))
    return float((encoder(tokens[:, order] + places) - encoder(tokens + places)[:, order]).abs().max())


def claims(table: Float[Tensor, "T D"], dots: Float[Tensor, "T T"]) -> dict[str, Claim]:
    shifted = table[:-SHIFT] @ rotations(SHIFT).T
    closed_form = [sum(math.cos(k * frequency(i)) for i in range(D_MODEL // 2)) for k in range(LENGTH // 2)]
    furthest = max(float((dots.diagonal(k) - expected).abs().max()) for k, expected in enumerate(closed_form))
    return {
        "linear": Claim(
            Bilingual(f"furthest of PE(pos+{SHIFT}) from its rotations", f"PE(pos+{SHIFT}) 与旋转矩阵之积的最大差"),
            float((shifted - table[SHIFT:]).abs().max()),
            0.0,
            tolerance=1e-5,
        ),
        "dots": Claim(
            Bilingual("furthest of dot products from Σ cos(k ω_i)", "点积与 Σ cos(k ω_i) 的最大差"),
            furthest,
            0.0,
            tolerance=1e-4,
        ),
        "permuted": Claim(
            Bilingual("tokens shuffled, no positions: furthest off", "打乱词序，无位置：输出的最大差"),
            shuffled(torch.zeros(SHUFFLED, D_MODEL)),
            0.0,
            tolerance=1e-5,
        ),
        "placed": Claim(
            Bilingual("the same with positions", "打乱词序，有位置：输出的最大差"), shuffled(table[:SHUFFLED]), 0.1, "at_least"
        ),
    }
