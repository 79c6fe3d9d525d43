"""What `prepare` says about a corpus beside its counts: nothing that stops it, all that is worth a look before training."""

from hexapla.config.data import Bpe, PrepareConfig, Unigram
from hexapla.data.report import suspicions
from hexapla.data.texts import Texts, leak
from hexapla.data.tokenizer import Tokenizer

LOOKED_AT = 5_000
"""pairs at most that are looked at for sides that do not belong together: a twentieth of a second"""


def suspicions_of(texts: Texts) -> list[str]:
    """What `check` would warn of, if some of the text is enough to see it."""
    lines, sources, targets = texts.sample(LOOKED_AT)
    among = f" among {len(lines):,} pairs looked at" if len(lines) < texts.pairs else ""
    return [
        f"{finding.message}{among} (first at line {finding.lines[0]}); {finding.remedy}"
        if finding.lines
        else f"{finding.message}; {finding.remedy}"
        for finding in suspicions(sources, targets, lines)
    ]


def leaks(train: Texts, dev: Texts) -> list[str]:
    """Whether the dev set is in the training text."""
    sources, pairs, first = leak(train, dev)
    if not sources:
        return []
    return [
        f"dev: {sources:,} of {dev.pairs:,} sources are in the training text, {pairs:,} with the same target (first at line {first});"
        " scores on them say little about new text"
    ]


def smaller_vocabularies(config: PrepareConfig, source: Tokenizer, target: Tokenizer) -> list[str]:
    """Where the text holds fewer pieces than were asked for."""
    found = []
    for side, tokenizer in (("subwords", source),) if config.joint else (("source", source), ("target", target)):
        asked = tokenizer.config
        if isinstance(asked, Bpe | Unigram) and tokenizer.vocab_size < asked.size:
            found.append(
                f"{side}: {tokenizer.vocab_size} vocabulary entries instead of {asked.size}; the text holds no more different pieces"
            )
    return found
