"""The objective of translation: each target token from the source and the target tokens before it."""

from collections.abc import Callable

from hexapla.data.batches import Batch
from hexapla.models.contract import Trainable
from hexapla.objectives.loss import Loss, smoothed_cross_entropy

Objective = Callable[[Trainable, Batch], Loss]


def transduction(label_smoothing: float = 0.0) -> Objective:
    """Teacher forcing: the decoder reads the reference shifted right, section 3.1, and is scored on the token that follows."""

    def objective(model: Trainable, batch: Batch) -> Loss:
        specials, output = model.specials, model.output
        hidden = model.hidden(batch.source, batch.target[:, :-1])
        never = (specials.pad, specials.bos)
        return smoothed_cross_entropy(
            hidden, output.weight, output.bias, batch.target[:, 1:], smoothing=label_smoothing, pad=specials.pad, never=never
        )

    return objective
