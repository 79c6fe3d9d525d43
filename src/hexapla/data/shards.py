"""Arrow files of pairs: how they are written, a chunk at a time, and mapped into memory again.

Columns: line (int64, from 1, in the corpus), source and target (lists of int32 ids, no begin or end marks); for a dev set also
source_text and target_text.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from hexapla.errors import DataError

IDS = pa.schema([("line", pa.int64()), ("source", pa.list_(pa.int32())), ("target", pa.list_(pa.int32()))])
IDS_AND_TEXT = IDS.append(pa.field("source_text", pa.string())).append(pa.field("target_text", pa.string()))
TEXT = pa.schema([("line", pa.int64()), ("source_text", pa.string()), ("target_text", pa.string())])

SHARD_PAIRS = 1_000_000


class ShardWriter:
    """Writes name-00000.arrow, name-00001.arrow, … into a folder; each holds `shard_pairs` pairs, the last one fewer.

    Memory: one chunk. Without any pair there is still one file, empty.
    """

    def __init__(self, folder: Path, name: str, schema: pa.Schema, *, shard_pairs: int = SHARD_PAIRS) -> None:
        self.folder = folder
        self.name = name
        self.schema = schema
        self.shard_pairs = shard_pairs
        self.files: list[Path] = []
        self.begin_shard()

    def __enter__(self) -> "ShardWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()

    def begin_shard(self) -> None:
        self.files.append(self.folder / f"{self.name}-{len(self.files):05d}.arrow")
        self.file = pa.ipc.new_file(str(self.files[-1]), self.schema)
        self.room = self.shard_pairs

    def write(self, columns: Sequence[pa.Array]) -> None:
        batch = pa.record_batch(list(columns), schema=self.schema)
        while batch.num_rows:
            if not self.room:
                self.file.close()
                self.begin_shard()
            part = batch.slice(0, self.room)
            self.file.write_batch(part)
            self.room -= part.num_rows
            batch = batch.slice(part.num_rows)


def read_chunks(file: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(file)) as source, pa.ipc.open_file(source) as reader:
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def list_column(ids: Sequence[Sequence[int]]) -> pa.ListArray:
    offsets = offsets_of(np.fromiter(map(len, ids), dtype=np.int32, count=len(ids)))
    values = np.fromiter(chain.from_iterable(ids), dtype=np.int32, count=int(offsets[-1]))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def offsets_of(sizes: np.ndarray) -> np.ndarray:
    """Where lists of those sizes begin that stand one after another, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def sizes_of(column: pa.ListArray) -> np.ndarray:
    return np.diff(column.offsets.to_numpy())


def shortened(column: pa.ListArray, rows: np.ndarray, longest: int) -> pa.ListArray:
    """A column of which the lists in the mask `rows` have their first `longest` ids at most."""
    before, sizes = column.offsets.to_numpy()[:-1], sizes_of(column)
    kept = np.where(rows, np.minimum(sizes, longest), sizes)
    offsets = offsets_of(kept)
    places = np.arange(offsets[-1]) + np.repeat(before - offsets[:-1], kept)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(column.values.to_numpy()[places]))


class Ragged:
    """Id lists of several chunks as one sequence of read-only arrays; the ids stay on disk until they are read."""

    def __init__(self, columns: Sequence[pa.ListArray]) -> None:
        self.offsets = [column.offsets.to_numpy() for column in columns]
        self.values = [column.values.to_numpy() for column in columns]

    @property
    def lengths(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype=np.int32), *(np.diff(offsets) for offsets in self.offsets)])

    def get(self, chunk: int, row: int) -> np.ndarray:
        start, end = self.offsets[chunk][row : row + 2]
        return self.values[chunk][start:end]

    def outside(self, vocab_size: int) -> tuple[int, int] | None:
        """(row, id) of the first id that no vocabulary of that size has, if there is one; rows count on over the chunks."""
        before = 0
        for offsets, values in zip(self.offsets, self.values, strict=True):
            if len(values) and not 0 <= int(values.min()) <= int(values.max()) < vocab_size:
                place = int(np.flatnonzero((values < 0) | (values >= vocab_size))[0])
                return before + int(np.searchsorted(offsets, place, side="right")) - 1, int(values[place])
            before += len(offsets) - 1
        return None


def map_file(file: Path, *, validate: bool) -> list[pa.RecordBatch]:
    """The chunks of a shard, mapped. Raises DataError: not an Arrow file, other columns than ours, offsets that lead outside."""
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(file)))
        columns = reader.schema
        chunks = [reader.get_batch(number) for number in range(reader.num_record_batches)] if columns in (IDS, IDS_AND_TEXT) else []
        if validate:
            for chunk in chunks:
                chunk.validate(full=True)
    except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0] or "unreadable"
        raise DataError(f"{file}: not a whole Arrow file ({reason}); prepare the data again") from None
    if columns not in (IDS, IDS_AND_TEXT):
        raise DataError(f"{file}: its columns are {shown(columns)}; a prepared file has {shown(IDS)}; prepare the data again")
    if validate and any(column.null_count or ids_of(column).null_count for chunk in chunks for column in chunk.columns):
        raise DataError(f"{file}: some of its pairs or ids are not given (null); prepare the data again")
    return chunks


def ids_of(column: pa.Array) -> pa.Array:
    return column.values if isinstance(column, pa.ListArray) else column


def shown(schema: pa.Schema) -> str:
    """Whatever a stranger called the columns, one line and not endless."""
    try:
        text = ", ".join(f"{field.name} {field.type}" for field in schema)
    except UnicodeDecodeError:
        return "of names that are not UTF-8"
    return "".join(character if character.isprintable() else "?" for character in text[:500])
