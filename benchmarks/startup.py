"""How long a person waits for the first word: of a command that only tells, of one that refuses, of a model's first translation.

    python benchmarks/startup.py              # both questions, in about a minute
    python benchmarks/startup.py telling
    python benchmarks/startup.py translating

Every way is a process of its own, begun with the interpreter; they take turns. Beside them stands what importing other libraries takes
that do the same work, where they are installed: pip install -e '.[bench]'. Prints a table and appends one JSON line a question to
benchmarks/results/startup.jsonl.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from machine import append, in_turn, way, where
from prepare import drawn

ROUNDS = 5
PYTHON = [sys.executable, "-c"]
HEXAPLA = [sys.executable, "-m", "hexapla.cli"]
TOLD = {  # what is asked, and how it ends
    "--version": (["--version"], 0),
    "--help": (["--help"], 0),
    "translate --help": (["translate", "--help"], 0),
    "an unknown option": (["translate", "run", "--bem", "4"], 2),
    "a value out of range": (["translate", "run", "--beam", "0"], 2),
    "no such run": (["translate", "nowhere"], 66),
    "no such corpus": (["check", "nowhere", "nowhere"], 65),
    "check of three pairs": (["check", "three.tsv", "--json"], 0),
}
IMPORTS = ("torch", "transformers", "ctranslate2")
MARIAN = "from transformers import MarianMTModel, MarianTokenizer"
FIRST = """
import json, sys, time
marks = [(time.perf_counter(), time.process_time())]
def mark():
    marks.append((time.perf_counter(), time.process_time()))
import hexapla as hx
import torch
from hexapla.workflow.translate import translate
open_run = hx.Run.open
mark()
run = open_run(sys.argv[1])
run.model
mark()
for _ in range(3):
    translate(run, [sys.argv[2]], rules=hx.Rules(max_length=20))
    mark()
print(json.dumps([[now - then for then, now in zip(*between)] for between in zip(marks, marks[1:])]))
"""


def telling(work: Path, rounds: int) -> dict[str, Any]:
    """Commands that compute nothing, beside the bare interpreter and the imports of other libraries."""
    os.chdir(work)
    Path("three.tsv").write_text("a\tb\nc\td\ne\tf\n", encoding="utf-8")
    commands = {"python -c pass": [*PYTHON, "pass"]}
    commands |= {f"hexapla {name}" if name.startswith("-") else name: [*HEXAPLA, *given] for name, (given, _) in TOLD.items()}
    commands |= {f"import {name}": [*PYTHON, f"import {name}"] for name in IMPORTS if find_spec(name)}
    if find_spec("transformers"):
        commands["import MarianMTModel"] = [*PYTHON, MARIAN]
    return in_turn(commands, rounds, codes={name: code for name, (_, code) in TOLD.items()})


def translating(work: Path, rounds: int) -> dict[str, Any]:
    """A run of the preset small with 8,000 entries: import, open and load, then translate one sentence thrice into 20 tokens."""
    from hexapla.config.data import Bpe
    from hexapla.config.load import run_config
    from hexapla.workflow.prepare import prepare
    from hexapla.workflow.train import train

    source, target = drawn(work, 20_000)
    with Path(source).open(encoding="utf-8") as lines:
        sentence = next(lines).strip()
    data = prepare(source, target, into=work / "data", subwords=Bpe(8000))
    changes = ["training.steps=1", "training.batch_tokens=500", "training.log_every=1"]
    train(
        data,
        run_config(data.source_vocab, data.target_vocab, joint=data.joint, preset="small", file=None, changes=changes),
        into=work / "run",
    )
    taken = []
    for _ in range(rounds):
        command = [*PYTHON, FIRST, str(work / "run"), sentence]
        taken.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    names = ("import", "open and load", "first translation", "second", "third")
    return {name: way(*zip(*measured, strict=True)) for name, measured in zip(names, zip(*taken, strict=True), strict=True)}


QUESTIONS: dict[str, Callable[[Path, int], dict[str, Any]]] = {"telling": telling, "translating": translating}


def shown(question: str, ways: dict[str, Any]) -> str:
    """A table: seconds, their spread, and processor seconds."""
    lines = [f"{question}: {QUESTIONS[question].__doc__}"]
    for name, found in ways.items():
        spread = f"({found['least']:.2f} to {found['most']:.2f})"
        lines.append(f"  {name:24}{found['median']:7.2f} s {spread}, of the processor {found['processor_seconds']:.2f} s")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(QUESTIONS)}; both if none is given")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    if unknown := set(asked.questions) - QUESTIONS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: no such question; there are {', '.join(QUESTIONS)}")
    for question in asked.questions or QUESTIONS:
        with tempfile.TemporaryDirectory() as work:
            ways = QUESTIONS[question](Path(work), asked.rounds)
            os.chdir("/")
        print(shown(question, ways), flush=True)
        append("startup", {"question": question, "ways": ways, **where(os.cpu_count() or 1)})


if __name__ == "__main__":
    main()
