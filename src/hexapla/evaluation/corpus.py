"""BLEU, chrF and TER by sacrebleu, so that a number here is the number everyone else gets.

BLEU  Papineni et al. 2002 · chrF  Popović 2015 · TER  Snover et al. 2006 · signatures  Post 2018
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU, BLEUScore
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER, TERScore

from hexapla.errors import ConfigError
from hexapla.evaluation.score import Score, check_references

Tokenizer = Literal["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]
CorpusMetric = Literal["bleu", "chrf", "ter"]

TOKENIZERS: tuple[Tokenizer, ...] = ("13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab")
UNSPACED = frozenset({"zh", "char", "ja-mecab"})
"""tokenizers for text whose words no space divides"""

# First and last code point; sentences in these scripts have no spaces between words, or (Hangul) words too long to match.
SCRIPTS = {
    "Han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),
    "Kana": ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9D)),
    "Hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "Southeast Asian": ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF)),  # Thai, Lao, Burmese, Khmer
}


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: Tokenizer = "13a", lowercase: bool = False) -> Score:
    """Corpus BLEU; `references` holds one list of lines for each reference set.

    Raises DataError when counts differ.
    """
    metric = corpus_metric("bleu", tokenize=tokenize, lowercase=lowercase)
    result = corpus_score(metric, hypotheses, references)
    assert isinstance(metric, BLEU) and isinstance(result, BLEUScore)
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    detail = f"{precisions}, brevity penalty {result.bp:.3f}, {result.sys_len} tokens for {result.ref_len}"
    too_short = "" if result.totals[-1] else f"; no line has {metric.max_ngram_order} tokens, so BLEU is 0"
    return Score("BLEU", result.score, signature(metric), detail + too_short)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Score:
    """Character n-gram F-score, n up to 6, recall weighted twice (chrF2)."""
    metric = CHRF(lowercase=lowercase)
    result = corpus_score(metric, hypotheses, references)
    return Score("chrF2", result.score, signature(metric), f"character n-grams up to {metric.char_order}, recall weighs {metric.beta}")


def ter(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: Tokenizer = "13a") -> Score:
    """Translation edit rate: insertions, deletions, substitutions and shifts per reference word. It ignores case, as Tercom does.

    Its words stand between spaces; where the script has none, Tercom's division of Chinese into characters. That is slow:
    a minute for a thousand lines.
    """
    metric = corpus_metric("ter", tokenize=tokenize, lowercase=True)
    result = corpus_score(metric, hypotheses, references)
    assert isinstance(result, TERScore)
    return Score("TER", result.score, signature(metric), f"{result.num_edits} edits for {result.ref_length:.10g} tokens")


def corpus_metric(name: CorpusMetric, *, tokenize: Tokenizer, lowercase: bool) -> Metric:
    """The sacrebleu object behind `bleu`, `chrf` and `ter`."""
    match name:
        case "bleu":  # force: no warning about text that looks tokenised; `Evaluation.notes` says it instead
            return BLEU(tokenize=available(tokenize), lowercase=lowercase, force=True)
        case "chrf":
            return CHRF(lowercase=lowercase)
        case "ter":
            return TER(normalized=tokenize in UNSPACED, asian_support=tokenize in UNSPACED)


def corpus_score(metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]):
    check_references(hypotheses, references)
    return metric.corpus_score(list(hypotheses), [list(lines) for lines in references])


def signature(metric: Metric) -> str:
    return metric.get_signature().format()


def available(tokenize: Tokenizer) -> Tokenizer:
    """`tokenize` itself. Raises ConfigError where sacrebleu lacks the packages that it needs."""
    if tokenize not in TOKENIZERS:
        raise ConfigError(f"tokenize = {tokenize}: no such tokenizer; one of {', '.join(TOKENIZERS)}")
    language = tokenize.removesuffix("-mecab")
    if language != tokenize:
        try:
            BLEU(tokenize=tokenize)
        except (ImportError, RuntimeError):
            raise ConfigError(
                f"tokenize = {tokenize}: needs packages that are not installed; pip install 'sacrebleu[{language}]', or use char"
            ) from None
    return tokenize


def suggest_tokenizer(references: Sequence[Sequence[str]]) -> Tokenizer:
    """The tokenizer for the script that most letters of the references are in: zh for Han, char for Kana, Hangul and
    the unspaced scripts of Southeast Asia, 13a for all others."""
    letters = Counter(character for lines in references for line in lines for character in line if character.isalpha())
    found = Counter[str]()
    for character, count in letters.items():
        found[script(character)] += count
    unspaced = found.total() - found["other"]
    if 2 * unspaced <= found.total():
        return "13a"
    # Japanese is Han and Kana together; a Chinese text may quote a little Kana.
    return "zh" if 2 * found["Han"] > unspaced and found["Kana"] < 0.05 * unspaced else "char"


def script(letter: str) -> str:
    code = ord(letter)
    return next((name for name, ranges in SCRIPTS.items() if any(first <= code <= last for first, last in ranges)), "other")
