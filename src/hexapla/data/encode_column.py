"""Many texts to ids at once."""

import pyarrow as pa
import pyarrow.compute as pc

from hexapla.data.shards import list_column
from hexapla.data.tokenizer import Tokenizer


def encode_column(tokenizer: Tokenizer, texts: pa.StringArray) -> pa.ListArray:
    """The ids that `encode_batch` gives, as a column.

    A corpus says the same words over and over: where they are read one by one, each different one of the column is encoded once.
    """
    if not tokenizer.by_word:
        return list_column(tokenizer.encode_batch(texts.to_pylist()))
    words = pc.call_function("split_pattern", [texts], pc.SplitPatternOptions(" "))
    different = words.values.dictionary_encode()
    ids = list_column(tokenizer.encode_batch(different.dictionary.to_pylist())).take(different.indices)
    return pa.ListArray.from_arrays(ids.offsets.take(words.offsets), ids.values)
