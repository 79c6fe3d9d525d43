"""The batch of an epoch that needs the most memory, to be tried before the first update."""

from hexapla.config.model import Seq2SeqConfig
from hexapla.data.batches import Batches


def costliest(batches: Batches, rows: list[list[int]], model: Seq2SeqConfig) -> list[int]:
    """Of batches, as pair numbers, the one whose logits and attention weights are the most numbers.

    All else that a batch needs grows with its positions, of which all batches have about as many.
    """

    def numbers(batch: list[int]) -> int:
        source, target = (int(width) for width in batches.widths[batch].max(axis=0))
        encoder, decoder = (stack.layers * stack.attention.heads for stack in (model.encoder, model.decoder))
        return len(batch) * (target * model.target_vocab + encoder * source**2 + decoder * target * (target + source))

    return max(rows, key=numbers)
