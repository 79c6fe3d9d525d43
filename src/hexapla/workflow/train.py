"""train: a prepared folder to a run folder. On a run that exists it goes on exactly where it stopped."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from hexapla import hardware
from hexapla.config.changes import differences
from hexapla.config.edge import checked, to_mapping
from hexapla.config.model import Learned
from hexapla.config.presets import small
from hexapla.config.run import RunConfig
from hexapla.config.training import Precision
from hexapla.data.batches import Batch, Batches, positions_of
from hexapla.data.folder import locked
from hexapla.data.prepared import Prepared, Split
from hexapla.errors import CheckpointError, ConfigError, DataError, StorageError
from hexapla.evaluation.corpus import available
from hexapla.models.build import build, parameter_count
from hexapla.objectives.sequence import transduction
from hexapla.runs import ABOUT, CONFIG, METRICS, Run
from hexapla.training.checkpoint import remove_temporary
from hexapla.training.hooks import Best, Hook, Listener, Measure, Save, Validate
from hexapla.training.metrics import MetricsLog
from hexapla.training.signals import StopOnSignal
from hexapla.training.trainer import Position, Trainer, seed_step
from hexapla.workflow.resume import elsewhere, refuse_changes, repacked, surroundings, trained_with, warnings
from hexapla.workflow.trial import costliest
from hexapla.workflow.validation import judge

LOCK = ".lock"


def train(
    data: Prepared | str | Path,
    config: RunConfig | None = None,
    *,
    into: str | Path,
    steps: int | None = None,
    threads: int | None = None,
    listeners: Sequence[Listener] = (),
    hooks: Sequence[Hook] = (),
) -> Run:
    """Train on a prepared folder into a run folder; `steps` overrides config.training.steps.

    A run folder that exists is resumed: the result is bit for bit that of training without a stop, on the same machine with the same
    PyTorch and as many threads; unset, `threads` are therefore those of the run so far. Unset, `config` is the run's own, or the preset
    small. `listeners` are shown the progress, `hooks` take part in it (see training.hooks). SIGTERM and Ctrl-C end training after the
    update in work, with a checkpoint; SystemExit(143) or KeyboardInterrupt follows.
    Raises ConfigError: settings that cannot be, or differ from the run's; DataError: other data than the run's; CheckpointError;
    StorageError; DivergenceError.
    """
    data, into = data if isinstance(data, Prepared) else Prepared.open(data), Path(into)
    begin(into, data, config, steps)
    with alone_in(into), as_many_threads(threads):
        run = opened(into, data, config, steps)
        Training(run, data, listeners, hooks, any_threads=threads is None).work()
    return Run.open(into)


@contextmanager
def alone_in(run: Path) -> Iterator[None]:
    """Keep other trainers out, whatever path they call the folder by; the lock ends with its process, its empty file stays.

    Raises CheckpointError: one is at work; StorageError: the place cannot be written.
    """
    try:
        lock = locked(run / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except BlockingIOError:
        raise CheckpointError(f"{run}: another process trains in this folder; wait for it, or train into another") from None
    except OSError as error:
        raise StorageError(f"{error.filename or run / LOCK}: {error.strerror or error}; cannot write there") from None
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def as_many_threads(wanted: int | None) -> Iterator[None]:
    """`wanted` threads for a while; how many there were before comes back in any case."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(wanted or before)
        yield
    finally:
        torch.set_num_threads(before)


def begin(into: Path, data: Prepared, config: RunConfig | None, steps: int | None) -> None:
    """Make the run folder where there is none. Nothing is written before all is found to fit."""
    if not (into / ABOUT).exists():
        wanted = small(data.source_vocab, None if data.joint else data.target_vocab) if config is None else config
        wanted = fitting(data, settled(wanted, hardware.precision(hardware.device(), wanted.model.d_model)), steps)
        try:
            Run.create(into, wanted, data)
        except ConfigError:
            if not (into / ABOUT).exists():  # else another process was faster
                raise


def opened(into: Path, data: Prepared, config: RunConfig | None, steps: int | None) -> Run:
    """The run to work on, with the settings asked for if it may take them. Nothing is written before all is found to fit."""
    run = Run.open(into)
    if run.about.get("data") != data.fingerprint:
        raise DataError(
            f"{data.path}: not the data that {into} was trained on: its fingerprint is {data.fingerprint}, the run's is "
            f"{run.about.get('data')}; give the folder of that fingerprint, wherever it is now, or train into another run folder"
        )
    config = fitting(data, run.config if config is None else settled(config, run.config.training.precision), steps)
    refuse_changes(run, config)
    return run if config == run.config else run.configured(config)


def settled(config: RunConfig, precision: Precision) -> RunConfig:
    """With this precision, where `config` leaves it open."""
    if config.training.precision != "auto":
        return config
    return replace(config, training=replace(config.training, precision=precision))


def fitting(data: Prepared, config: RunConfig, steps: int | None) -> RunConfig:
    """The settings, with `steps` in them. Raises ConfigError: they cannot be, or do not fit the data."""
    if steps is not None:
        config = replace(config, training=replace(config.training, steps=steps))
    config = checked(config)
    refuse_misfit(config, data)
    return config


def refuse_misfit(config: RunConfig, data: Prepared) -> None:
    """Raises ConfigError: settings that this data cannot be trained with."""
    model, validation = config.model, config.training.validation
    if (model.source_vocab, model.target_vocab) != (data.source_vocab, data.target_vocab):
        raise ConfigError(
            f"model.source_vocab, target_vocab = {model.source_vocab}, {model.target_vocab}: "
            f"the vocabularies of {data.path} have {data.source_vocab} and {data.target_vocab} entries"
        )
    if model.tie == "all" and not data.joint:
        raise ConfigError("model.tie = all: the two sides of the data have vocabularies of their own; set model.tie = decoder")
    if validation.metric != "loss" and not validation.translate:
        raise ConfigError(
            f"training.validation.metric = {validation.metric}: needs translations, but training.validation.translate = 0; "
            "set it to how many sentences, or metric = loss"
        )
    if validation.patience is not None and not data.dev:
        raise ConfigError(
            f"training.validation.patience = {validation.patience}: {data.path} has no dev pairs to validate on; "
            "leave it unset, or prepare with a dev set"
        )
    if validation.translate and data.dev and validation.tokenize != "auto":
        try:
            available(validation.tokenize)
        except ConfigError as error:
            raise ConfigError(f"training.validation.{error}") from None
    if isinstance(model.positions, Learned):
        for split in filter(None, (data.train, data.dev)):
            refuse_beyond_positions(model.positions.length, split)
    Batches(data.train, specials=model.specials, batch_tokens=config.training.batch_tokens, seed=config.training.seed)


def refuse_beyond_positions(length: int, split: Split) -> None:
    """Raises ConfigError: some text, padded as batches are, goes beyond the last learned position."""
    widths = positions_of(split.lengths).max(axis=1)
    longest = int(widths.argmax())
    if widths[longest] > length:
        raise ConfigError(
            f"model.positions.length = {length}: the pair of line {split.line(longest)} takes {widths[longest]} positions; give at least "
            f"{widths[longest]}, prepare with a smaller cleaning.max_tokens, or set model.positions.kind = sinusoidal"
        )


class Training:
    """One process' work on a run: from the newest whole checkpoint to the end."""

    def __init__(self, run: Run, data: Prepared, listeners: Sequence[Listener], hooks: Sequence[Hook], *, any_threads: bool):
        self.run, self.data, self.listeners, self.hooks, self.any_threads = run, data, listeners, hooks, any_threads
        self.config = run.config.training
        seed_step(self.config.seed, -1)
        run.model = build(run.config).to(hardware.device())
        self.trainer = Trainer(
            run.model, transduction(self.config.label_smoothing), self.config, d_model=run.config.model.d_model, lines=self.lines
        )
        self.best = Best(self.config.validation.metric)
        self.notices: list[str] = []

    def lines(self, batch: Batch) -> list[int]:
        return [self.data.train.line(i) for i in batch.rows]

    def work(self) -> None:
        config, trainer = self.config, self.trainer
        saved = self.resume()
        window = saved.get("window") if saved else None
        self.log = MetricsLog(self.run.path / METRICS, config.log_every, from_step=trainer.position.step, window=window)
        told = [self.log, *self.listeners]
        save = Save(self.run.checkpoints, config.checkpoint_every, self.best, self.state, saved, told)
        if self.data.dev:
            validation = judge(self.run, self.data.dev)
            trainer.hooks = [Validate(validation, config.validation, self.best, save.save, told)]
        batches = Batches(self.data.train, specials=self.run.config.model.specials, batch_tokens=config.batch_tokens, seed=config.seed)
        trainer.hooks = [Measure(told, self.about() | self.tried_out(batches)), *trainer.hooks, save, *self.hooks]
        with StopOnSignal(trainer) as signals:
            trainer.fit(lambda epoch, start: batches.iterate(epoch, start, trainer.position.earlier))
        signals.leave_if_asked()

    def tried_out(self, batches: Batches) -> dict[str, Any]:
        """The memory that training will need, once its costliest batch has had what it needs; nothing where training has ended.

        Raises OutOfMemoryError: before the first update, rather than at some later one.
        """
        trainer = self.trainer
        if not trainer.goes_on() or self.best.tired(self.config.validation.patience):
            return {}
        rows = batches.order(trainer.position.epoch, trainer.position.earlier)
        if not rows:
            return {}
        return {"memory": trainer.try_out(batches.load(costliest(batches, rows, self.run.config.model)))}

    def state(self) -> dict[str, Any]:
        """state.json of a checkpoint: all but the tensors that the next update depends on, and what is told with it."""
        return {
            "position": asdict(self.trainer.position),
            "best": asdict(self.best),
            "window": dict(self.log.window),
            "threads": torch.get_num_threads(),
            **surroundings(self.trainer.device),
            **self.run.origin(),
            "training": to_mapping(self.config),
        }

    def resume(self) -> dict[str, Any] | None:
        """Put everything where the newest whole checkpoint left it; its state, None where there is no checkpoint."""
        checkpoints = self.run.checkpoints
        checkpoints.sweep()
        remove_temporary(self.run.path / CONFIG)
        found = checkpoints.resume(self.trainer.model, self.trainer.optimiser)
        if found is None:
            if (self.run.path / METRICS).exists():
                self.notices.append(f"{self.run.path}: was stopped before its first checkpoint; training begins anew")
            return None
        state, complaints = found
        self.run.refuse_other_origin(checkpoints.folder, state)
        self.trainer.position, best = Position(**state["position"]), Best(**state["best"])
        if best.metric == self.best.metric:
            self.best = best
        else:
            complaints.append(f"training.validation.metric: {best.metric} -> {self.best.metric}: the best is sought anew")
            self.best.judged = self.trainer.position.step
        old, new = trained_with(self.run, state), self.run.config
        repacked(self.trainer.position, old, new)
        here = surroundings(self.trainer.device)
        self.notices = [*complaints, *self.put_threads_right(state), *elsewhere(state, here), *warnings(differences(old, new), new)]
        return state

    def put_threads_right(self, state: dict[str, Any]) -> list[str]:
        """As many threads as the run had so far, unless others were asked for; a notice, where that is another number."""
        here = torch.get_num_threads()
        before = state.get("threads", here)
        if before == here:
            return []
        if not self.any_threads:
            return [f"threads: {before} -> {here}: later updates are rounded differently"]
        torch.set_num_threads(before)
        return [f"threads: {before}, as the run had so far, so that it goes on exactly"]

    def about(self) -> dict[str, Any]:
        return {
            "run": str(self.run.path),
            "parameters": parameter_count(self.run.model),
            "train_pairs": len(self.data.train),
            "dev_pairs": len(self.data.dev) if self.data.dev else 0,
            "device": str(self.trainer.device),
            "threads": torch.get_num_threads(),
            "log_every": self.config.log_every,
            "complaints": self.notices,
        }
