"""Greedy search, beam search and the length penalty on a tree that can be searched by hand: section 6.1."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from hexapla.axes import Logits, RowIds, RowLogits, SourceIds, TargetIds
from hexapla.config.decoding import Beam
from hexapla.config.model import Specials
from hexapla.decoding.output import Hypothesis, lp
from hexapla.decoding.search import search
from hexapla.explanation.parts import Bars, Bilingual, Claim, Explanation, Table
from hexapla.explanation.topics import TITLES

END = "</s>"
WORDS = ("a", "the", "dogs", "dog", "hound", "puppy", "barks", "bark")
Written = tuple[str, ...]
TREE: dict[Written, dict[str, float]] = {
    (): {"a": 0.5, "the": 0.4, "dogs": 0.1},
    ("a",): {"dog": 0.34, "hound": 0.33, "puppy": 0.33},
    ("the",): {"dog": 0.9, "hound": 0.1},
    ("the", "dog"): {END: 0.51, "barks": 0.49},
    ("dogs",): {"bark": 1.0},
}
"""P(next word | words so far); what is not listed ends"""
ALPHA = 0.6

PARAGRAPH = Bilingual(
    "Greedy search takes the likeliest word each time, so it begins with “a” (0.5). But three words share what follows “a”, and the "
    "likeliest sentence begins with “the”: 0.4 · 0.9 · 0.51 = 0.184 beats 0.5 · 0.34 = 0.17. A beam of 2 keeps both beginnings and finds "
    "it. A sum of log-probabilities falls with each word, so the likeliest output is too often a short one; divided by lp, as in the "
    "paper (beam 4, α = 0.6), “the dog barks” wins over “the dog”.",
    "贪心搜索每次取概率最大的词，于是以 a（0.5）开头。可是 a 之后的概率由三个词平分，而概率最大的句子以 the 开头：0.4 · 0.9 · 0.51 = "
    "0.184，大于 0.5 · 0.34 = 0.17。宽度为 2 的束保留两种开头，就找到了它。每多一个词，对数概率之和就更低，所以概率最大的输出往往太短；"
    "像论文那样除以 lp（束宽 4，α = 0.6），the dog barks 就胜过 the dog。",
)


@dataclass
class Read:
    """The words that each hypothesis has written."""

    words: list[Written]

    def reorder(self, rows: RowIds) -> None:
        self.words = [self.words[row] for row in rows.tolist()]


class TreeModel:
    """What `search` may ask of any model, answered from `TREE`."""

    def __init__(self) -> None:
        self.specials = Specials()
        first = max(self.specials.ids) + 1
        self.ids = {word: first + number for number, word in enumerate(WORDS)} | {END: self.specials.eos}
        self.words = {number: word for word, number in self.ids.items()}

    def logits(self, words: Written) -> list[float]:
        row = [-math.inf] * (max(self.ids.values()) + 1)
        for word, probability in TREE.get(words, {END: 1.0}).items():
            row[self.ids[word]] = math.log(probability)
        return row

    def begin(self, source: SourceIds) -> Read:
        return Read([()] * len(source))

    def step(self, ids: RowIds, state: Read) -> RowLogits:
        for row, number in enumerate(ids.tolist()):
            if number != self.specials.bos:
                state.words[row] = (*state.words[row], self.words[number])
        return torch.tensor([self.logits(words) for words in state.words])

    def __call__(self, source: SourceIds, target: TargetIds) -> Logits:
        written = [tuple(self.words[number] for number in row if number != self.specials.bos) for row in target.tolist()]
        return torch.tensor([[self.logits(row[:end]) for end in range(len(row) + 1)] for row in written])

    def text(self, found: Hypothesis) -> str:
        return " ".join(self.words[number] for number in found.ids)


def sentences(words: Written = (), probability: float = 1.0) -> Iterator[tuple[Written, float]]:
    """Every sentence of the tree, and its probability."""
    for word, share in TREE.get(words, {END: 1.0}).items():
        if word == END:
            yield words, probability * share
        else:
            yield from sentences((*words, word), probability * share)


def beam() -> Explanation:
    model = TreeModel()
    source = torch.tensor([[model.specials.eos]])
    asked = {
        "greedy": Beam(width=1, penalty="none"),
        "beam 2": Beam(width=2, penalty="none"),
        "beam 4": Beam(width=4, penalty="none"),
        "beam 4, α = 0.6": Beam(width=4, length_penalty=ALPHA),
    }
    names = {"greedy": "贪心", "beam 2": "束宽 2", "beam 4": "束宽 4", "beam 4, α = 0.6": "束宽 4，α = 0.6"}
    found = {name: search(model, source, strategy)[0][0] for name, strategy in asked.items()}
    rows = tuple(
        (Bilingual(name, names[name]), model.text(best), math.exp(best.log_prob), best.log_prob, best.score) for name, best in found.items()
    )
    every = sorted(sentences(), key=lambda sentence: -sentence[1])
    heads = (
        Bilingual("search", "搜索"),
        Bilingual("finds", "找到"),
        "P",
        "ln P",
        "ln P / lp",
    )
    return Explanation(
        topic="beam",
        title=TITLES["beam"],
        section="6.1; Wu et al. 2016, eq. (14)",
        code=("decoding/search.py: search", "decoding/output.py: lp"),
        formula=("score(Y) = ln P(Y | X) / lp(Y),   lp(Y) = ((5 + |Y|) / 6)^α",),
        paragraph=PARAGRAPH,
        tables=(
            Table((Bilingual("after", "之后"), Bilingual("comes, with probability", "下一个词及其概率")), branches(), words=2),
            Table(heads, rows, words=2),
        ),
        plots=(
            Bars(
                Bilingual("Probability of every sentence", "每个句子的概率"),
                tuple(" ".join(words) for words, _ in every),
                tuple(probability for _, probability in every),
            ),
        ),
        claims=claims(found, every),
    )


def branches() -> tuple[tuple[str, str], ...]:
    return tuple(
        (" ".join(words) or "<s>", "   ".join(f"{word} {share:g}" for word, share in after.items())) for words, after in TREE.items()
    )


def claims(found: dict[str, Hypothesis], every: list[tuple[Written, float]]) -> dict[str, Claim]:
    """Of what each search found, and of all sentences, the likeliest first."""
    (best, highest), (second, lower) = every[:2]
    return {
        "greedy": Claim(
            Bilingual("P of greedy's; 0.5 · 0.34", "贪心结果的概率；0.5 · 0.34"),
            math.exp(found["greedy"].log_prob),
            0.17,
            tolerance=1e-7,
        ),
        "beam": Claim(
            Bilingual("P of beam 2's; the highest of all", "束宽 2 结果的概率；全部中最高"),
            math.exp(found["beam 2"].log_prob),
            highest,
            tolerance=1e-7,
        ),
        "penalty": Claim(
            Bilingual(f"score with α; ln P({' '.join(second)}) / lp(4)", f"α 下的得分；ln P({' '.join(second)}) / lp(4)"),
            found["beam 4, α = 0.6"].score,
            math.log(lower) / lp(Beam(length_penalty=ALPHA), len(second) + 1),
            tolerance=1e-6,
        ),
        "better": Claim(
            Bilingual(f"the same, at least that of {' '.join(best)}", f"同上，不低于 {' '.join(best)} 的得分"),
            found["beam 4, α = 0.6"].score,
            math.log(highest) / lp(Beam(length_penalty=ALPHA), len(best) + 1),
            "at_least",
        ),
    }
