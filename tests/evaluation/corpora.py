"""Lines to score: a few words, so that they often agree."""

import lzma
import random
from pathlib import Path

WORDS = ["a", "the", "cat", "dog", "sleeps", "barks", "under", "on", "table", "and"]


def sentences(seed: int, lines: int, longest: int = 12) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(4, longest))) for _ in range(lines)]


def disturbed(lines: list[str], seed: int, share: float = 0.2) -> list[str]:
    """The same lines, some words replaced by others."""
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split()) for line in lines]


def read(file: Path, lines: int) -> list[str]:
    return lzma.decompress(file.read_bytes()).decode().split("\n")[:lines]
