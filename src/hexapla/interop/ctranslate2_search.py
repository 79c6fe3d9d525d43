"""Search by CTranslate2 as decoding.search does it. Without PyTorch, whose threads and CTranslate2's get in each other's way.

Its beam is ours in what it keeps and in when it ends. It differs in five things, which are put right here:

- It ranks by log P / n^α alone and hands out no more than `width` outputs. Its α is next to 0, all are asked for, and we rank them; where
  one that it left out could have won, more are asked for.
- It may write the unknown token. Where an output holds one, it searches again with such tokens forbidden.
- It forbids before the softmax, so that what remains takes over the probability. Each output's log P is then that of forced decoding.
  A beam would also have grown otherwise, so what rules forbid is for greedy search alone.
- Its limit is one for all sentences, and cuts without an end token. It searches to the longest, and again what reached its own limit.
- It counts a prefix as certain: log P is that of forced decoding, and a prefix is for greedy search alone.
"""

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.config.model import Seq2SeqConfig, Specials
from hexapla.data.tokenizer import Tokenizer
from hexapla.decoding.output import Hypothesis, longest_output, lp
from hexapla.errors import CheckpointError, ConfigError
from hexapla.interop.exported import needs_ctranslate2
from hexapla.interop.pieces import told_apart
from hexapla.training.memory import enough_memory_for

ALMOST_NO_PENALTY = 1e-30
"""n to this power is 1; at 0 itself CTranslate2 ends a search as soon as its best hypothesis has ended"""
POLL_SECONDS = 0.002
PATIENCE = (2, 4)
"""how many times the width must end where the first search may have left out the best"""
NEVER = 3
"""ids that are never written: padding, the unknown and the start token"""


@dataclass(frozen=True)
class Output:
    ids: tuple[int, ...]
    log_prob: float
    ended: bool
    """by the end token; else by the limit, where something else was likelier"""


@dataclass
class Sentence:
    """One source and what was found for it."""

    number: int
    tokens: list[str]
    limit: int
    """tokens that its outputs may have"""
    outputs: list[Output] = field(default_factory=list)
    floor: float = -math.inf
    """log P that no output is above which CTranslate2 found and did not hand out"""
    strict: bool = False
    """forbidden tokens are kept out of the search"""
    at_limit: bool = False
    """the limit ended the search"""
    rescore: bool = False
    """the log P are not those of forced decoding"""

    @property
    def longest(self) -> int:
        return max(len(output.ids) for output in self.outputs)


@dataclass
class Asked:
    """What all sentences of a call have in common."""

    beam: Beam
    rules: Rules
    prefix: list[int]
    batch_size: int
    n_best: int


class CTranslate2:
    """A model of CTranslate2, given as its files' bytes."""

    def __init__(
        self,
        name: str,
        files: Mapping[str, bytes],
        config: Seq2SeqConfig,
        source: Tokenizer,
        target: Tokenizer,
        *,
        type: str,
        positions: int,
        workers: int | None = None,
        threads: int | None = None,
    ):
        """`type` is what it computes in. Raises ConfigError: CTranslate2 is not installed; CheckpointError: it refuses the model."""
        library = needs_ctranslate2()
        self.name, self.specials, self.positions = name, config.specials, positions
        self.source, self.target = pieces_of(source, self.specials), pieces_of(target, self.specials)
        self.ids = {piece: i for i, piece in enumerate(self.target)}
        self.forbidden = {self.specials.pad, self.specials.unk, self.specials.bos}
        able = type in library.get_supported_compute_types("cpu")
        shared = {"inter_threads": workers or (processors() if threads is None else 1), "intra_threads": threads or 1}
        try:
            self.translator = library.Translator(name, files=dict(files), compute_type=type if able else "float32", **shared)
        except (RuntimeError, ValueError) as error:
            raise CheckpointError(f"{name}: CTranslate2 cannot load it: {error}; export again") from None

    def searched(
        self,
        sources: Mapping[int, Sequence[int]],
        strategy: Strategy,
        rules: Rules,
        *,
        n_best: int,
        prefix: Sequence[int],
        batch_size: int,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The n best outputs of each source by its number; none where rules leave nothing to write.

        Raises ConfigError: what CTranslate2 cannot do as we do it; see `honoured`.
        """
        beam = honoured(strategy, rules, prefix, len(self.target))
        self.refuse_beyond_positions(rules)
        asked = Asked(beam, rules, list(prefix), batch_size, n_best)
        forbids = bool(rules.suppress or rules.no_repeat or rules.min_length)
        sentences = [
            Sentence(
                number,
                [self.source[i] for i in ids],
                max(longest_output(len(ids), rules), len(prefix)),
                strict=forbids,
                rescore=forbids or bool(prefix),
            )
            for number, ids in sources.items()
        ]
        size = f"{len(sentences):,} lines, {batch_size} at once"
        with enough_memory_for(lambda: size, "lower --batch-size, --threads, or the width of the beam"):
            self.search(sentences, asked)
            self.score([sentence for sentence in sentences if sentence.rescore], asked)
        for sentence in sentences:
            yield sentence.number, self.ranked(sentence, asked)

    def refuse_beyond_positions(self, rules: Rules) -> None:
        longest = longest_output(rules.max_source, rules)
        if max(longest, rules.max_source) >= self.positions:
            raise ConfigError(
                f"rules.max_source = {rules.max_source}: allows outputs of {longest:,} tokens, but {self.name} has {self.positions:,} "
                "positions; give a smaller --max-source, --max-extra or --min-length, or use --engine own"
            )

    def search(self, sentences: Sequence[Sentence], asked: Asked) -> None:
        """Fill in the outputs."""
        most = max((sentence.limit for sentence in sentences), default=0) + 1
        self.decode(sentences, asked, most)
        again = [sentence for sentence in sentences if not sentence.strict and self.has_forbidden(sentence)]
        for sentence in again:
            sentence.strict = sentence.rescore = True
        self.decode(again, asked, most)
        for sentence in sentences:
            sentence.at_limit = sentence.longest >= sentence.limit
        self.stop_at_limits([sentence for sentence in sentences if sentence.at_limit], asked)
        for patience in PATIENCE:
            lacking = [sentence for sentence in sentences if not sentence.at_limit and lacks(sentence, asked)]
            ends = [sentence.longest for sentence in lacking]  # the step at which `width` had ended, and the search with them
            self.decode(lacking, asked, most, patience)
            for sentence, end in zip(lacking, ends, strict=True):
                sentence.outputs = [output for output in sentence.outputs if len(output.ids) <= end]

    def stop_at_limits(self, sentences: Sequence[Sentence], asked: Asked) -> None:
        """At its limit each hypothesis that is left ends, as ours do."""
        if asked.beam.width > 1:
            for limit in sorted({sentence.limit for sentence in sentences}):
                self.decode([sentence for sentence in sentences if sentence.limit == limit], asked, limit, patience=2)
        for sentence in sentences:
            sentence.rescore = True
            sentence.outputs = [
                replace(output, ids=output.ids[: sentence.limit], ended=output.ended and len(output.ids) <= sentence.limit)
                for output in sentence.outputs
            ]
        if asked.beam.width > 1:
            self.find_natural_ends(sentences, asked)

    def find_natural_ends(self, sentences: Sequence[Sentence], asked: Asked) -> None:
        """Of what the limit ends, some would have ended there anyway: what greedy search writes next is the end token."""
        cut = [(sentence, place) for sentence in sentences for place, output in enumerate(sentence.outputs) if not output.ended]
        greedily = replace(asked, beam=Beam(width=1))
        tries = [replace(sentence, outputs=[], limit=len(sentence.outputs[place].ids)) for sentence, place in cut]
        for attempt, (sentence, place) in zip(tries, cut, strict=True):
            output = sentence.outputs[place]
            self.decode([attempt], replace(greedily, prefix=list(output.ids)), attempt.limit + 1)
            sentence.outputs[place] = replace(output, ended=attempt.outputs[0].ended)

    def decode(self, sentences: Sequence[Sentence], asked: Asked, most: int, patience: int = 1) -> None:
        """Ask CTranslate2 for outputs of at most `most` tokens, the end token included, until patience times the width have ended."""
        for strict in (False, True):
            some = [sentence for sentence in sentences if sentence.strict is strict]
            if not some:
                continue
            results = self.translator.translate_batch(
                [sentence.tokens for sentence in some],
                [[self.target[i] for i in asked.prefix]] * len(some) if asked.prefix else None,
                beam_size=asked.beam.width,
                patience=patience,
                num_hypotheses=asked.beam.width * patience,
                length_penalty=ALMOST_NO_PENALTY,
                suppress_sequences=[[self.target[i]] for i in (*self.forbidden, *asked.rules.suppress)] if strict else [],
                no_repeat_ngram_size=asked.rules.no_repeat,
                min_decoding_length=min(asked.rules.min_length, most),
                max_decoding_length=most,
                max_input_length=0,
                max_batch_size=asked.batch_size,
                return_scores=True,
                return_end_token=True,
                asynchronous=True,
            )
            for sentence, result in zip(some, awaited(results), strict=True):
                sentence.outputs = [self.output(*each) for each in zip(result.hypotheses, result.scores, strict=True)]
                sentence.floor = min(result.scores)

    def output(self, pieces: Sequence[str], score: float) -> Output:
        ids = tuple(self.ids[piece] for piece in pieces)
        ended = bool(ids) and ids[-1] == self.specials.eos
        return Output(ids[:-1] if ended else ids, score, ended)

    def has_forbidden(self, sentence: Sentence) -> bool:
        return any(not self.forbidden.isdisjoint(output.ids) for output in sentence.outputs)

    def score(self, sentences: Sequence[Sentence], asked: Asked) -> None:
        """Put the log P of forced decoding in place of the search's."""
        pairs = [(sentence, output) for sentence in sentences for output in sentence.outputs]
        if not pairs:
            return
        results = self.translator.score_batch(
            [sentence.tokens for sentence, _ in pairs],
            [[self.target[i] for i in output.ids] for _, output in pairs],
            max_input_length=0,
            max_batch_size=asked.batch_size,
            asynchronous=True,
        )
        log_probs = iter([math.fsum(result.log_probs) for result in awaited(results)])
        for sentence in sentences:
            sentence.outputs = [replace(output, log_prob=next(log_probs)) for output in sentence.outputs]

    def ranked(self, sentence: Sentence, asked: Asked) -> list[Hypothesis]:
        """The n best outputs by our score. Where rules leave nothing to write, CTranslate2 writes what they forbid: that is none."""
        kept = [output for output in sentence.outputs if self.forbidden.isdisjoint(output.ids) and obeys(output.ids, asked)]
        found = [Hypothesis(output.ids, output.log_prob, score_of(output, asked.beam), truncated=not output.ended) for output in kept]
        return sorted(found, key=lambda hypothesis: -hypothesis.score)[: asked.n_best]


def honoured(strategy: Strategy, rules: Rules, prefix: Sequence[int], vocab: int) -> Beam:
    """The strategy, if CTranslate2 can search by it and the rules as we do. Raises ConfigError."""
    if not isinstance(strategy, Beam):
        raise ConfigError("--sample: CTranslate2 draws other samples than we do; leave it out, or use --engine own")
    if strategy.width == 1:
        return strategy
    asked = {"no_repeat": rules.no_repeat, "min_length": rules.min_length, "suppress": len(rules.suppress), "prefix": len(prefix)}
    for name, value in asked.items():
        if value:
            raise ConfigError(f"{name}: with a beam CTranslate2 would search otherwise than we do; add --greedy, or use --engine own")
    if 2 * strategy.width > vocab - NEVER:
        most = (vocab - NEVER) // 2
        raise ConfigError(
            f"beam = {strategy.width}: for {vocab} target tokens CTranslate2 searches as we do up to a beam of {most}; "
            "give a narrower one, or use --engine own"
        )
    return strategy


def obeys(ids: Sequence[int], asked: Asked) -> bool:
    """Whether an output keeps the rules behind its prefix, which stands whatever they forbid."""
    rules, start, size = asked.rules, len(asked.prefix), asked.rules.no_repeat
    if len(ids) < rules.min_length or not set(rules.suppress).isdisjoint(ids[start:]):
        return False
    ngrams = [tuple(ids[end - size : end]) for end in range(size, len(ids) + 1)] if size else []
    return all(ngram not in ngrams[:place] for place, ngram in enumerate(ngrams) if place + size > start)


def lacks(sentence: Sentence, asked: Asked) -> bool:
    """Whether an output that CTranslate2 found and left out could be one of the n best: none has a larger log P than `floor`."""
    if asked.beam.width == 1:
        return False
    scores = sorted((score_of(output, asked.beam) for output in sentence.outputs), reverse=True)
    best = max(sentence.floor / lp(asked.beam, length) for length in (1, sentence.longest + 1))
    return best > scores[min(asked.n_best, len(scores)) - 1]


def score_of(output: Output, beam: Beam) -> float:
    return output.log_prob / lp(beam, len(output.ids) + 1)


def pieces_of(tokenizer: Tokenizer, specials: Specials) -> list[str]:
    return told_apart(tokenizer.pieces(range(tokenizer.vocab_size)), specials.ids)


def awaited(results: Iterable[Any]) -> Iterator[Any]:
    """The results in order. A signal is heard meanwhile, which it is not while CTranslate2 itself waits."""
    for result in results:
        while not result.done():
            time.sleep(POLL_SECONDS)
        yield result.result()


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
