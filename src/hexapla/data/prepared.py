"""The folder that `prepare` writes and `train` reads.

prepared.toml     what there is, with bytes and SHA-256 of every file below: see data.listing
tokenizer.toml    and subwords.model or the like: see data.tokenizer
train-00000.arrow, …, dev-00000.arrow, …: see data.shards
report.json       what was read, kept, held out, cut and dropped, and why
dropped.jsonl     one line for each pair dropped or cut
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hexapla.data.folder import read_whole
from hexapla.data.listing import check_files, read_listing
from hexapla.data.shards import IDS_AND_TEXT, Ragged, map_file
from hexapla.data.tokenizer import Tokenizer, load_tokenizers
from hexapla.data.watched import Watched
from hexapla.errors import DataError


class Split:
    """The pairs of one part, train or dev, numbered from 0. Ids carry no begin or end marks."""

    def __init__(
        self, files: Sequence[Path], source_vocab: int, target_vocab: int, *, watched: Sequence[Watched] = (), verify: bool = True
    ) -> None:
        """Raises DataError: a shard that is no Arrow file of ours; with `verify` also offsets and ids that lead outside."""
        self._watched = watched
        shards = [(file, map_file(file, validate=verify)) for file in files]
        self._chunks = [chunk for _, chunks in shards for chunk in chunks]
        self._source = Ragged([chunk.column("source") for chunk in self._chunks])
        self._target = Ragged([chunk.column("target") for chunk in self._chunks])
        self._starts = np.cumsum([0, *(chunk.num_rows for chunk in self._chunks)]).tolist()
        if verify:
            for file, chunks in shards:
                for side, size in (("source", source_vocab), ("target", target_vocab)):
                    refuse_outside(file, side, Ragged([chunk.column(side) for chunk in chunks]), size)

    def __len__(self) -> int:
        return self._starts[-1]

    @cached_property
    def lengths(self) -> np.ndarray:
        """(N, 2) int32: ids of source and target, specials not counted."""
        return np.stack([self._source.lengths, self._target.lengths], axis=1)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Raises DataError: until the end of this block somebody wrote into the files; they may be removed and replaced by others."""
        for file in self._watched:
            file.refuse_changed()
        yield
        for file in self._watched:
            file.refuse_changed()

    def _place(self, i: int) -> tuple[int, int]:
        if not 0 <= i < len(self):
            raise IndexError(f"pair {i} of {len(self)}")
        chunk = bisect_right(self._starts, i) - 1
        return chunk, i - self._starts[chunk]

    def pair(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Source ids and target ids of pair i, int32, read-only."""
        place = self._place(i)
        return self._source.get(*place), self._target.get(*place)

    def line(self, i: int) -> int:
        """Where pair i stands in the corpus, from 1."""
        chunk, row = self._place(i)
        return self._chunks[chunk].column("line")[row].as_py()

    @cached_property
    def source_text(self) -> list[str]:
        """The texts as they were read. Raises LookupError for a training split, which holds ids only."""
        return self._texts("source_text")

    @cached_property
    def target_text(self) -> list[str]:
        """As source_text, of the target side."""
        return self._texts("target_text")

    @property
    def has_text(self) -> bool:
        return all(chunk.schema == IDS_AND_TEXT for chunk in self._chunks)

    def _texts(self, column: str) -> list[str]:
        if not self.has_text:
            raise LookupError("a training split holds ids only; decode them for a text")
        return [text for chunk in self._chunks for text in chunk.column(column).to_pylist()]


def refuse_outside(file: Path, side: str, ids: Ragged, vocab_size: int) -> None:
    found = ids.outside(vocab_size)
    if found is not None:
        pair, value = found
        raise DataError(
            f"{file}: pair {pair + 1}: {side} holds id {value}, but the vocabulary has ids 0 to {vocab_size - 1}; prepare the data again"
        )


class Prepared:
    """A prepared folder, opened; the pairs stay on disk."""

    def __init__(self, path: Path, about: Mapping[str, Any], *, verify: bool) -> None:
        self.path = path
        self.about = about
        """prepared.toml as it stands"""
        self.source: Tokenizer
        self.target: Tokenizer
        self.source, self.target, self.joint = load_tokenizers(path)
        refuse_other_sizes(path, about, self.source.vocab_size, self.target.vocab_size)
        self.train = self._split("train", verify)
        self.dev = self._split("dev", verify) if about["sizes"]["dev"] else None

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = True) -> "Prepared":
        """Open a prepared folder; `verify` reads every file once and compares its SHA-256, offsets and ids.

        Where another process replaces the folder meanwhile, it is the old one or the new one.
        Raises DataError: not a prepared folder, of another format, or a file in it is missing, damaged or does not fit the others.
        """

        def read(folder: Path) -> Prepared:
            about = read_listing(folder)
            check_files(folder, about, verify=verify)
            return cls(folder, about, verify=verify)

        return read_whole(lambda: Path(path), read)

    def _split(self, name: str, verify: bool) -> Split:
        files = [self.path / file for file in sorted(self.about["files"]) if file.startswith(f"{name}-")]
        watched = [Watched(file, self.about["files"][file.name]["sha256"]) for file in files]
        split = Split(files, self.source_vocab, self.target_vocab, watched=watched, verify=verify)
        if len(split) != self.about["sizes"][name]:
            raise DataError(f"{self.path}: {len(split)} {name} pairs, but prepared.toml says {self.about['sizes'][name]}")
        if name == "dev" and not split.has_text:
            raise DataError(f"{self.path}: the dev pairs have no texts to compare translations with; prepare the data again")
        return split

    @property
    def source_vocab(self) -> int:
        return self.source.vocab_size

    @property
    def target_vocab(self) -> int:
        return self.target.vocab_size

    @property
    def vocab_size(self) -> int:
        """The source vocabulary's size, which is both sides' where they share one."""
        return self.source_vocab

    @property
    def fingerprint(self) -> str:
        """A hash of the ids and the tokenizers: equal for equal data, wherever the folder is."""
        return self.about["fingerprint"]

    @cached_property
    def report(self) -> dict[str, Any]:
        """report.json: what was read, kept, held out, cut and dropped."""
        return json.loads((self.path / "report.json").read_bytes())


def refuse_other_sizes(path: Path, about: Mapping[str, Any], source_vocab: int, target_vocab: int) -> None:
    said = (about["sizes"]["source_vocab"], about["sizes"]["target_vocab"])
    if said != (source_vocab, target_vocab):
        raise DataError(
            f"{path}: the vocabularies have {source_vocab} and {target_vocab} entries, but prepared.toml says {said[0]} and {said[1]}"
        )
