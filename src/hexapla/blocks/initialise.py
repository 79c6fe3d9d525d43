"""The weights a model starts from."""

from torch import nn

from hexapla.blocks.embedding import Embedding, Output
from hexapla.blocks.positions import LearnedPositions


def initialise(model: nn.Module) -> None:
    """Xavier uniform for matrices (Glorot and Bengio 2010), zero for biases, N(0, 1/d_model) for embeddings.

    The paper does not say; these are tensor2tensor's, its own implementation. Times √d_model, an embedding has unit variance, as
    the positions nearly have. Draws from torch's global generator, in the order of `model.modules()`. On the meta device there are
    shapes alone, and nothing is drawn.
    """
    for module in model.modules():
        if any(parameter.is_meta for parameter in module.parameters(recurse=False)):
            continue
        match module:
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            case Embedding() | LearnedPositions():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Output():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
