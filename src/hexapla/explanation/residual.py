"""Residual connections: section 3.1."""

from collections.abc import Callable
from typing import Literal, assert_never, cast

import torch

from hexapla.axes import Float, Hidden, Tensor
from hexapla.blocks.initialise import initialise
from hexapla.blocks.layer import EncoderLayer
from hexapla.blocks.stack import Encoder
from hexapla.config.attention import AttentionConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

LAYERS, D_MODEL, LENGTH = 32, 64, 16
SHOWN = (1, 8, 16, 24, 32)
Connection = Literal["post", "pre", "alone", "none", "norm"]
"""around each sublayer f: those of the paper and of Xiong et al. 2020; x + f(x); f(x); Norm(f(x))"""
SHOWN_CONNECTIONS: tuple[Connection, ...] = ("post", "pre", "alone", "none")

PARAGRAPH = Bilingual(
    "Without connections around the sublayers a gradient must pass through every one, and each changes its length by some factor: at 0.9 "
    "a layer, 0.9^100 = 2.66e-5 of it arrives 100 layers down. With x + f(x) the derivative is 1 + f′(x): a path on which nothing is "
    "multiplied. Below, the same weights in 32 encoder layers: with nothing around them next to no gradient comes through; with x + f(x) "
    "alone it grows, with a norm it stays in bounds. A norm alone keeps lengths too, but all tokens become one.",
    "如果子层周围没有连接，梯度就必须穿过每一个子层，每次长度都要乘上某个因子：每层 0.9 的话，100 层之后只剩 0.9^100 = 2.66e-5。有了 x + "
    "f(x)，导数就是 1 + f′(x)：有一条路上什么都不乘。下面是同样权重的 32 层编码器：子层周围什么都没有，几乎没有梯度到得了底层；只有 x + "
    "f(x)，梯度会变大；再加归一化，就大小适中。单靠归一化也能保持长度，但所有词的向量会变得一样。",
)


def encoder(position: Literal["post", "pre"], layers: int = LAYERS) -> Encoder:
    """Seeded by torch's global generator; both positions draw the same weights."""
    feed_forward = FeedForwardConfig(d_ff=4 * D_MODEL)
    made = Encoder(
        D_MODEL, StackConfig(layers=layers, attention=AttentionConfig(heads=4), feed_forward=feed_forward, norm_position=position)
    )
    initialise(made)
    return made.eval()


def connected(layer: EncoderLayer, connection: Connection) -> Callable[[Hidden], Hidden]:
    """The sublayers of `layer`, with that around them. What the layer itself has around them is for post and pre."""
    around_self, around_feed_forward = layer.around_self.norm, layer.around_feed_forward.norm

    def alone(x: Hidden) -> Hidden:
        x = x + layer.self_attention(x)
        return x + layer.feed_forward(x)

    match connection:
        case "post" | "pre":
            return layer
        case "alone":
            return alone
        case "none":
            return lambda x: layer.feed_forward(layer.self_attention(x))
        case "norm":
            return lambda x: around_feed_forward(layer.feed_forward(around_self(layer.self_attention(x))))
        case _:
            assert_never(connection)


def connected_layers(connection: Connection, seed: int) -> list[Callable[[Hidden], Hidden]]:
    """With the same weights for each connection."""
    torch.manual_seed(seed)
    made = encoder("pre" if connection == "pre" else "post")
    return [connected(cast(EncoderLayer, layer), connection) for layer in made.layers]


def gradient_norms(layers: list[Callable[[Hidden], Hidden]], x: Hidden, g: Hidden) -> list[float]:
    """Norm of the gradient of Σ g ∘ output by the input of each layer, and by the output, first layer first."""
    states = [x.detach().requires_grad_()]
    for layer in layers:
        states.append(layer(states[-1]))
    return [float(each.norm()) for each in torch.autograd.grad(states[-1], states, g)]


def likeness(layers: list[Callable[[Hidden], Hidden]], x: Hidden) -> float:
    """Cosine between what two positions have become behind the layers, in the mean over all pairs."""
    with torch.no_grad():
        for layer in layers:
            x = layer(x)
    unit = x[0] / x[0].norm(dim=1, keepdim=True)
    return float((unit @ unit.T)[~torch.eye(len(unit), dtype=torch.bool)].mean())


def chain(factor: float, depth: int) -> float:
    """‖gradient‖ after `depth` layers that turn a vector and shrink it to `factor` of its length, with nothing around them."""
    x: Float[Tensor, " D"] = torch.randn(8, dtype=torch.float64).requires_grad_()
    y, g = x, torch.randn(8, dtype=torch.float64)
    for _ in range(depth):
        y = factor * torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64))[0] @ y
    (found,) = torch.autograd.grad(y, x, g / g.norm())
    return float(found.norm())


def residual() -> Explanation:
    plain_chain = chain(0.9, 100)
    seed = int(torch.randint(2**31, ()))
    x, g = torch.randn(2, 1, LENGTH, D_MODEL)
    relative: dict[Connection, list[float]] = {}
    for connection in SHOWN_CONNECTIONS:
        norms = gradient_norms(connected_layers(connection, seed), x, g)
        relative[connection] = [norm / norms[-1] for norm in norms]
    heads = (
        Bilingual("layers through", "穿过的层数"),
        "Norm(x + f(x))",
        "x + f(Norm(x))",
        "x + f(x)",
        "f(x)",
    )
    rows = tuple((depth, *(relative[connection][LAYERS - depth] for connection in SHOWN_CONNECTIONS)) for depth in SHOWN)
    names = (
        Bilingual("post-norm", "post-norm"),
        Bilingual("pre-norm", "pre-norm"),
        Bilingual("x + f(x) alone", "只有 x + f(x)"),
        Bilingual("f(x) alone", "只有 f(x)"),
    )
    through = tuple(float(depth) for depth in range(LAYERS + 1))
    return Explanation(
        topic="residual",
        title=TITLES["residual"],
        section="3.1; He et al. 2016",
        code=("blocks/residual.py: Residual", "blocks/stack.py: Encoder"),
        formula=("y = x + f(x)   ⇒   ∂y/∂x = 1 + f′(x)",),
        paragraph=PARAGRAPH,
        tables=(Table(heads, rows),),
        plots=(
            Curves(
                Bilingual("Gradient by layers that it came through, over that at the top", "梯度与穿过的层数（以顶层为 1）"),
                Bilingual("layers", "层数"),
                tuple(
                    Line(name, through, tuple(reversed(relative[connection])))
                    for name, connection in zip(names, SHOWN_CONNECTIONS, strict=True)
                ),
                log_y=True,
            ),
        ),
        claims=claims(plain_chain, relative, seed, x),
    )


def claims(plain_chain: float, relative: dict[Connection, list[float]], seed: int, x: Hidden) -> dict[str, Claim]:
    return {
        "chain": Claim(
            Bilingual("100 layers × 0.9, no residual; 0.9^100", "100 层，每层 0.9，无残差；0.9^100"),
            plain_chain,
            0.9**100,
            tolerance=1e-12,
        ),
        "none": Claim(Bilingual("f(x) alone, first layer over top", "只有 f(x)：最底层与顶层之比"), relative["none"][0], 1e-6, "at_most"),
        "post": Claim(Bilingual("post-norm, first layer over top", "post-norm：最底层与顶层之比"), relative["post"][0], 0.05, "at_least"),
        "pre": Claim(Bilingual("pre-norm, first layer over top", "pre-norm：最底层与顶层之比"), relative["pre"][0], 0.5, "at_least"),
        "one": Claim(
            Bilingual("Norm(f(x)): cosine of tokens at the top", "Norm(f(x))：顶层两个词的余弦"),
            likeness(connected_layers("norm", seed), x),
            0.99,
            "at_least",
        ),
    }
