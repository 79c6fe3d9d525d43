"""How text becomes ids, and which pairs are kept."""

from dataclasses import field
from typing import Annotated, Literal

from pydantic import Field

from hexapla.config.setting import Count, Portion, Positive, Share, Whole, setting, short_setting

Normalisation = Literal["identity", "nfkc", "nmt_nfkc"]


@short_setting
class Bpe:
    """Byte-pair subwords (Sennrich et al. 2016), learned by sentencepiece."""

    size: Count = 8000
    """vocabulary entries, the four specials and any byte pieces included"""
    byte_fallback: bool = True
    """a character outside the vocabulary is written as its UTF-8 bytes instead of <unk>"""
    normalise: Normalisation = "identity"
    """identity keeps the text as it is but for repeated spaces; nfkc and nmt_nfkc fold compatible characters"""
    coverage: Portion = 0.9999
    """share of the corpus' characters that get a piece of their own"""
    kind: Literal["bpe"] = "bpe"


@short_setting
class Unigram:
    """Unigram language-model subwords (Kudo 2018), learned by sentencepiece."""

    size: Count = 8000
    """vocabulary entries, the four specials and any byte pieces included"""
    byte_fallback: bool = True
    """a character outside the vocabulary is written as its UTF-8 bytes instead of <unk>"""
    normalise: Normalisation = "identity"
    """identity keeps the text as it is but for repeated spaces; nfkc and nmt_nfkc fold compatible characters"""
    coverage: Portion = 0.9999
    """share of the corpus' characters that get a piece of their own"""
    kind: Literal["unigram"] = "unigram"


@short_setting
class Characters:
    """One id for each Unicode character."""

    kind: Literal["characters"] = "characters"


@short_setting
class Words:
    """One id for each word between spaces."""

    size: Count | None = None
    """keep the most frequent words only; unset: all"""
    kind: Literal["words"] = "words"


@short_setting
class Bytes:
    """One id for each UTF-8 byte: 256 and the specials, nothing learned."""

    kind: Literal["bytes"] = "bytes"


Subwords = Annotated[Bpe | Unigram | Characters | Words | Bytes, Field(discriminator="kind")]


@setting
class Cleaning:
    """Which pairs are kept. A pair is dropped or kept whole; each one dropped has its reason and line in the report."""

    max_tokens: Count = 256
    """longest source or target kept, in subwords"""
    max_ratio: Positive | None = None
    """longest side over shortest, in subwords, plus a slack of 5; unset: any"""
    duplicates: Literal["keep", "drop"] = "keep"
    """drop: of equal pairs only the first is kept"""
    copies: Literal["keep", "drop"] = "keep"
    """drop: pairs whose two sides are equal"""
    too_long: Literal["drop", "cut"] = "drop"
    """cut: keep the first max_tokens subwords of a longer side, reported as cut"""
    bad_bytes: Literal["refuse", "drop"] = "refuse"
    """drop: pairs with a byte that is not UTF-8, or a NUL; refuse: the first of them ends it"""


@setting
class PrepareConfig:
    """All that `hexapla prepare` is asked."""

    source: Subwords = field(default_factory=Bpe)
    target: Subwords | None = None
    """unset: as the source"""
    joint: bool = True
    """one vocabulary learned from both sides; needs target unset"""
    cleaning: Cleaning = field(default_factory=Cleaning)
    hold_out: Whole | None = None
    """pairs set aside as the dev set where none is given; unset: one in a hundred, from 10 to 1,000, none of fewer than 200 pairs"""
    seed: Whole = 1
    """chooses the pairs held out"""
    max_dropped: Share = 0.2
    """refuse to go on when cleaning drops more than this share"""
