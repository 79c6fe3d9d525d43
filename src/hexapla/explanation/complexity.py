"""What layers cost as texts grow: section 4 and Table 1, counted and timed."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from hexapla.axes import Bool, Float, Tensor
from hexapla.blocks.attention import attend
from hexapla.blocks.mask import Mask
from hexapla.explanation.parts import Bilingual, Claim, Curves, Explanation, Line, Table
from hexapla.explanation.topics import TITLES

WIDTH, KERNEL, WINDOW = 64, 3, 16
"""d, k and r of Table 1; a window of r reads r - 1 positions to each side, as a mask does here"""
LENGTHS = (512, 1024, 2048, 4096)
REACH = 64
"""positions of the text in which steps and the longest path are counted"""
TRIES = 5
CHINESE = {"self-attention": "自注意力", "recurrent": "循环", "convolutional": "卷积"}
Layer = Callable[[Float[Tensor, "T D"]], Float[Tensor, "T D"]]

PARAGRAPH = Bilingual(
    "Self-attention compares every token with every other: n² weights, n²·d multiplications, but all at once, and any token is one "
    "step from any other. A recurrent layer needs n·d², which is less once n exceeds d, yet one step after the other, and its longest "
    "path is n. A convolution is parallel, but reaches k/2 places a layer. Multiplications are counted, the memory kept for the "
    "backward pass too, and the steps: operations that wait for one another. Times are measured here, on one thread, and scatter; "
    "p is the slope of log cost by log n.",
    "自注意力把每个词与其他每个词相比：n² 个权重，n²·d 次乘法，但可以同时进行，任意两个词之间只隔一步。循环层只要 n·d² 次，"
    "n 超过 d 之后反而更少，但必须一步接一步，最长路径是 n。卷积可以并行，但每层只能往外 k/2 个位置。"
    "乘法次数、为反向传播保留的内存，以及必须依次等待的操作步数，都是数出来的；时间是在这台机器上用单线程测的，每次会有波动；"
    "p 是代价对 n 的双对数斜率。",
)


def self_attention(x: Float[Tensor, "T D"], record: Callable[[Tensor], None] = lambda weights: None) -> Float[Tensor, "T D"]:
    """One head without projections, as Table 1 counts it; written out, since its weights are recorded."""
    each = x[None, None]
    return attend(each, each, each, record=record)[0, 0]


def layers() -> dict[str, Layer]:
    """By the names of Table 1. Restricted attention is no layer here: a mask alone saves no work."""
    recurrent_matrix = (torch.randn(2, WIDTH, WIDTH) / WIDTH**0.5).requires_grad_()
    kernel = (torch.randn(WIDTH, WIDTH, KERNEL) / (KERNEL * WIDTH) ** 0.5).requires_grad_()

    def recurrent(x: Float[Tensor, "T D"]) -> Float[Tensor, "T D"]:
        states, h = [], torch.zeros(1, WIDTH)  # a row, since products of a matrix with a vector are not counted
        for each in x @ recurrent_matrix[0].T:
            h = torch.tanh(each + h @ recurrent_matrix[1].T)
            states.append(h)
        return torch.cat(states)

    def convolutional(x: Float[Tensor, "T D"]) -> Float[Tensor, "T D"]:
        return nn.functional.conv1d(x.T[None], kernel, padding=KERNEL // 2)[0].T

    return {"self-attention": self_attention, "recurrent": recurrent, "convolutional": convolutional}


def exponent(lengths: Sequence[int], costs: Sequence[int | float]) -> float:
    """p of cost ≈ c · length^p: the slope of the straight line that fits the logarithms best."""
    x, y = [math.log(length) for length in lengths], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def multiply_adds(layer: Layer, length: int) -> int:
    """Of its products, as torch counts them while it runs."""
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(length, WIDTH))
    return counter.get_total_flops() // 2


def milliseconds(layer: Layer, length: int) -> float:
    """The shortest of a few tries, on one thread: more would wait for each other on a machine that has other work."""
    x, found, threads = torch.randn(length, WIDTH), [], torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        layer(x)
        for _ in range(TRIES):
            start = time.perf_counter()
            layer(x)
            found.append(1000 * (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
    return min(found)


def weight_bytes(length: int) -> int:
    """What the attention weights of one head take."""
    taken: list[int] = []
    self_attention(torch.randn(length, WIDTH), lambda weights: taken.append(weights.numel() * weights.element_size()))
    return taken[0]


def kept_bytes(layer: Layer, length: int) -> int:
    """What must be kept of one pass until the backward pass, the text and the layer's weights among it: each tensor once."""
    kept: dict[int, int] = {}
    x = torch.randn(length, WIDTH).requires_grad_()

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        layer(x)
    return sum(kept.values())


def layers_until_all_is_read(reads: Bool[Tensor, "T T"]) -> int:
    """How many layers, each of which reads as `reads` says, until the last position depends on the first: Table 1's longest path."""
    reached, count = reads.clone(), 1
    while not reached[-1, 0]:
        reached, count = (reached.float() @ reads.float()) > 0, count + 1
    return count


def steps_of_recurrence(length: int) -> int:
    """The same along the chain of a recurrent layer: states of one layer, each of which reads the one before."""
    chain = torch.eye(length, dtype=torch.bool) | torch.ones(length - 1, dtype=torch.bool).diag(-1)
    return layers_until_all_is_read(chain)


def window_of(size: int, length: int) -> Bool[Tensor, "T T"]:
    dense = Mask(window=size).dense(length, length, torch.device("cpu"))
    return torch.ones(length, length, dtype=torch.bool) if dense is None else dense


def steps_in_sequence(layer: Layer, length: int) -> int:
    """Operations of which each waits for the one before: the longest chain in the graph that autograd keeps, views among them."""
    with torch.enable_grad():
        end = layer(torch.randn(length, WIDTH).requires_grad_()).grad_fn
    depth: dict[Any, int] = {None: 0}
    waiting: list[Any] = [end]
    while waiting:
        node = waiting[-1]
        before = [each for each, _ in node.next_functions]
        unknown = [each for each in before if each not in depth]
        if unknown:
            waiting += unknown
        else:
            depth[waiting.pop()] = 1 + max((depth[each] for each in before), default=0)
    return depth[end]


def costs(counted: dict[str, list[int]], kept: dict[str, list[int]], timed: dict[str, list[float]]) -> Table:
    paths = {
        "self-attention": layers_until_all_is_read(window_of(REACH, REACH)),
        "recurrent": steps_of_recurrence(REACH),
        "convolutional": layers_until_all_is_read(window_of(KERNEL // 2 + 1, REACH)),
    }
    rows = tuple(
        (
            Bilingual(name, CHINESE[name]),
            counted[name][-1] / 1e6,
            exponent(LENGTHS, counted[name]),
            kept[name][-1] / 1e6,
            exponent(LENGTHS, kept[name]),
            timed[name][-1],
            exponent(LENGTHS, timed[name]),
            steps_in_sequence(layer, REACH),
            paths[name],
        )
        for name, layer in layers().items()
    )
    heads = (
        Bilingual(f"at n = {LENGTHS[-1]:,}", f"n = {LENGTHS[-1]:,} 时"),
        Bilingual("M mult.", "百万次乘法"),
        "p",
        "MB",
        "p",
        Bilingual("ms", "毫秒"),
        "p",
        Bilingual("steps*", "步数*"),
        Bilingual("path*", "路径*"),
    )
    return Table(heads, rows, words=1)


@torch.no_grad()
def complexity() -> Explanation:
    made = layers()
    counted = {name: [multiply_adds(layer, n) for n in LENGTHS] for name, layer in made.items()}
    timed = {name: [milliseconds(layer, n) for n in LENGTHS] for name, layer in made.items()}
    kept = {name: [kept_bytes(layer, n) for n in LENGTHS] for name, layer in made.items()}
    taken = [weight_bytes(n) for n in LENGTHS]
    restricted = layers_until_all_is_read(window_of(WINDOW, REACH))
    x = tuple(float(n) for n in LENGTHS)
    return Explanation(
        topic="complexity",
        title=TITLES["complexity"],
        section="4, Table 1",
        code=("blocks/attention.py: attend", "explanation/complexity.py: layers"),
        formula=(
            Bilingual(
                "multiplications: self-attention 2 n²·d, recurrent 2 n·d², convolutional k·n·d²",
                "乘法次数：自注意力 2 n²·d，循环 2 n·d²，卷积 k·n·d²",
            ),
            Bilingual(
                f"cost ≈ c · n^p      d = {WIDTH}, k = {KERNEL}      * of n = {REACH}",
                f"代价 ≈ c · n^p      d = {WIDTH}，k = {KERNEL}      * n = {REACH} 时",
            ),
        ),
        paragraph=PARAGRAPH,
        tables=(costs(counted, kept, timed),),
        plots=(
            Curves(
                Bilingual("Milliseconds by length, measured now", "毫秒与长度，现测"),
                "n",
                tuple(Line(Bilingual(name, CHINESE[name]), x, tuple(timed[name])) for name in timed),
                log_x=True,
                log_y=True,
            ),
        ),
        claims=claims(counted, taken, restricted),
    )


def claims(counted: dict[str, list[int]], taken: list[int], restricted: int) -> dict[str, Claim]:
    longest = LENGTHS[-1]
    return {
        "attention": Claim(
            Bilingual("exponent of self-attention's multiplications", "自注意力乘法次数的指数"),
            exponent(LENGTHS, counted["self-attention"]),
            2.0,
            tolerance=1e-9,
        ),
        "recurrent": Claim(
            Bilingual("multiplications of recurrence; 2 n d²", "循环层的乘法次数；2 n d²"),
            float(counted["recurrent"][-1]),
            2.0 * longest * WIDTH**2,
        ),
        "memory": Claim(
            Bilingual("exponent of the bytes of attention weights", "注意力权重字节数的指数"),
            exponent(LENGTHS, taken),
            2.0,
            tolerance=1e-9,
        ),
        "bytes": Claim(
            Bilingual(f"those bytes at n = {longest:,}; 4 n²", f"n = {longest:,} 时的字节数；4 n²"), float(taken[-1]), 4.0 * longest**2
        ),
        "restricted": Claim(
            Bilingual(
                f"layers of window r = {WINDOW} for n = {REACH}; (n−1)/(r−1)", f"窗口 r = {WINDOW}、n = {REACH} 所需层数；(n−1)/(r−1)"
            ),
            float(restricted),
            float(math.ceil((REACH - 1) / (WINDOW - 1))),
        ),
    }
