"""How the next token is chosen, and what may be chosen."""

from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field

from hexapla.config.setting import Count, Number, Portion, Positive, Whole, setting

LARGEST_WIDTH = 1024
"""rows kept for a sentence: more would be a slip, and nobody's memory holds as many as can be typed"""
Width = Annotated[Count, Le(LARGEST_WIDTH)]
Exponent = Annotated[Number, Ge(-10.0), Le(10.0)]
Length = Annotated[Whole, Le(100_000)]
"""of an output: a search that may go on for ever ends at last"""


@setting
class Beam:
    """Keep the `width` best hypotheses at each step; a width of 1 is greedy search.

    A finished hypothesis of n tokens (the end token counts) ranks by log P / lp(n):
    gnmt  ((5 + n) / 6) ** length_penalty, Wu et al. 2016, eq. (14), the paper's choice with 0.6
    power n ** length_penalty; 1 is the mean log-probability
    none  1
    """

    kind: Literal["beam"] = "beam"
    width: Width = 4
    """hypotheses kept for each sentence"""
    penalty: Literal["gnmt", "power", "none"] = "gnmt"
    """the formula that divides a hypothesis' log-probability by its length"""
    length_penalty: Exponent = 0.6
    """alpha of that formula; larger prefers longer output, 0 is the plain sum"""


@setting
class Sample:
    """Draw each token from the model's distribution; what is drawn for a sentence depends on it and the seed alone."""

    kind: Literal["sample"] = "sample"
    temperature: Positive = 1.0
    """logits are divided by it: below 1 sharper, above 1 flatter"""
    top_k: Count | None = None
    """draw among the k likeliest tokens; unset: all"""
    top_p: Portion = 1.0
    """draw among the fewest likeliest tokens whose probability reaches p (Holtzman et al. 2020)"""
    seed: Whole = 1
    """another seed draws other outputs"""


Strategy = Annotated[Beam | Sample, Field(discriminator="kind")]


@setting
class Rules:
    """Limits on what a search may read and write."""

    max_source: Count = 1024
    """source tokens that are read; of a longer line the rest is left out, and its translation says so"""
    max_extra: Length = 50
    """longest output: the source's tokens plus this many, section 6.1 of the paper"""
    max_length: Annotated[Length, Ge(1)] | None = None
    """longest output in tokens, whatever the source's length; the smaller of both limits holds"""
    min_length: Length = 0
    """the end token is not allowed before this many tokens"""
    no_repeat: Whole = 0
    """no n-gram of this size occurs twice in an output; 0: allowed"""
    suppress: tuple[Whole, ...] = ()
    """ids that are never written"""
