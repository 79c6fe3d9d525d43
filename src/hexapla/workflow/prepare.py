"""prepare: corpus files to a folder of ids."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa

from hexapla.config.data import Bpe, Cleaning, PrepareConfig, Subwords, Unigram
from hexapla.config.edge import checked, to_mapping
from hexapla.data.clean import Account, TextFilter, judge_sizes
from hexapla.data.corpus import read_pairs
from hexapla.data.encode_column import encode_column
from hexapla.data.folder import sha256_of, whole_folder
from hexapla.data.hold_out import choose, usual_hold_out
from hexapla.data.listing import write_listing
from hexapla.data.opening import is_plain_file, shown
from hexapla.data.prepared import Prepared
from hexapla.data.shards import IDS, IDS_AND_TEXT, ShardWriter, shortened, sizes_of
from hexapla.data.texts import Texts, spool
from hexapla.data.tokenizer import Tokenizer, learn_tokenizer, save_tokenizers
from hexapla.data.vocabulary import SPECIALS
from hexapla.errors import ConfigError, DataError
from hexapla.workflow.notices import leaks, smaller_vocabularies, suspicions_of

File = str | Path
Progress = Callable[[str, int], None]

LEARN_FROM = 2_000_000
"""sentences at most that subwords are learned from, taken evenly from the corpus"""


@dataclass(frozen=True)
class Corpus:
    """Two files, or one with tabs."""

    source: File
    target: File | None = None

    @property
    def files(self) -> list[File]:
        return [self.source] if self.target is None else [self.source, self.target]

    def __str__(self) -> str:
        return " ".join(shown(file) for file in self.files)

    def statuses(self) -> dict[File, os.stat_result]:
        """Of the plain files among them: streams have no second reading to compare with the first."""
        return {file: Path(file).stat() for file in self.files if file != "-" and is_plain_file(file)}


def prepare(
    source: File,
    target: File | None = None,
    *,
    into: File,
    dev: File | tuple[File, File] | None = None,
    subwords: Subwords = Bpe(),  # noqa: B008  frozen
    target_subwords: Subwords | None = None,
    joint: bool = True,
    cleaning: Cleaning = Cleaning(),  # noqa: B008  frozen
    hold_out: int | None = None,
    seed: int = 1,
    max_dropped: float = 0.2,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Prepared:
    """Clean a corpus, learn its subwords and write it as ids into the folder `into`, which then holds all that training needs.

    The corpus is two files or one TSV file, "-" for standard input; so is `dev`. It is read once. `progress` is called as
    (stage, pairs so far) with the stages read, learn, encode.
    Raises ConfigError: settings that cannot be, or `into` exists; DataError: a corpus that cannot be read, or too few pairs are left;
    StorageError: the disk refused. Nothing is left at `into` then.
    """
    config = checked(
        PrepareConfig(
            source=subwords,
            target=target_subwords,
            joint=joint,
            cleaning=cleaning,
            hold_out=hold_out,
            seed=seed,
            max_dropped=max_dropped,
        )
    )
    if joint and target_subwords is not None:
        raise ConfigError("joint = true: one vocabulary for both sides needs target_subwords unset; unset it, or set joint = false")
    if dev is not None and hold_out:
        raise ConfigError(f"hold_out = {hold_out}: a dev set is given already; give one or the other")
    refuse_unwritable_name(into)
    corpus = Corpus(source, target)
    dev_corpus = None if dev is None else Corpus(*dev) if isinstance(dev, tuple) else Corpus(dev)
    corpora = {"train": corpus} | ({} if dev_corpus is None else {"dev": dev_corpus})
    before = {split: each.statuses() for split, each in corpora.items()}
    with whole_folder(Path(into), mark="prepared.toml", overwrite=overwrite) as folder:
        with (folder / "dropped.jsonl").open("w", encoding="utf-8") as log:
            preparation = Preparation(folder, config, corpus, dev_corpus, progress or (lambda stage, count: None), log)
            preparation.run()
        files = [entry for split, each in corpora.items() for entry in described(split, each, before[split])]
        write_listing(folder, sizes=preparation.sizes, settings=to_mapping(config), corpus=files)
    return Prepared.open(into, verify=False)


class Preparation:
    """One call of `prepare`, stage by stage, in a folder that is not in its place yet."""

    def __init__(self, folder: Path, config: PrepareConfig, corpus: Corpus, dev: Corpus | None, progress: Progress, log: TextIO) -> None:
        self.folder = folder
        self.config = config
        self.corpus = corpus
        self.dev = dev
        self.progress = progress
        self.accounts = {"train": Account("train", log)} | ({} if dev is None else {"dev": Account("dev", log)})
        self.tallies = {"train": Tally(), "dev": Tally()}
        self.notices: list[str] = []

    def run(self) -> None:
        train = self.accounts["train"]
        texts = self.read("train", self.corpus, self.config.cleaning)
        train.refuse_loss(str(self.corpus), self.config.max_dropped)
        self.notices += suspicions_of(texts)
        held = self.hold_out(texts)
        dev_texts = None if self.dev is None else self.read("dev", self.dev, Cleaning())
        if dev_texts is not None:
            self.notices += leaks(texts, dev_texts)
        source, target = self.learn(texts, ~held)
        self.vocabularies = {"source_vocab": source.vocab_size, "target_vocab": target.vocab_size}
        save_tokenizers(self.folder, source, target, self.config.joint)
        with ShardWriter(self.folder, "train", IDS) as kept, ShardWriter(self.folder, "dev", IDS_AND_TEXT) as aside:
            self.encode(texts, held, train, source, target, kept, aside)
            train.held_out = self.tallies["dev"].pairs
            train.refuse_loss(str(self.corpus), self.config.max_dropped)
            if dev_texts is not None:
                self.encode(dev_texts, np.ones(dev_texts.pairs, dtype=bool), self.accounts["dev"], source, target, kept, aside)
                self.accounts["dev"].refuse_loss(str(self.dev), 1.0)
        for spooled in (texts, dev_texts):
            if spooled is not None:
                spooled.remove()
        self.write_report(source, target)

    def read(self, split: str, corpus: Corpus, cleaning: Cleaning) -> Texts:
        pairs = read_pairs(corpus.source, corpus.target, bad_bytes="mark" if cleaning.bad_bytes == "drop" else "refuse")
        return spool(pairs, self.folder, f"texts-{split}", TextFilter(cleaning), self.accounts[split], partial(self.progress, "read"))

    def hold_out(self, texts: Texts) -> np.ndarray:
        """Which pairs to set aside as the dev set: a mask."""
        wanted = self.config.hold_out
        if wanted is None:
            wanted = 0 if self.dev is not None else usual_hold_out(texts.pairs)
        if wanted and wanted >= texts.pairs:
            raise DataError(f"{self.corpus}: hold_out = {wanted}, but there are {texts.pairs} pairs; some must be left to train on")
        return choose(texts.sources(), texts.pairs, wanted, self.config.seed)

    def learn(self, texts: Texts, train: np.ndarray) -> tuple[Tokenizer, Tokenizer]:
        """The tokenizers of both sides, from the texts of the pairs in the mask `train` alone."""
        source = self.config.source
        if self.config.joint:
            joint = learn_tokenizer(source, self.sentences(texts, train, source, (0, 1)))
            return joint, joint
        target = self.config.target or source
        return learn_tokenizer(source, self.sentences(texts, train, source, (0,))), learn_tokenizer(
            target, self.sentences(texts, train, target, (1,))
        )

    def sentences(self, texts: Texts, train: np.ndarray, subwords: Subwords, sides: Sequence[int]) -> Iterator[str]:
        pairs = int(np.count_nonzero(train))
        most = LEARN_FROM // len(sides) if isinstance(subwords, Bpe | Unigram) else pairs
        start = seen = 0
        for _, *columns in texts:
            rows = np.flatnonzero(train[start : start + len(columns[0])])
            chosen = pa.array(rows[evenly(seen, len(rows), pairs, most)])
            for side in sides:
                yield from columns[side].take(chosen).to_pylist()
            start, seen = start + len(columns[0]), seen + len(rows)
            self.progress("learn", start)

    def encode(
        self,
        texts: Texts,
        held: np.ndarray,
        account: Account,
        source: Tokenizer,
        target: Tokenizer,
        kept: ShardWriter,
        aside: ShardWriter,
    ) -> None:
        """Write the pairs as ids: those `held` with their texts to `aside`, whatever their length, the others cleaned by size to `kept`."""
        start = 0
        for lines, *columns in texts:
            is_held = held[start : start + len(lines)]
            sides = [encode_column(tokenizer, column) for tokenizer, column in zip((source, target), columns, strict=True)]
            sides, keep = self.clean_by_size(lines, sides, is_held, account)
            for mask, writer, split in ((keep & ~is_held, kept, "train"), (keep & is_held, aside, "dev")):
                written = [pa.array(lines), *sides, *(columns if split == "dev" else [])]
                written = [column.filter(pa.array(mask)) for column in written]
                self.tallies[split].add(written[1], written[2])
                writer.write(written)
            start += len(lines)
            self.progress("encode", start)

    def clean_by_size(
        self, lines: np.ndarray, sides: list[pa.ListArray], held: np.ndarray, account: Account
    ) -> tuple[list[pa.ListArray], np.ndarray]:
        """Drop and cut as the settings say; the sides, and the mask of the pairs kept. Of a held pair only emptiness counts."""
        cleaning = self.config.cleaning
        sizes = np.stack([sizes_of(side) for side in sides], axis=1)
        dropped, cut = judge_sizes(sizes, cleaning)
        keep = np.ones(len(lines), dtype=bool)
        for reason, mask in dropped.items():
            lost = mask if reason == "empty" else mask & ~held
            keep &= ~lost
            for i in np.flatnonzero(lost).tolist():
                account.drop(int(lines[i]), reason, *sizes[i].tolist())
        cut &= ~held
        for i in np.flatnonzero(cut).tolist():
            account.cut_short(int(lines[i]), *sizes[i].tolist())
        return [shortened(side, cut, cleaning.max_tokens) for side in sides] if cut.any() else sides, keep

    @property
    def sizes(self) -> dict[str, int]:
        return {split: tally.pairs for split, tally in self.tallies.items()} | self.vocabularies

    def write_report(self, source: Tokenizer, target: Tokenizer) -> None:
        report = {
            "corpus": {split: account.report() for split, account in self.accounts.items()},
            "splits": {split: tally.report() for split, tally in self.tallies.items()},
            "notices": [*self.notices, *smaller_vocabularies(self.config, source, target)],
        }
        (self.folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def evenly(before: int, count: int, of: int, most: int) -> np.ndarray:
    """Which of `count` things are among the `most` taken evenly from `of`, of which `before` came before these; from 0."""
    if of <= most:
        return np.arange(count)
    taken = np.arange(-(-before * most // of), -(-(before + count) * most // of))
    return taken * of // most - before


class Tally:
    """Pairs and ids of a split; of each side how many ids, the longest, and how many are unknown."""

    def __init__(self) -> None:
        self.pairs = 0
        self.sides = [{"tokens": 0, "longest": 0, "unknown": 0} for _ in range(2)]

    def add(self, source: pa.ListArray, target: pa.ListArray) -> None:
        self.pairs += len(source)
        for side, column in zip(self.sides, (source, target), strict=True):
            ids, sizes = column.values.to_numpy(), np.diff(column.offsets.to_numpy())
            side["tokens"] += len(ids)
            side["longest"] = max(side["longest"], int(sizes.max(initial=0)))
            side["unknown"] += int(np.count_nonzero(ids == SPECIALS.unk))

    def report(self) -> dict[str, object]:
        return {"pairs": self.pairs, "source": self.sides[0], "target": self.sides[1]}


def described(split: str, corpus: Corpus, before: Mapping[File, os.stat_result]) -> list[dict[str, str | int]]:
    """The files of a corpus with size and SHA-256; a stream has neither.

    Raises DataError: a file is not the one that was there when reading began.
    """
    files: list[dict[str, str | int]] = []
    for file in corpus.files:
        name = os.fsencode(file).decode("utf-8", "backslashreplace")
        known = {} if file not in before else {"bytes": before[file].st_size, "sha256": unchanged_sha256(Path(file), before[file])}
        files.append({"split": split, "file": name, **known})
    return files


def unchanged_sha256(file: Path, before: os.stat_result) -> str:
    try:
        digest, after = sha256_of(file), file.stat()
    except FileNotFoundError:
        raise DataError(f"{shown(file)}: vanished while it was prepared; start again with a file that stays") from None
    if (before.st_ino, before.st_size, before.st_mtime_ns) != (after.st_ino, after.st_size, after.st_mtime_ns):
        raise DataError(f"{shown(file)}: changed while it was prepared; wait until it is written, or copy it, and start again")
    return digest


def refuse_unwritable_name(into: File) -> None:
    try:
        os.fspath(into).encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"into = {shown(into)}: Arrow writes only to names that are UTF-8; give another folder") from None
