"""How fast a corpus is checked and prepared, beside the loops that people write for it, and in how much memory.

    python benchmarks/prepare.py                           # both questions on 100,000 pairs, in about a minute
    python benchmarks/prepare.py checking --pairs 1000000
    python benchmarks/prepare.py memory --pairs 10000000   # a process each: prepare of a tenth of the pairs, and of all; takes 3 GB of disk
    python benchmarks/prepare.py preparing --corpus train.en train.de

Every way is a process of its own, begun with the interpreter; they take turns. Without --corpus the text is drawn here, with the lengths
and the frequencies of words of Multi30k. Prints a table and appends one JSON line a question to benchmarks/results/prepare.jsonl.
"""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from machine import append, in_turn, where

QUICK, ROUNDS = 100_000, 3
SIDES = (("en", 15_456, 11.9, "etaoinshrdlucm"), ("de", 24_889, 11.1, "enisratdhulcgmäöü"))
"""name, different words, words a line and letters of each side"""

PLAIN_CHECK = """
import sys
seen, words, characters, blank = set(), [set(), set()], [0, 0], 0
with open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], encoding="utf-8") as target:
    for pair in zip(source, target, strict=True):
        pair = [line.rstrip("\\n") for line in pair]
        for side, line in enumerate(pair):
            words[side].update(line.split())
            characters[side] += len(line)
            blank += not line
        seen.add(hash(tuple(pair)))
print(len(seen), [len(each) for each in words], characters, blank)
"""
LEARN = """
import sys
import sentencepiece
sentencepiece.set_min_log_level(2)
def sentences():
    for file in sys.argv[1:3]:
        with open(file, encoding="utf-8") as lines:
            yield from (line.rstrip("\\n") for line in lines)
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=sentences(), model_prefix=sys.argv[3], model_type="bpe", vocab_size=8000, character_coverage=0.9999,
    byte_fallback=True, normalization_rule_name="identity", hard_vocab_limit=False, num_threads=8, minloglevel=2,
)
"""
LOOP = """
import sys
from itertools import islice
import numpy as np
import pyarrow as pa
import sentencepiece
processor = sentencepiece.SentencePieceProcessor(model_file=sys.argv[3] + ".model")
schema = pa.schema([("source", pa.list_(pa.int32())), ("target", pa.list_(pa.int32()))])
with (
    open(sys.argv[1], encoding="utf-8") as source, open(sys.argv[2], encoding="utf-8") as target,
    pa.ipc.new_file(sys.argv[3] + ".arrow", schema) as out,
):
    pairs = ((one.strip(), other.strip()) for one, other in zip(source, target, strict=True))
    pairs = ((one, other) for one, other in pairs if one and other)
    while some := list(islice(pairs, 10_000)):
        ids = [processor.encode(list(side)) for side in zip(*some)]
        kept = [i for i in range(len(some)) if max(len(ids[0][i]), len(ids[1][i])) <= 256]
        out.write_batch(pa.record_batch([pa.array([side[i] for i in kept], pa.list_(pa.int32())) for side in ids], schema=schema))
"""
TIMED = """
import sys, time
from pathlib import Path
from hexapla.workflow import prepare as module
learn, seconds = module.learn_tokenizer, []
def timed(*given):
    began = time.process_time()
    learned = learn(*given)
    seconds.append(time.process_time() - began)
    return learned
module.learn_tokenizer = timed
module.prepare(sys.argv[1], sys.argv[2], into=sys.argv[3], overwrite=True)
Path(sys.argv[3] + ".learning").write_text(str(sum(seconds)))
"""


def drawn(folder: Path, pairs: int) -> list[str]:
    """Two files of lines whose words are as frequent as Zipf has it, and which are as long as those of Multi30k."""
    files = []
    for name, different, mean, letters in SIDES:
        draw = random.Random(name)
        words = sorted({"".join(draw.choices(letters, k=draw.randint(1, 3) + draw.randint(0, 9))) for _ in range(2 * different)}, key=len)
        words = words[:different]
        weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
        files.append(str(folder / f"{pairs}.{name}"))
        with Path(files[-1]).open("w", encoding="utf-8") as out:
            for start in range(0, pairs, 10_000):
                count = min(10_000, pairs - start)
                sizes = [max(3, round(draw.gauss(mean, 3.8))) for _ in range(count)]
                stream = iter(draw.choices(words, cum_weights=weights, k=sum(sizes)))
                out.writelines(" ".join([next(stream) for _ in range(size)]) + " .\n" for size in sizes)
    return files


def checking(files: Sequence[str], work: Path, rounds: int) -> dict[str, Any]:
    """`hexapla check` of both files, beside a loop that counts lines, words, characters and repeated pairs, and nothing else."""
    python = [sys.executable, "-c"]
    commands = {
        "hexapla check": [sys.executable, "-m", "hexapla.cli", "check", *files, "--json"],
        "plain loop": [*python, PLAIN_CHECK, *files],
    }
    return in_turn(commands, rounds)


def preparing(files: Sequence[str], work: Path, rounds: int) -> dict[str, Any]:
    """`hexapla.prepare` without the learning of subwords, beside a loop that strips, encodes with sentencepiece and writes Arrow."""
    python = [sys.executable, "-c"]
    own, learned, looped = (
        [*python, TIMED, *files, str(work / "data")],
        [*python, LEARN, *files, str(work / "m")],
        [*python, LOOP, *files, str(work / "m")],
    )
    ways = in_turn({"prepare": own, "sentencepiece learns": learned, "sentencepiece and Arrow": looped}, rounds)
    learning = float((work / "data.learning").read_text())
    ways["prepare"]["learning_processor_seconds"] = learning
    ways["prepare"]["processor_seconds_without_learning"] = ways["prepare"]["processor_seconds"] - learning
    return ways


def memory(files: Sequence[str], work: Path, rounds: int) -> dict[str, Any]:
    """Peak memory of `hexapla prepare` and `hexapla check`, of a tenth of the pairs and of all."""
    tenth, pairs = [], 0
    for file in files:
        tenth.append(f"{file}.tenth")
        with Path(file).open("rb") as whole, Path(tenth[-1]).open("wb") as part:
            pairs = sum(block.count(b"\n") for block in iter(lambda: whole.read(2**20), b""))
            whole.seek(0)
            part.writelines(islice(whole, pairs // 10))
    command = [sys.executable, "-m", "hexapla.cli"]
    ways = {}
    for verb, more in (("prepare", ["--into", str(work / "data"), "--overwrite"]), ("check", ["--json"])):
        for size, given, count in (("a tenth", tenth, pairs // 10), ("all", files, pairs)):
            name = f"{verb} {size}"
            ways |= in_turn({name: [*command, verb, *given, *more]}, 1, warm=False)
            ways[name]["pairs"] = count
    return ways


QUESTIONS: dict[str, Callable[[Sequence[str], Path, int], dict[str, Any]]] = {
    "checking": checking,
    "preparing": preparing,
    "memory": memory,
}


def shown(question: str, ways: dict[str, Any], pairs: int) -> str:
    """A table: seconds, processor seconds, pairs a second of either, peak memory."""
    lines = [f"{question}, {pairs:,} pairs: {QUESTIONS[question].__doc__}"]
    for name, found in ways.items():
        spent = found.get("processor_seconds_without_learning", found["processor_seconds"])
        lines.append(
            f"  {name:24}{found['median']:8.2f} s ({found['least']:.2f} to {found['most']:.2f}), of the processor {spent:.2f} s:"
            f" {found.get('pairs', pairs) / spent:10,.0f} pairs a second; {found['peak_mib']:,} MiB"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(QUESTIONS)}; unset: the first two")
    parser.add_argument("--pairs", type=int, default=QUICK)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--corpus", nargs=2, metavar="FILE", help="a corpus to use instead of one that is drawn")
    parser.add_argument("--work", type=Path, default=None, help="a folder to work in; unset: the temporary one")
    asked = parser.parse_args()
    if unknown := set(asked.questions) - QUESTIONS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: no such question; there are {', '.join(QUESTIONS)}")
    with tempfile.TemporaryDirectory(dir=asked.work) as folder:
        work = Path(folder)
        files = asked.corpus or drawn(work, asked.pairs)
        with Path(files[0]).open("rb") as lines:
            pairs = sum(1 for _ in lines)
        for question in asked.questions or ("checking", "preparing"):
            ways = QUESTIONS[question](files, work, asked.rounds)
            print(shown(question, ways, pairs), flush=True)
            text = "drawn" if asked.corpus is None else Path(files[0]).name
            append("prepare", {"question": question, "pairs": pairs, "text": text, "ways": ways, **where(os.cpu_count() or 1)})


if __name__ == "__main__":
    main()
