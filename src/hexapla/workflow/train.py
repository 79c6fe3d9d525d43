"""train: a prepared folder to a run folder. On a run that exists it goes on exactly where it stopped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from hexapla.config.decoding import Beam
from hexapla.config.edge import checked, to_mapping
from hexapla.config.run import RunConfig
from hexapla.data.batches import Batch, Batches, collate, in_length_order
from hexapla.data.prepared import Prepared, Split
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.models.build import build, parameter_count
from hexapla.objectives.sequence import transduction
from hexapla.runs import ABOUT, Run
from hexapla.training.hooks import Best, Hook, Listener, Measure, MetricsLog, Save, Validate
from hexapla.training.trainer import Position, Trainer, seed_step
from hexapla.workflow.translate import translate

MAY_CHANGE = (
    "training.steps",
    "training.validation",
    "training.checkpoint_every",
    "training.keep_last",
    "training.log_every",
    "decoding",
    "rules",
)
"""settings that a resumed run may change: none of them reaches an update"""


def train(
    data: Prepared | str | Path,
    config: RunConfig,
    *,
    into: str | Path,
    steps: int | None = None,
    listeners: Sequence[Listener] = (),
    hooks: Sequence[Hook] = (),
) -> Run:
    """Train on a prepared folder into a run folder; `steps` overrides config.training.steps.

    A run folder that exists is resumed: the result is bit for bit that of training without a stop, on the same machine and thread count.
    `listeners` are shown the progress, `hooks` take part in it (see training.hooks).
    Raises ConfigError: settings that cannot be, or differ from the run's; DataError: other data than the run's; CheckpointError;
    StorageError; DivergenceError.
    """
    data = data if isinstance(data, Prepared) else Prepared.open(data)
    if steps is not None:
        config = replace(config, training=replace(config.training, steps=steps))
    config, into = checked(config), Path(into)
    match_data(config, data)
    into.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(into.with_name(f".{into.name}.lock"), timeout=0):
            run = reopened(into, config, data) if (into / ABOUT).exists() else Run.create(into, config, data)
            work(run, data, listeners, hooks)
    except Timeout:
        raise CheckpointError(f"{into}: another process trains in this folder; wait for it, or train into another") from None
    return Run.open(into)


def match_data(config: RunConfig, data: Prepared) -> None:
    model = config.model
    if (model.source_vocab, model.target_vocab) != (data.source_vocab, data.target_vocab):
        raise ConfigError(
            f"model.source_vocab, target_vocab = {model.source_vocab}, {model.target_vocab}: "
            f"the vocabularies of {data.path} have {data.source_vocab} and {data.target_vocab} entries"
        )
    if model.tie == "all" and not data.joint:
        raise ConfigError("model.tie = all: the two sides of the data have vocabularies of their own; set model.tie = decoder")


def reopened(path: Path, config: RunConfig, data: Prepared) -> Run:
    run = Run.open(path)
    if run.about["data"] != data.fingerprint:
        raise DataError(f"{data.path}: not the data that {path} was trained on; use that, or train into another folder")
    old, new = flat(to_mapping(run.config)), flat(to_mapping(config))
    changed = [
        f"{name}: {old.get(name)} -> {new.get(name)}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and not name.startswith(MAY_CHANGE)
    ]
    if changed:
        raise ConfigError(
            f"{path}: a run cannot go on with other settings ({'; '.join(changed)}); use the old ones, or train into another folder"
        )
    return Run(path, config, run.about)


def flat(values: dict[str, Any], path: str = "") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, value in values.items():
        rows |= flat(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return rows


def work(run: Run, data: Prepared, listeners: Sequence[Listener], hooks: Sequence[Hook]) -> None:
    config = run.config.training
    seed_step(config.seed, -1)
    run.model = model = build(run.config).to(best_device())
    batches = Batches(data.train, specials=run.config.model.specials, batch_tokens=config.batch_tokens, seed=config.seed)
    trainer = Trainer(model, transduction(config.label_smoothing), config, d_model=run.config.model.d_model)
    best, complaints = resume(run, trainer)
    about = {
        "run": str(run.path),
        "parameters": parameter_count(model),
        "train_pairs": len(data.train),
        "dev_pairs": len(data.dev) if data.dev else 0,
        "device": str(trainer.device),
        "threads": torch.get_num_threads(),
        "log_every": config.log_every,
        "complaints": complaints,
    }
    log = MetricsLog(run.path / "metrics.jsonl", config.log_every, from_step=trainer.position.step)
    told = [log, *listeners]
    validate = Validate(judge(run, data.dev), config.validation, best, told) if data.dev else None
    save = Save(run.checkpoints, config.checkpoint_every, best, validate, told)
    trainer.hooks = [Measure(told, about), *([validate] if validate else []), save, *hooks]
    trainer.fit(batches.iterate)


def resume(run: Run, trainer: Trainer) -> tuple[Best, list[str]]:
    """Put the trainer where the newest whole checkpoint left it."""
    run.checkpoints.sweep()
    found = run.checkpoints.resume(trainer.model, trainer.optimiser)
    if found is None:
        return Best(), []
    state, complaints = found
    trainer.position = Position(**state["position"])
    return Best(**state["best"]), complaints


def judge(run: Run, dev: Split) -> Callable[[], dict[str, Any]]:
    """What a validation measures: loss in nats a token without smoothing, and the scores that `hexapla evaluate` would print."""
    config = run.config.training.validation
    sources, references = dev.source_text[: config.translate], dev.target_text[: config.translate]
    scoring = Scoring(metrics=("bleu", "chrf", "exact"), tokenize=config.tokenize)

    def validation() -> dict[str, Any]:
        losses = [transduction()(run.model, batch) for batch in dev_batches(run, dev)]
        result: dict[str, Any] = {"loss": sum(loss.surprise for loss in losses) / max(1, sum(loss.count for loss in losses))}
        if config.translate:
            outputs = translate(run, sources, Beam(width=config.width))
            evaluation = score_hypotheses([output.text for output in outputs], [references], scoring)
            result |= {name: score.value for name, score in evaluation.scores.items()}
            result["signature"] = evaluation.scores["bleu"].signature
        return result

    return validation


def dev_batches(run: Run, dev: Split) -> Iterator[Batch]:
    device = next(run.model.parameters()).device
    for rows in in_length_order(dev.lengths, batch_tokens=run.config.training.batch_tokens):
        pairs = [dev.pair(i) for i in rows]
        yield collate([s for s, _ in pairs], [t for _, t in pairs], run.config.model.specials).to(device)


def best_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
