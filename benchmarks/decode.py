"""How fast text is translated, beside CTranslate2 and transformers: the same weights, the same lines, each engine in a process of its own.

    python benchmarks/decode.py RUN… < test.en            # greedy and a beam of 4 in batches of 64; then one line at a time
    python benchmarks/decode.py RUN --rounds 5 --lines 200 --engines hexapla ctranslate2-float32
    python benchmarks/decode.py RUN --min-length 16 --max-length 16 < test.en   # a model that nobody trained has no lengths of its own

All engines load, and translate everything once; then they take turns. Seconds count from text to text, tokenizers and the start of
workers included, loading not. CTranslate2 shares no process with torch: two OpenMP runtimes in one slow it down 4 to 8 times. Each runs
as it is fastest: Hexapla and CTranslate2 as one worker of one thread a processor, transformers as one process with all of them; a line
alone on one thread. Prints a table and appends one JSON line a model and question to benchmarks/results/decode.jsonl.
Needs `pip install -e .[bench]`.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
ENGINES = ("hexapla", "ctranslate2-float32", "ctranslate2-int8", "transformers-fp32", "transformers-bf16")
QUESTIONS = {"greedy": (1, 64), "beam 4": (4, 64), "one line, greedy": (1, 1), "one line, beam 4": (4, 1)}
"""name to width and batch size"""
Answer = tuple[list[str], int]
"""texts, and tokens written, the end tokens included"""
Translate = Callable[[list[str], int, int], Answer]
"""lines, width, batch size"""


def hexapla_engine(run: Path, length: int, least: int) -> Translate:
    from hexapla.cli.options import keep_memory

    keep_memory()
    import torch

    from hexapla.config.decoding import Beam, Rules
    from hexapla.runs import Run
    from hexapla.workflow.translate import translate_stream

    torch.set_num_threads(1)
    opened = Run.open(run)
    rules = Rules(max_length=length, max_extra=1000, min_length=least)

    def translate(lines: list[str], width: int, batch: int) -> Answer:
        strategy = Beam(width=width, penalty="power", length_penalty=1.0)
        workers = 1 if batch == 1 else None
        found = list(translate_stream(opened, lines, strategy, rules=rules, batch_size=batch, workers=workers, chunk=16 * batch))
        return [each.text for each in found], sum(each.length for each in found)

    return translate


def ctranslate2_engine(run: Path, length: int, least: int, folder: str) -> Translate:
    import ctranslate2

    from hexapla.data.tokenizer import load_tokenizers

    assert "torch" not in sys.modules, "two OpenMP runtimes"
    source, target, _ = load_tokenizers(run)
    model = {count: ctranslate2.Translator(folder, inter_threads=count, intra_threads=1) for count in {1, PROCESSORS}}
    from_ids, to_ids = pieces_of(Path(folder), "source"), {piece: i for i, piece in enumerate(pieces_of(Path(folder), "target"))}

    def translate(lines: list[str], width: int, batch: int) -> Answer:
        read = [[from_ids[i] for i in ids] for ids in source.encode_batch(lines)]
        found = model[1 if batch == 1 else PROCESSORS].translate_batch(
            read, beam_size=width, max_batch_size=batch, max_decoding_length=length, min_decoding_length=max(1, least), length_penalty=1.0,
            disable_unk=True,
        )  # fmt: skip
        outputs = [[to_ids[piece] for piece in each.hypotheses[0]] for each in found]
        return [target.decode(ids) for ids in outputs], sum(len(ids) + 1 for ids in outputs)

    return translate


def pieces_of(folder: Path, side: str) -> list[str]:
    own, shared = folder / f"{side}_vocabulary.json", folder / "shared_vocabulary.json"
    return json.loads((own if own.exists() else shared).read_text(encoding="utf-8"))


def transformers_engine(run: Path, length: int, least: int, precision: str) -> Translate:
    import torch

    from hexapla.data.batches import collate, in_length_order
    from hexapla.runs import Run
    from marian import marian_of

    opened = Run.open(run)
    model = marian_of(opened.model).to({"fp32": torch.float32, "bf16": torch.bfloat16}[precision])
    torch.set_num_threads(PROCESSORS)
    never = [opened.model.specials.pad, opened.model.specials.unk, opened.model.specials.bos]

    def translate(lines: list[str], width: int, batch: int) -> Answer:
        read, texts, tokens = opened.source.encode_batch(lines), [""] * len(lines), 0
        for rows in in_length_order([len(ids) for ids in read], batch_size=batch):
            ids = collate([read[i] for i in rows], [[] for _ in rows], opened.model.specials).source
            with torch.inference_mode():
                found = model.generate(
                    input_ids=ids, attention_mask=(ids != never[0]).long(), num_beams=width, do_sample=False, max_new_tokens=length,
                    min_new_tokens=least, length_penalty=1.0, early_stopping=width > 1, suppress_tokens=never,
                )  # fmt: skip
            for i, row in zip(rows, found.tolist(), strict=True):
                output = row[1:]
                output = output[: output.index(opened.model.specials.eos)] if opened.model.specials.eos in output else output
                texts[i], tokens = opened.target.decode(output), tokens + len(output) + 1
        return texts, tokens

    return translate


def engine(name: str, run: Path, length: int, least: int, exports: Path) -> Translate:
    kind, _, variant = name.partition("-")
    if kind == "hexapla":
        return hexapla_engine(run, length, least)
    if kind == "ctranslate2":
        return ctranslate2_engine(run, length, least, str(exports / variant))
    return transformers_engine(run, length, least, variant)


def serve(name: str, run: Path, length: int, least: int, exports: Path) -> None:
    """An engine's process: a JSON line in, [lines, width, batch size]; a JSON line out."""
    translate = engine(name, run, length, least, exports)
    for asked in sys.stdin:
        lines, width, batch = json.loads(asked)
        began, used = time.perf_counter(), processor_seconds()
        texts, tokens, each = [], 0, []
        for some in [lines] if batch > 1 else [[line] for line in lines]:
            start = time.perf_counter()
            found, count = translate(some, width, batch)
            texts, tokens, each = texts + found, tokens + count, [*each, time.perf_counter() - start]
        answer = {
            "seconds": time.perf_counter() - began, "processor_seconds": processor_seconds() - used, "tokens": tokens,
            "p50_ms": statistics.median(each) * 1000, "texts": texts,
        }  # fmt: skip
        print(json.dumps(answer), flush=True)


def processor_seconds() -> float:
    """Of this process and those it has waited for: what a busy machine disturbs less."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Engine:
    def __init__(self, name: str, arguments: Sequence[str]):
        around = os.environ | {"OMP_NUM_THREADS": str(PROCESSORS if name.startswith("transformers") else 1)}
        command = [sys.executable, "-W", "ignore", __file__, "--engine", name, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=around)

    def ask(self, lines: list[str], width: int, batch: int) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([lines, width, batch]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()


def exported(run: Path, into: Path, names: Sequence[str]) -> None:
    """What CTranslate2 reads, of each type asked for."""
    from hexapla.interop.ctranslate2_model import write_model
    from hexapla.runs import Run

    opened = Run.open(run)
    source, target = (side.pieces(range(side.vocab_size)) for side in (opened.source, opened.target))
    for name in names:
        if name.startswith("ctranslate2-"):
            variant: Any = name.partition("-")[2]
            (into / variant).mkdir()
            write_model(opened.model, into / variant, source=source, target=target, type=variant, positions=1024)


def measured(engines: dict[str, Engine], lines: list[str], width: int, batch: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Each engine's runs, in turn; the first round is thrown away."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
    for _ in range(rounds + 1):
        for name, each in engines.items():
            runs[name].append(each.ask(lines, width, batch))
    ours = runs["hexapla"][0]["texts"] if "hexapla" in runs else None
    return {name: summary(found[1:], found[0], ours) for name, found in runs.items()}


def summary(runs: list[dict[str, Any]], first: dict[str, Any], ours: list[str] | None) -> dict[str, Any]:
    def spread(key: str) -> dict[str, float]:
        values = [run[key] for run in runs]
        return {"median": statistics.median(values), "least": min(values), "most": max(values)}

    same = None if ours is None else sum(a == b for a, b in zip(first["texts"], ours, strict=True)) / len(ours)
    return {
        **{key: spread(key) for key in ("seconds", "processor_seconds", "p50_ms")}, "tokens": first["tokens"],
        "texts_equal_to_hexapla": same, "runs": len(runs),
    }  # fmt: skip


def shown(question: str, found: dict[str, dict[str, Any]]) -> str:
    rows = [f"{question:20}{'tokens/s':>10} {'(spread)':>17}{'tokens/cpu-s':>14}{'p50 ms':>9}{'hexapla is':>12}{'same text':>11}"]
    ours = found.get("hexapla")
    for name, each in found.items():
        seconds, tokens = each["seconds"], each["tokens"]
        rate = tokens / seconds["median"]
        times = f"{ours['tokens'] / ours['seconds']['median'] / rate:.2f} x" if ours else ""
        same = "" if each["texts_equal_to_hexapla"] is None else f"{each['texts_equal_to_hexapla']:.1%}"
        spread = f"({tokens / seconds['most']:,.0f}-{tokens / seconds['least']:,.0f})"
        per_processor, p50 = tokens / each["processor_seconds"]["median"], each["p50_ms"]["median"]
        rows.append(f"  {name:18}{rate:10,.0f} {spread:>17}{per_processor:14,.0f}{p50:9.1f}{times:>12}{same:>11}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES[:4]))
    parser.add_argument("--questions", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    parser.add_argument("--lines", type=int, default=1000, help="how many of stdin")
    parser.add_argument("--alone", type=int, default=50, help="how many of them one at a time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--max-length", type=int, default=100)
    parser.add_argument("--min-length", type=int, default=0, help="as --max-length for models that nobody trained: all outputs are as long")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--exports", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.engine:
        return serve(asked.engine, asked.runs[0], asked.max_length, asked.min_length, asked.exports)
    from machine import append, where

    lines = [line.rstrip("\n") for line in sys.stdin][: asked.lines]
    for run in asked.runs:
        with tempfile.TemporaryDirectory() as exports:
            exported(run, Path(exports), asked.engines)
            options = ["--exports", exports, "--max-length", str(asked.max_length), "--min-length", str(asked.min_length)]
            engines = {name: Engine(name, [str(run), *options]) for name in asked.engines}
            try:
                for question in asked.questions:
                    width, batch = QUESTIONS[question]
                    some = lines if batch > 1 else lines[: asked.alone]
                    found = measured(engines, some, width, batch, asked.rounds)
                    print(f"{run.name}, {shown(question, found)}", flush=True)
                    append("decode", {"run": run.name, "question": question, "lines": len(some), "engines": found, **where(PROCESSORS)})
            finally:
                for each in engines.values():
                    each.end()


if __name__ == "__main__":
    main()
