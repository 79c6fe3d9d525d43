"""What a model is: its family, its widths, its vocabularies."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import Field

from hexapla.config.attention import AttentionConfig, Width
from hexapla.config.setting import Probability, Whole, setting
from hexapla.config.stack import StackConfig
from hexapla.errors import ConfigError

WIDTH_STEP = 2
"""a batch has a multiple of so many positions: see data.batches"""
Entries = Annotated[int, Ge(1), Le(2**27)]
"""rows of a matrix that has one for each token or position"""


@setting
class Specials:
    """The ids that are not text. Text can never become one of them (see data.tokenizer)."""

    pad: Whole = 0
    unk: Whole = 1
    bos: Whole = 2
    eos: Whole = 3

    @property
    def ids(self) -> tuple[int, int, int, int]:
        return self.pad, self.unk, self.bos, self.eos


@setting
class Sinusoidal:
    """Positions as sines and cosines, Vaswani et al. 2017, section 3.5: any length, no parameters."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    layout: Literal["interleaved", "halves"] = "interleaved"
    """interleaved: sin, cos, sin, cos, … as in the paper; halves: all sines, then all cosines (fairseq, Marian, Hugging Face)"""


@setting
class Learned:
    """Positions as trained vectors: no longer text than `length` tokens."""

    kind: Literal["learned"] = "learned"
    length: Entries = 1024

    @property
    def reach(self) -> int:
        """Tokens, the end token included, that they serve: a batch is padded."""
        return self.length - self.length % WIDTH_STEP


Positions = Annotated[Sinusoidal | Learned, Field(discriminator="kind")]


@setting
class Seq2SeqConfig:
    """The encoder-decoder of Vaswani et al. 2017, Figure 1."""

    family: Literal["seq2seq"] = "seq2seq"
    source_vocab: Entries
    """entries of the source vocabulary"""
    target_vocab: Entries
    """entries of the target vocabulary"""
    d_model: Width = 512
    """width of every embedding and layer output"""
    encoder: StackConfig = field(default_factory=StackConfig)
    decoder: StackConfig = field(default_factory=StackConfig)
    positions: Positions = field(default_factory=Sinusoidal)
    tie: Literal["all", "decoder", "none"] = "all"
    """all: source, target and output share one matrix (section 3.4); decoder: target and output; none"""
    output_bias: bool = False
    """the output projection adds a bias; the paper's does not"""
    dropout: Probability = 0.1
    """share of embedding plus position dropped while training, section 5.4"""
    specials: Specials = field(default_factory=Specials)

    def __post_init__(self) -> None:
        for name, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            self.check_heads(f"model.{name}.attention", stack.attention)
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ConfigError(
                f"model.tie = all: needs one vocabulary, but source_vocab = {self.source_vocab} and "
                f"target_vocab = {self.target_vocab}; set model.tie = decoder, or prepare the data with a joint vocabulary"
            )
        smallest = min(self.source_vocab, self.target_vocab)
        if max(self.specials.ids) >= smallest or len(set(self.specials.ids)) != 4:
            raise ConfigError(f"model.specials = {self.specials.ids}: must be four different ids below {smallest}")

    def check_heads(self, where: str, attention: AttentionConfig) -> None:
        """What the numbers say together; a heads or kv_heads of 0 is refused on its own, in `edge`."""
        heads, kv_heads = attention.heads, attention.kv_heads
        if heads and self.d_model % heads and None in (attention.d_k, attention.d_v):
            divisors = [n for n in range(1, self.d_model + 1) if self.d_model % n == 0]
            nearest = min(divisors, key=lambda n: abs(n - heads))
            raise ConfigError(f"{where}.heads = {heads}: must divide d_model = {self.d_model}; try {nearest}, or set d_k and d_v")
        if kv_heads and heads % kv_heads:
            raise ConfigError(f"{where}.kv_heads = {kv_heads}: must divide heads = {heads}")
