"""What suits a machine: the one place where kernel, precision and division of work are chosen, each by what was measured."""

from typing import Literal

import torch

# On a CPU attention written out as matmul, softmax, matmul beats the fused kernel up to about this many scores a head (1.1 to 2.5
# times at 16 x 16 to 64 x 64, forward and backward); beyond it the scores leave the cache and the fused kernel wins.
# benchmarks/attend.py measures it.
WRITTEN_OUT_UP_TO = 64 * 64

# Two threads that each take half of every batch beat two threads inside every kernel: what lies between the matrix products runs on
# both, and nothing waits for the other half of a small product. More than two were not measured. benchmarks/train.py --workers.
MOST_WORKERS = 2

NARROWEST_IN_BF16 = 128


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def written_out(device: torch.device, scores: int, dropout: float) -> bool:
    """Whether attention with so many scores a head is written out. With dropout the fused kernel does the same on a CPU, more slowly."""
    return device.type == "cpu" and (dropout > 0 or scores <= WRITTEN_OUT_UP_TO)


def workers(device: torch.device, threads: int) -> int:
    """Threads that each compute the gradient of a part of every batch."""
    return min(threads, MOST_WORKERS) if device.type == "cpu" else 1


def precision(device: torch.device, d_model: int) -> Literal["fp32", "bf16"]:
    """What a new run trains in: bf16 where the device multiplies it in hardware, else fp32, since bf16 would be emulated.

    Measured with AVX-512 BF16: 1.5 times as fast as fp32 for the preset tiny, and the matrix products 1.8 times. Models narrower than
    that were not measured.
    """
    if d_model < NARROWEST_IN_BF16:
        return "fp32"
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    able = torch.cpu.get_capabilities()
    return "bf16" if able.get("amx_bf16") or able.get("avx512_bf16") else "fp32"
