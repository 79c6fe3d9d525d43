"""The corpus: distinct sentences drawn from the grammar, some held out of training."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from hexapla.errors import ConfigError, StorageError
from hexapla.phrasebook import chinese, english, german, health, hotel, restaurant, speech, town, travel
from hexapla.phrasebook.draw import Draw
from hexapla.phrasebook.meaning import Sentence
from hexapla.phrasebook.samples import SAMPLES

Pair = Literal["en-de", "de-en", "en-zh", "zh-en"]
PAIRS: tuple[Pair, ...] = get_args(Pair)
_SHORTEST, _LONGEST = 4, 18
_PATIENCE = 20_000  # draws in a row that bring nothing new

_SCENES = {**hotel.SCENES, **restaurant.SCENES, **travel.SCENES, **town.SCENES, **health.SCENES, **speech.SCENES}
_SCENE_LIST, _WEIGHTS = list(_SCENES), list(accumulate(_SCENES.values()))


class Triple(NamedTuple):
    """One meaning, said three times."""

    en: str
    de: str
    zh: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pairs of (source, target)."""

    train: list[tuple[str, str]]
    held_out: list[tuple[str, str]]


def said(meaning: Sentence) -> Triple:
    return Triple(english.sentence(meaning), german.sentence(meaning), chinese.sentence(meaning))


def drawn(seed: int) -> Iterator[Triple]:
    """Sentences of four to eighteen English words, without end; they may repeat."""
    rng = random.Random(seed)
    draw = Draw(rng)
    while True:
        scene = rng.choices(_SCENE_LIST, cum_weights=_WEIGHTS)[0]
        triple = said(scene(draw))
        if _SHORTEST <= len(triple.en.split()) <= _LONGEST:
            yield triple


def words_of(triple: Triple) -> set[str]:
    """The words of a sentence in each language; a Chinese word is a character."""
    words = {f"en {word}" for word in re.findall(r"[\w'-]+", triple.en.lower())}
    return words | {f"de {word}" for word in re.findall(r"[\w'-]+", triple.de)} | {f"zh {word}" for word in triple.zh}


def corpus(pair: Pair, *, train: int = 12_000, held_out: int = 500, seed: int = 1) -> Corpus:
    """Sentences to train on, and others to test on: the same meanings for every pair, none said twice in any language.

    Each word of a held-out sentence occurs in training. Neither part holds one of the `examples`. Raises ConfigError when
    the pair is unknown, a size is below 1 or the grammar has no more to say.
    """
    _check("pair", pair, pair in PAIRS, f"one of {', '.join(PAIRS)}")
    _check("train", train, train >= 1, "1 or more")
    _check("held_out", held_out, held_out >= 0, "0 or more")
    stream = drawn(seed)
    seen = {sentence for meaning in SAMPLES for sentence in said(meaning)}
    trained = _take(train, "train", stream, seen)
    known = set[str]().union(*map(words_of, trained))
    tested = _take(held_out, "held_out", stream, seen, known)
    return Corpus([_ordered(triple, pair) for triple in trained], [_ordered(triple, pair) for triple in tested])


def examples(pair: Pair) -> list[str]:
    """Sentences to try a trained model on; they are in no corpus."""
    _check("pair", pair, pair in PAIRS, f"one of {', '.join(PAIRS)}")
    return [_ordered(said(meaning), pair)[0] for meaning in SAMPLES]


def write(corpus: Corpus, folder: Path | str, pair: Pair) -> dict[str, Path]:
    """Write train, dev and test files, one sentence a line, named like train.en; the first half of the held-out pairs is dev.

    UTF-8, LF. Returns the paths by name. Raises StorageError when the disk refuses.
    """
    _check("pair", pair, pair in PAIRS, f"one of {', '.join(PAIRS)}")
    half = len(corpus.held_out) // 2
    parts = {"train": corpus.train, "dev": corpus.held_out[:half], "test": corpus.held_out[half:]}
    written = {}
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for part, pairs in parts.items():
            for side, language in enumerate(pair.split("-")):
                path = written[f"{part}.{language}"] = Path(folder) / f"{part}.{language}"
                path.write_bytes("".join(f"{sentences[side]}\n" for sentences in pairs).encode())
    except OSError as error:
        raise StorageError(f"{folder}: cannot write the corpus ({error.strerror}); name a folder that can be written") from error
    return written


def _take(count: int, part: str, stream: Iterator[Triple], seen: set[str], known: set[str] | None = None) -> list[Triple]:
    """The next triples of which no sentence was seen and, where `known` is given, every word was."""
    taken: list[Triple] = []
    idle = 0
    while len(taken) < count:
        triple = next(stream)
        idle += 1
        if idle > _PATIENCE:
            size = f"phrasebook.{part} = {count}"
            raise ConfigError(f"{size}: the grammar has no more than {len(taken)} such sentences; ask for fewer, or for more to train on")
        if seen.isdisjoint(triple) and (known is None or words_of(triple) <= known):
            seen.update(triple)
            taken.append(triple)
            idle = 0
    return taken


def _ordered(triple: Triple, pair: str) -> tuple[str, str]:
    source, target = pair.split("-")
    return getattr(triple, source), getattr(triple, target)


def _check(name: str, given: object, allowed: bool, what: str) -> None:
    if not allowed:
        raise ConfigError(f"phrasebook.{name} = {given}: must be {what}")
