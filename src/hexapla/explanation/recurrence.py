"""How far gradients reach back in time: sections 1 and 4, and the articles' 0.9^100."""

import torch
from torch import nn

from hexapla.axes import Float, Tensor
from hexapla.blocks.attention import Attention
from hexapla.config.attention import AttentionConfig
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

LENGTH, WIDTH = 101, 32
FACTOR = 0.9
SHOWN = (0, 1, 10, 25, 50, 100)

PARAGRAPH = Bilingual(
    "A recurrent network hands what it read from step to step, and the gradient comes back the same way, through one factor a step: "
    "diag(1 − h²) W. If W shrinks vectors to 0.9 of their length and tanh adds nothing, 0.9^100 = 2.66e-5 of it is left after 100 steps; "
    "tanh makes it less, and 1.1 instead of 0.9 would make it explode. Attention reads any position in one step, so the gradient at a "
    "token 100 places back is about as large as at a near one. Path length 100 against 1: that is Table 1's last column.",
    "循环网络一步一步地传递读到的内容，梯度也沿原路返回，每一步都要乘上一个因子 diag(1 − h²) W。如果 W 把向量缩短到 0.9 倍，tanh "
    "又不起作用，100 步之后只剩下 0.9^100 = 2.66e-5；有了 tanh 还会更小，而把 0.9 换成 1.1，梯度就会爆炸。注意力一步就能读到任何位置，"
    "所以 100 个词以前的梯度与近处的大致一样大。路径长度 100 对 1：这就是论文表 1 的最后一列。",
)


def rotation(width: int) -> Float[Tensor, "D D"]:
    """A random orthogonal matrix: it changes no vector's length."""
    return torch.linalg.qr(torch.randn(width, width, dtype=torch.float64))[0]


def norms_by_distance(x: Float[Tensor, "T D"], last: Float[Tensor, " D"]) -> list[float]:
    """‖∂(last · g)/∂x_t‖ for a random g of length 1, from the last position back to the first."""
    g = torch.randn_like(last)
    (found,) = torch.autograd.grad(last, x, g / g.norm())
    return found.norm(dim=1).flip(0).tolist()


def tanh_chain(x: Float[Tensor, "T D"], recurrent: Float[Tensor, "D D"]) -> Float[Tensor, " D"]:
    """The last h of h_t = tanh(x_t + W h_(t-1)), by torch's RNN."""
    rnn = nn.RNN(WIDTH, WIDTH, bias=False, dtype=x.dtype)
    rnn.load_state_dict({"weight_ih_l0": torch.eye(WIDTH), "weight_hh_l0": recurrent})
    return rnn(x)[0][-1]


def linear_chain(x: Float[Tensor, "T D"], recurrent: Float[Tensor, "D D"]) -> Float[Tensor, " D"]:
    """The last h of h_t = x_t + W h_(t-1)."""
    h = torch.zeros_like(x[0])
    for each in x:
        h = each + recurrent @ h
    return h


def recurrence() -> Explanation:
    x = torch.randn(LENGTH, WIDTH, dtype=torch.float64).requires_grad_()
    recurrent = FACTOR * rotation(WIDTH)
    rnn = norms_by_distance(x, tanh_chain(x, recurrent))
    chain = norms_by_distance(x, linear_chain(x, recurrent))
    exploding = norms_by_distance(x, linear_chain(x, recurrent * (1.1 / FACTOR)))
    attention = Attention(WIDTH, AttentionConfig(heads=4)).double()
    read = norms_by_distance(x, attention(x[None])[0, -1])
    far, near = sum(read[-10:]) / 10, sum(read[1:11]) / 10
    heads = (
        Bilingual("steps back", "往回的步数"),
        "tanh RNN",
        Bilingual("without tanh", "去掉 tanh"),
        "0.9^k",
        Bilingual("with 1.1", "换成 1.1"),
        Bilingual("attention", "注意力"),
    )
    rows = tuple((k, rnn[k], chain[k], FACTOR**k, exploding[k], read[k]) for k in SHOWN)
    back = tuple(float(k) for k in range(LENGTH))
    return Explanation(
        topic="recurrence",
        title=TITLES["recurrence"],
        section="4, Table 1",
        code=("blocks/attention.py: Attention", "explanation/recurrence.py: tanh_chain"),
        formula=("h_t = tanh(x_t + W h_(t−1))", "∂h_T/∂x_t = [Π_(t<i≤T) diag(1 − h_i²) W] diag(1 − h_t²)"),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows),),
        plots=(
            Curves(
                Bilingual("Gradient of the last output by the input k steps back", "最后输出对 k 步之前输入的梯度"),
                "k",
                (
                    Line(Bilingual("attention", "注意力"), back, tuple(read)),
                    Line("0.9^k", back, tuple(chain)),
                    Line("tanh RNN", back, tuple(rnn)),
                ),
                log_y=True,
            ),
        ),
        claims={
            "chain": Claim(
                Bilingual("without tanh, 100 steps back; 0.9^100", "去掉 tanh，100 步之前；0.9^100"),
                chain[100],
                FACTOR**100,
                tolerance=1e-12,
            ),
            "exploding": Claim(
                Bilingual("with 1.1, 100 steps back; 1.1^100", "换成 1.1，100 步之前；1.1^100"), exploding[100], 1.1**100, tolerance=1e-6
            ),
            "rnn": Claim(Bilingual("tanh RNN, 100 steps back; 0.9^100", "tanh RNN，100 步之前；0.9^100"), rnn[100], FACTOR**100, "at_most"),
            "attention": Claim(
                Bilingual("attention, 10 furthest over 10 nearest", "注意力：最远与最近 10 个词之比"), far / near, 0.2, "at_least"
            ),
        },
    )
