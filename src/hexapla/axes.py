"""The axes of every tensor, one letter each, and the tensors that cross a module border.

B batch · T queries, or target length · S keys, or source length · D d_model · H heads · G key-value heads · K d_k ·
W d_v · F d_ff · V vocabulary · N rows of a search (sentences x width)
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

SourceIds = Int[Tensor, "B S"]
TargetIds = Int[Tensor, "B T"]
Memory = Float[Tensor, "B S D"]
Hidden = Float[Tensor, "B T D"]
Logits = Float[Tensor, "B T V"]
RowIds = Int[Tensor, " N"]
RowLogits = Float[Tensor, "N V"]

__all__ = ["Bool", "Float", "Hidden", "Int", "Logits", "Memory", "RowIds", "RowLogits", "SourceIds", "TargetIds", "Tensor"]
