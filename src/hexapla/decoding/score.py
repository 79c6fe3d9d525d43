"""The probability of a given target."""

import torch

from hexapla.axes import Float, SourceIds, TargetIds, Tensor
from hexapla.errors import CheckpointError
from hexapla.models.contract import Transducer

CACHEFUL = 2**20
"""logits that are made log-probabilities together: copies of all of a long text's would be larger than anything else"""
NOT_A_NUMBER = "the model's output at token {} is not a number; its weights are damaged or training diverged: use another checkpoint"


@torch.inference_mode()
def forced_log_probs(model: Transducer, source: SourceIds, target: TargetIds) -> Float[Tensor, "B T1"]:
    """log P(target[t+1] | source, target up to t) in nats, the end token included; 0 where the target is padding.

    Raises CheckpointError: the model gives NaN.
    """
    logits, gold = model(source, target[:, :-1]), target[:, 1:]
    together = max(1, CACHEFUL // logits.shape[-1])
    parts = zip(logits.flatten(0, 1).split(together), gold.flatten().split(together), strict=True)
    found = torch.cat([some.float().log_softmax(dim=-1).gather(1, ids[:, None])[:, 0] for some, ids in parts])
    found = found.view(gold.shape).masked_fill(gold == model.specials.pad, 0.0)
    wrong = found.isnan().any(dim=0)
    if wrong.any():
        raise CheckpointError(NOT_A_NUMBER.format(int(wrong.int().argmax()) + 1))
    return found
