"""What a validation during training measures."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hexapla.config.decoding import Beam
from hexapla.data.batches import Batch, collate, in_length_order
from hexapla.data.prepared import Split
from hexapla.errors import CheckpointError
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.objectives.sequence import transduction
from hexapla.runs import Run
from hexapla.training.memory import enough_memory_for
from hexapla.workflow.translate import translate


def judge(run: Run, dev: Split) -> Callable[[], dict[str, Any]]:
    """Loss in nats a token, without smoothing, and the scores that `hexapla evaluate` would print for the first dev sentences."""
    config = run.config.training.validation
    sources, references = dev.source_text[: config.translate], dev.target_text[: config.translate]
    scoring = Scoring(metrics=("bleu", "chrf", "exact"), tokenize=config.tokenize)
    objective = transduction()
    order = in_length_order(dev.lengths, batch_tokens=run.config.training.batch_tokens)  # while the file is as it was opened

    def validation() -> dict[str, Any]:
        losses = []
        for batch in dev_batches(run, dev, order):
            with enough_memory_for(lambda batch=batch: f"validation: {batch}", "lower training.batch_tokens"):
                losses.append(objective(run.model, batch))
        result: dict[str, Any] = {"loss": sum(loss.surprise for loss in losses) / max(1, sum(loss.count for loss in losses))}
        return result | (scores(run, sources, references, Beam(width=config.width), scoring) if config.translate else {})

    return validation


def scores(run: Run, sources: Sequence[str], references: Sequence[str], beam: Beam, scoring: Scoring) -> dict[str, Any]:
    """Each score by name; NaN where the model's probabilities are not numbers, which is no reason for training to end."""
    try:
        outputs = translate(run, sources, beam)
    except CheckpointError:
        return dict.fromkeys(scoring.metrics, math.nan)
    evaluation = score_hypotheses([output.text for output in outputs], [references], scoring)
    return {name: score.value for name, score in evaluation.scores.items()} | {"signature": evaluation.scores["bleu"].signature}


def dev_batches(run: Run, dev: Split, order: Sequence[Sequence[int]]) -> Iterator[Batch]:
    device = next(run.model.parameters()).device
    for rows in order:
        with dev.unchanged():
            pairs = [dev.pair(i) for i in rows]
        yield collate([s for s, _ in pairs], [t for _, t in pairs], run.config.model.specials).to(device)
