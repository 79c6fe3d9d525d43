"""Attention against length: time and memory of one layer, forward and backward, beside transformers' Marian.

    python benchmarks/attend.py                                       # 64 to 4,096 positions
    python benchmarks/attend.py --picture docs/pictures/attend.svg    # draw it too (pip install 'hexapla[plots]')

One layer of self-attention with the projections (d_model 512, 8 heads, one text), as training runs it. Each length and each contestant
has a process of its own, since memory that one gave back would serve the next: what is told is how far the peak rises above what the
process had with everything loaded. The exponent is the slope of the straight line through the logarithms of the longer half. Appends
one JSON line to benchmarks/results/attend.jsonl.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import append, peak_mb, where

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
D_MODEL, HEADS, REPEATS = 512, 8, 5


def hexapla(causal: bool) -> Callable[[Any], Any]:
    from hexapla.blocks.attention import Attention
    from hexapla.blocks.mask import CAUSAL, EVERYTHING
    from hexapla.config.attention import AttentionConfig

    attention, mask = Attention(D_MODEL, AttentionConfig(heads=HEADS)), CAUSAL if causal else EVERYTHING
    return lambda x: attention(x, mask)


def transformers(causal: bool, kernel: str) -> Callable[[Any], Any]:
    """Marian's own attention, with the mask that its model makes; eager is what it did for years, sdpa what it does today."""
    import torch
    from transformers import MarianConfig
    from transformers.models.marian.modeling_marian import MarianAttention

    config = MarianConfig(**{"d_model": D_MODEL, "attn_implementation": kernel})
    attention = MarianAttention(D_MODEL, HEADS, is_decoder=causal, is_causal=causal, config=config)

    def attend(x: Any) -> Any:
        mask = torch.full((1, 1, x.shape[1], x.shape[1]), -torch.inf).triu(1) if causal else None
        return attention(x, attention_mask=mask)[0]

    return attend


CONTESTANTS: dict[str, Callable[[bool], Callable[[Any], Any]]] = {
    "hexapla": hexapla,
    "transformers eager": lambda causal: transformers(causal, "eager"),
    "transformers sdpa": lambda causal: transformers(causal, "sdpa"),
}


def measure(name: str, length: int, causal: bool, threads: int) -> dict[str, float]:
    import torch

    torch.set_num_threads(threads)
    attend = CONTESTANTS[name](causal)

    def work(positions: int) -> None:
        attend(torch.randn(1, positions, D_MODEL, requires_grad=True)).sum().backward()

    work(16)
    before = peak_mb(reset=True)
    work(length)
    risen = peak_mb() - before
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work(length)
        seconds.append(time.perf_counter() - began)
    return {"seconds": statistics.median(seconds), "mb": risen}


def in_a_process(name: str, length: int, causal: bool, threads: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", name, str(length), "--threads", str(threads), *(["--causal"] if causal else [])]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def exponent(lengths: list[int], values: list[float]) -> float:
    """Of length, over the longer half of the lengths: least squares on logarithms."""
    half = len(lengths) // 2
    x, y = ([math.log(max(v, 1e-9)) for v in part] for part in (lengths[half:], values[half:]))
    return statistics.linear_regression(x, y).slope


def draw(answer: dict[str, Any], file: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, (what, unit, factor) in zip(axes, [("seconds", "time, ms", 1000), ("mb", "memory above the start, MB", 1)], strict=True):
        for (name, found), style in zip(answer["ways"].items(), ["o-", "s--", "^:"], strict=True):
            axis.plot(
                answer["lengths"], [max(v * factor, 0.1) for v in found[what]], style, label=f"{name}: n^{found['exponent'][what]:.1f}"
            )
        axis.set(xscale="log", yscale="log", xlabel="positions", ylabel=unit, xticks=answer["lengths"])
        axis.set_xticklabels([f"{n:,}" for n in answer["lengths"]])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    figure.suptitle("One layer of self-attention, forward and backward")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--causal", action="store_true", help="a decoder's attention; unset: an encoder's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--picture", type=Path, help="draw it into this file (.svg or .png)")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "LENGTH"), help="measure one of them in this process")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one[0], int(asked.one[1]), asked.causal, asked.threads)))
        return
    found = {name: [in_a_process(name, n, asked.causal, asked.threads) for n in asked.lengths] for name in CONTESTANTS}
    ways = {
        name: {
            "seconds": [each["seconds"] for each in rows],
            "mb": [each["mb"] for each in rows],
            "exponent": {what: round(exponent(asked.lengths, [each[what] for each in rows]), 2) for what in ("seconds", "mb")},
        }
        for name, rows in found.items()
    }
    answer = {"causal": asked.causal, "d_model": D_MODEL, "heads": HEADS, "lengths": asked.lengths, "ways": ways}
    print(f"{'positions':>22}", *(f"{n:>14,}" for n in asked.lengths), "   exponents")
    for name, way in ways.items():
        cells = (f"{s * 1000:7.1f} ms {mb:4.0f}" for s, mb in zip(way["seconds"], way["mb"], strict=True))
        print(f"{name:>22}", *cells, f"  time {way['exponent']['seconds']}, memory {way['exponent']['mb']}")
    if asked.picture:
        draw(answer, asked.picture)
    append("attend", {**answer, **where(asked.threads)})


if __name__ == "__main__":
    main()
