"""The objective of translation: each target token from the source and the target tokens before it."""

from collections.abc import Callable

from hexapla.data.batches import Batch
from hexapla.models.contract import Transducer
from hexapla.objectives.loss import Loss, smoothed_cross_entropy

Objective = Callable[[Transducer, Batch], Loss]


def transduction(label_smoothing: float = 0.0) -> Objective:
    """Teacher forcing: the decoder reads the reference shifted right, section 3.1, and is scored on the token that follows."""

    def objective(model: Transducer, batch: Batch) -> Loss:
        specials = model.specials
        logits = model(batch.source, batch.target[:, :-1])
        return smoothed_cross_entropy(
            logits, batch.target[:, 1:], smoothing=label_smoothing, pad=specials.pad, never=(specials.pad, specials.bos)
        )

    return objective
