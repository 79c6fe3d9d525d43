"""Training speed: Hexapla's Trainer beside transformers and torch.nn, on the same batches, taking turns in one process.

    python benchmarks/train.py                                   # tiny and small, a few minutes
    python benchmarks/train.py paper_base --data prepared/multi30k --precisions fp32 bf16
    python benchmarks/train.py small --only hexapla --profile    # where our time goes

Same sizes, post-norm, dropout 0.1, label smoothing 0.1, tied embeddings, Adam in one fused kernel for all. Ours runs through
`Trainer.fit` and the data pipeline and reads its batches from the prepared folder; the others get theirs ready-made. Every shape is
seen once before anything is timed. Peak memory is that of a process that trains one of them alone. Real target tokens a second: medians
over the rounds. Prints a table and appends one JSON line a size to benchmarks/results/train.jsonl.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from hexapla import hardware
from hexapla.config.presets import PRESETS
from hexapla.config.run import RunConfig
from hexapla.config.training import Constant
from hexapla.data.batches import Batch, Batches
from hexapla.data.prepared import Prepared
from hexapla.models.build import build, parameter_count
from hexapla.objectives.sequence import transduction
from hexapla.training.hooks import Hook
from hexapla.training.trainer import Trainer
from hexapla.workflow import demo
from machine import append, peak_mb, where

UPDATES = {"tiny": 8, "small": 6, "paper_base": 2}
"""of one contestant's turn"""
SMOOTHING, DROPOUT, RATE = 0.1, 0.1, 1e-4


@dataclass
class Work:
    """What every contestant does in a turn: these batches, once each."""

    config: RunConfig
    batches: Batches
    rows: list[list[int]]
    loaded: list[Batch]

    @property
    def targets(self) -> int:
        return sum(int((batch.target[:, 1:] != self.config.model.specials.pad).sum()) for batch in self.loaded)


class Hexapla(Hook):
    """The Trainer, fed by the data pipeline."""

    def __init__(self, work: Work, precision: str):
        config = replace(work.config.training, precision=precision, steps=10**9)
        self.work, self.waited = work, 0.0
        objective = transduction(config.label_smoothing)
        self.trainer = Trainer(build(work.config).to(hardware.device()), objective, config, d_model=work.config.model.d_model, hooks=[self])

    def epoch(self, _epoch: int, start: int) -> Iterator[Batch]:
        for rows in self.work.rows[start:]:
            began = time.perf_counter()
            batch = self.work.batches.load(rows)
            self.waited += time.perf_counter() - began
            yield batch

    def updated(self, trainer: Any, record: Any) -> None:
        if trainer.position.cursor == len(self.work.rows):
            trainer.stop("the turn is over")

    def turn(self) -> None:
        self.trainer.stop_reason, self.trainer.position.cursor = None, 0
        self.trainer.fit(self.epoch)


class Other:
    """A plain training loop around another's model: logits from source and target ids."""

    def __init__(self, work: Work, precision: str, model: nn.Module, logits: Callable[[Any, Any], Any]):
        self.device = hardware.device()
        self.work, self.model, self.logits = work, model.train().to(self.device), logits
        self.bf16 = precision == "bf16"
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True)

    def turn(self) -> None:
        pad = self.work.config.model.specials.pad
        for batch in (loaded.to(self.device) for loaded in self.work.loaded):
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
                logits = self.logits(batch.source, batch.target[:, :-1])
                gold = batch.target[:, 1:].flatten()
                loss = F.cross_entropy(logits.flatten(0, 1), gold, ignore_index=pad, label_smoothing=SMOOTHING)
            loss.backward()
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            float(loss.detach())


def marian(work: Work, precision: str) -> Other:
    import transformers

    model, stack, pad = work.config.model, work.config.model.encoder, work.config.model.specials.pad
    theirs = transformers.MarianMTModel(
        transformers.MarianConfig(
            vocab_size=model.source_vocab,
            d_model=model.d_model,
            encoder_layers=stack.layers,
            decoder_layers=stack.layers,
            encoder_attention_heads=stack.attention.heads,
            decoder_attention_heads=stack.attention.heads,
            encoder_ffn_dim=stack.feed_forward.d_ff,
            decoder_ffn_dim=stack.feed_forward.d_ff,
            activation_function="relu",
            scale_embedding=True,
            dropout=DROPOUT,
            attention_dropout=0.0,
            activation_dropout=0.0,
            max_position_embeddings=512,
            pad_token_id=pad,
            eos_token_id=model.specials.eos,
            forced_eos_token_id=None,
            decoder_start_token_id=model.specials.bos,
        )
    )

    def logits(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return theirs(input_ids=source, attention_mask=source != pad, decoder_input_ids=target, use_cache=False).logits

    return Other(work, precision, theirs, logits)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with what it leaves to its users: embeddings, positions, the tied projection."""

    def __init__(self, config: Any):
        super().__init__()
        stack, self.pad, self.scale = config.encoder, config.specials.pad, config.d_model**0.5
        self.embedding = nn.Embedding(config.source_vocab, config.d_model)
        self.positions = nn.Parameter(torch.randn(512, config.d_model), requires_grad=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            config.d_model, stack.attention.heads, stack.layers, stack.layers, stack.feed_forward.d_ff, DROPOUT, batch_first=True
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        padding = torch.zeros(source.shape, device=source.device).masked_fill(source == self.pad, -torch.inf)
        hidden = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=source.device),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)


def torch_nn(work: Work, precision: str) -> Other:
    model = TorchTransformer(work.config.model)
    return Other(work, precision, model, model)


CONTESTANTS: dict[str, Callable[[Work, str], Any]] = {"hexapla": Hexapla, "transformers": marian, "torch.nn": torch_nn}


def work_of(size: str, data: Prepared, tokens: int, updates: int) -> Work:
    """The first batches of an epoch, as training would see them."""
    preset = PRESETS[size](data.source_vocab, None)
    stack = replace(preset.model.encoder, dropout=DROPOUT)
    training = replace(
        preset.training, batch_tokens=tokens, label_smoothing=SMOOTHING, schedule=Constant(peak=RATE), accumulate=1, clip=None
    )
    config = replace(preset, model=replace(preset.model, encoder=stack, decoder=stack, dropout=DROPOUT), training=training)
    batches = Batches(data.train, specials=config.model.specials, batch_tokens=tokens, seed=1)
    rows = list(islice(batches.order(0), updates))
    return Work(config, batches, rows, [batches.load(each) for each in rows])


def compared(work: Work, names: Sequence[str], rounds: int) -> dict[str, dict[str, float]]:
    """Real target tokens a second of each contestant, taken in turn."""
    contestants = {}
    for name in names:
        torch.manual_seed(1)
        kind, precision = name.split()
        contestants[name] = CONTESTANTS[kind](work, precision)
        contestants[name].turn()
    speeds: dict[str, list[float]] = {name: [] for name in names}
    ours = [c for c in contestants.values() if isinstance(c, Hexapla)]
    for one in ours:
        one.waited = 0.0
    ours_seconds = 0.0
    for _ in range(rounds):
        for name, contestant in contestants.items():
            began = time.perf_counter()
            contestant.turn()
            seconds = time.perf_counter() - began
            speeds[name].append(work.targets / seconds)
            ours_seconds += seconds if isinstance(contestant, Hexapla) else 0.0
    found = {name: {"median": statistics.median(s), "least": min(s), "most": max(s)} for name, s in speeds.items()}
    if ours:
        found["hexapla waiting for batches"] = {"share": sum(one.waited for one in ours) / ours_seconds}
    return found


def peak(size: str, name: str, asked: argparse.Namespace) -> float:
    """MB of a process that trains this one alone."""
    command = [sys.executable, __file__, size, "--only", *name.split(), "--data", str(asked.data), "--threads", str(asked.threads)]
    command += ["--tokens", str(asked.tokens), "--rounds", "1", "--peak"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["peak_mb"]


def profile(work: Work, name: str) -> str:
    torch.manual_seed(1)
    kind, precision = name.split()
    contestant = CONTESTANTS[kind](work, precision)
    contestant.turn()
    with torch.profiler.profile() as seen:
        contestant.turn()
    return seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=40)


def shown(size: str, answer: dict[str, Any]) -> str:
    """A table; times is how many times ours, in the same precision, is faster."""
    lines = [f"{size}: {answer['parameters']:,} parameters, {answer['targets']:,} target tokens a turn, {answer['rounds']} rounds"]
    speeds = {name: way for name, way in answer["ways"].items() if "median" in way}
    ours = max((way["median"] for name, way in speeds.items() if name.startswith("hexapla")), default=None)
    for name, way in speeds.items():
        times = f"{ours / way['median']:5.2f} times slower than our best" if ours and not name.startswith("hexapla") else ""
        memory = f"{answer['peak_mb'][name]:7,.0f} MB" if name in answer["peak_mb"] else ""
        lines.append(f"  {name:20}{way['median']:9,.0f} tokens/s  ({way['least']:,.0f} to {way['most']:,.0f}){memory}  {times}")
    waiting = answer["ways"].get("hexapla waiting for batches")
    return "\n".join(lines + ([f"  waiting for batches: {waiting['share']:.2%} of our time"] if waiting else []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=["tiny", "small"], choices=list(UPDATES), metavar="SIZE")
    parser.add_argument("--data", type=Path, help="a folder made by hexapla prepare, with one vocabulary; unset: the demo's")
    parser.add_argument("--tokens", type=int, default=4096, help="source and target positions a batch")
    parser.add_argument("--updates", type=int, help="of one turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--precisions", nargs="+", default=["fp32"], choices=["fp32", "bf16"])
    parser.add_argument("--only", nargs=2, metavar=("NAME", "PRECISION"))
    parser.add_argument("--peak", action="store_true", help="print the peak memory of this process, for --only one")
    parser.add_argument("--profile", action="store_true", help="print where the time of --only one goes")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with tempfile.TemporaryDirectory() as folder:
        if asked.data is None:
            asked.data = demo.data("en-de", demo.corpus_files("en-de", Path(folder)), Path(folder)).path
        data = Prepared.open(asked.data)
        for size in asked.sizes:
            work = work_of(size, data, asked.tokens, asked.updates or UPDATES[size])
            names = [" ".join(asked.only)] if asked.only else [f"{kind} {p}" for p in asked.precisions for kind in CONTESTANTS]
            if asked.profile:
                print(profile(work, names[0]))
                continue
            ways = compared(work, names, asked.rounds)
            if asked.peak:
                print(json.dumps({"peak_mb": peak_mb()}))
                continue
            answer = {
                "size": size,
                "tokens": asked.tokens,
                "targets": work.targets,
                "rounds": asked.rounds,
                "parameters": parameter_count(build(work.config)),
                "ways": ways,
                "peak_mb": {name: peak(size, name, asked) for name in names},
            }
            print(shown(size, answer), flush=True)
            if not asked.only:
                append("train", {**answer, **where(asked.threads)})


if __name__ == "__main__":
    main()
