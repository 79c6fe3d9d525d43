"""The probability of a given target."""

import torch

from hexapla.axes import Float, SourceIds, TargetIds, Tensor
from hexapla.errors import CheckpointError
from hexapla.models.contract import Transducer

NOT_A_NUMBER = "the model's output at token {} is not a number; its weights are damaged or training diverged: use another checkpoint"


@torch.inference_mode()
def forced_log_probs(model: Transducer, source: SourceIds, target: TargetIds) -> Float[Tensor, "B T1"]:
    """log P(target[t+1] | source, target up to t) in nats, the end token included; 0 where the target is padding.

    Raises CheckpointError: the model gives NaN.
    """
    log_probs = model(source, target[:, :-1]).float().log_softmax(dim=-1)
    gold = target[:, 1:]
    found = log_probs.gather(-1, gold[..., None])[..., 0].masked_fill(gold == model.specials.pad, 0.0)
    wrong = found.isnan().any(dim=0)
    if wrong.any():
        raise CheckpointError(NOT_A_NUMBER.format(int(wrong.int().argmax()) + 1))
    return found
