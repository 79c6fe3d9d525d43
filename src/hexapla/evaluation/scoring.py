"""All scores of one set of hypotheses: the one way they are computed, for the command line and while training alike."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from hexapla.errors import ConfigError
from hexapla.evaluation import corpus
from hexapla.evaluation.corpus import TOKENIZERS, UNSPACED, CorpusMetric, Tokenizer
from hexapla.evaluation.errors import ErrorMetric, error_score
from hexapla.evaluation.score import Score, check_counts, check_references, count_blank
from hexapla.evaluation.significance import SAMPLES, SEED, Comparison, compare_corpus, compare_errors

MetricName = CorpusMetric | ErrorMetric

METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter", "exact", "ser", "wer", "cer")
FALLING: frozenset[MetricName] = frozenset({"ter", "ser", "wer", "cer"})
"""metrics of which less is better"""
SPACED: tuple[MetricName, ...] = ("bleu", "chrf", "ter", "exact", "wer", "cer")
UNSPACED_METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "exact", "cer")

FEWEST_TO_RESAMPLE = 100


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Which scores, and what counts as a token and as equal."""

    metrics: Sequence[MetricName] = ()
    """unset: all but ser, which is 100 - exact; ter and wer also left out where no spaces divide the words"""
    tokenize: Tokenizer | Literal["auto"] = "auto"
    """BLEU's tokenizer; auto: by the script of the references, see `suggest_tokenizer`"""
    lowercase: bool = False
    """ignore case; TER does so anyway"""

    def __post_init__(self) -> None:
        for metric in self.metrics:
            if metric not in METRICS:
                raise ConfigError(f"metrics = {metric}: no such metric; any of {', '.join(METRICS)}")
        if self.tokenize not in ("auto", *TOKENIZERS):
            raise ConfigError(f"tokenize = {self.tokenize}: no such tokenizer; one of auto, {', '.join(TOKENIZERS)}")

    def settled(self, references: Sequence[Sequence[str]]) -> tuple[Sequence[MetricName], Tokenizer]:
        """The metrics and the tokenizer that these settings mean for these references."""
        tokenize = corpus.suggest_tokenizer(references) if self.tokenize == "auto" else self.tokenize
        return self.metrics or (UNSPACED_METRICS if tokenize in UNSPACED else SPACED), tokenize


@dataclass(frozen=True)
class Evaluation:
    """What one system's hypotheses are worth."""

    name: str
    scores: dict[MetricName, Score]
    hypotheses: tuple[str, ...]
    blank_hypotheses: int
    blank_references: tuple[int, ...]
    """blank lines of each reference set; they are scored like any other"""
    notes: tuple[str, ...]
    """what a reader of the numbers should know"""
    against: "Evaluation | None" = None
    """the other system, on the same references"""
    comparisons: dict[MetricName, Comparison] = field(default_factory=dict)

    def __getitem__(self, metric: MetricName) -> float:
        return self.scores[metric].value

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without the hypotheses."""
        plain: dict[str, Any] = {
            "system": self.name,
            "lines": len(self.hypotheses),
            "blank_hypotheses": self.blank_hypotheses,
            "blank_references": list(self.blank_references),
            "scores": {metric: asdict(score) for metric, score in self.scores.items()},
            "notes": list(self.notes),
        }
        if self.against:
            plain["against"] = self.against.to_dict()
            plain["comparisons"] = {metric: asdict(comparison) for metric, comparison in self.comparisons.items()}
        return plain


def score_hypotheses(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    scoring: Scoring | None = None,
    *,
    name: str = "hypotheses",
    reference_names: Sequence[str] = (),
) -> Evaluation:
    """Score `hypotheses` against one or more reference sets, line by line.

    Raises DataError when the numbers of lines differ or are 0; ConfigError without references.
    """
    hypotheses, scoring = whole_lines(hypotheses), scoring or Scoring()
    names = reference_names or [f"reference {i}" for i in range(1, len(references) + 1)]
    check_references(hypotheses, references, name=name, reference_names=names)
    metrics, tokenize = scoring.settled(references)
    blank = tuple(count_blank(lines) for lines in references)
    return Evaluation(
        name=name,
        scores={metric: score(metric, hypotheses, references, tokenize, scoring.lowercase) for metric in metrics},
        hypotheses=tuple(hypotheses),
        blank_hypotheses=count_blank(hypotheses),
        blank_references=blank,
        notes=(
            *tokenizer_notes(name, hypotheses, scoring, metrics, tokenize),
            *(f"{file}: blank lines: {count}, scored as empty references" for file, count in zip(names, blank, strict=True) if count),
        ),
    )


def compare(
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[Sequence[str]],
    scoring: Scoring | None = None,
    *,
    names: tuple[str, str] = ("hypotheses", "against"),
    reference_names: Sequence[str] = (),
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Evaluation:
    """Score both systems and test each difference by paired bootstrap; the result is the first system's, with the second in `against`."""
    hypotheses, against, scoring = whole_lines(hypotheses), whole_lines(against), scoring or Scoring()
    check_counts((names[0], hypotheses), (names[1], against))
    ours = score_hypotheses(hypotheses, references, scoring, name=names[0], reference_names=reference_names)
    theirs = score_hypotheses(against, references, scoring, name=names[1], reference_names=reference_names)
    metrics, tokenize = scoring.settled(references)
    tests: dict[MetricName, Comparison] = {}
    for metric in metrics:
        match metric:
            case "bleu" | "chrf" | "ter":
                tests[metric] = compare_corpus(
                    metric, hypotheses, against, references,
                    tokenize=tokenize, lowercase=scoring.lowercase, samples=samples, seed=seed,
                )  # fmt: skip
            case "exact" | "ser" | "wer" | "cer":
                tests[metric] = compare_errors(
                    metric, hypotheses, against, references, lowercase=scoring.lowercase, samples=samples, seed=seed
                )
    notes = [*ours.notes, *theirs.notes]
    if len(hypotheses) < FEWEST_TO_RESAMPLE:
        notes.append(f"{len(hypotheses)} lines are too few for resampling to say much; p means something from {FEWEST_TO_RESAMPLE} on")
    return replace(ours, notes=tuple(dict.fromkeys(notes)), against=theirs, comparisons=tests)


def whole_lines(texts: Sequence[str]) -> list[str]:
    """Texts as `hexapla translate` writes them, so that a file of them scores the same: a break inside one is a space."""
    return [text.replace("\r", " ").replace("\n", " ") for text in texts]


def score(
    metric: MetricName, hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: Tokenizer, lowercase: bool
) -> Score:
    match metric:
        case "bleu":
            return corpus.bleu(hypotheses, references, tokenize=tokenize, lowercase=lowercase)
        case "chrf":
            return corpus.chrf(hypotheses, references, lowercase=lowercase)
        case "ter":
            return corpus.ter(hypotheses, references, tokenize=tokenize)
        case "exact" | "ser" | "wer" | "cer":
            return error_score(metric, hypotheses, references, lowercase=lowercase)


def tokenizer_notes(
    name: str, hypotheses: Sequence[str], scoring: Scoring, metrics: Sequence[MetricName], tokenize: Tokenizer
) -> list[str]:
    notes = []
    if scoring.tokenize == "auto" and tokenize != "13a":
        left_out = "" if scoring.metrics else "; no TER and WER, whose words stand between spaces"
        notes.append(f"the references are in a script without spaces: BLEU's tokenizer is {tokenize}{left_out}")
    ends = sum(line.rstrip().endswith((" .", " ?", " !")) for line in hypotheses)
    if "bleu" in metrics and tokenize in ("13a", "intl") and 2 * ends > len(hypotheses):
        notes.append(
            f"{name}: {ends} of {len(hypotheses)} lines end in a mark after a space: the text looks tokenised; "
            f"BLEU by {tokenize} is meant for plain text: detokenise, or score with tokenize = none and say so"
        )
    return notes
