"""Named runs. Each is a model and the training that suits it; `--set` and a config file change what they say."""

from collections.abc import Callable

from hexapla.config.attention import AttentionConfig
from hexapla.config.decoding import Beam
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.run import RunConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.config.training import InverseSqrt, Paper, TrainingConfig


def seq2seq(
    vocab_size: int, target_vocab: int | None, *, layers: int, d_model: int, heads: int, d_ff: int, dropout: float
) -> Seq2SeqConfig:
    """The paper's architecture at one size: both stacks alike, post-norm, ReLU; tied three ways where one vocabulary serves both sides."""
    stack = StackConfig(layers=layers, attention=AttentionConfig(heads=heads), feed_forward=FeedForwardConfig(d_ff=d_ff), dropout=dropout)
    return Seq2SeqConfig(
        source_vocab=vocab_size,
        target_vocab=target_vocab or vocab_size,
        tie="all" if target_vocab is None else "decoder",
        d_model=d_model,
        encoder=stack,
        decoder=stack,
        dropout=dropout,
    )


def paper_base(vocab_size: int, target_vocab: int | None = None) -> RunConfig:
    """Vaswani et al. 2017, Table 3, row "base": 63 M parameters with a shared vocabulary of 37,000."""
    return RunConfig(
        model=seq2seq(vocab_size, target_vocab, layers=6, d_model=512, heads=8, d_ff=2048, dropout=0.1),
        training=TrainingConfig(steps=100_000, batch_tokens=50_000, schedule=Paper(warmup=4000)),
    )


def paper_big(vocab_size: int, target_vocab: int | None = None) -> RunConfig:
    """Vaswani et al. 2017, Table 3, row "big"."""
    return RunConfig(
        model=seq2seq(vocab_size, target_vocab, layers=6, d_model=1024, heads=16, d_ff=4096, dropout=0.3),
        training=TrainingConfig(steps=300_000, batch_tokens=50_000, schedule=Paper(warmup=4000), keep_last=20),
    )


def small(vocab_size: int, target_vocab: int | None = None) -> RunConfig:
    """For tens or hundreds of thousands of pairs on a laptop."""
    return RunConfig(
        model=seq2seq(vocab_size, target_vocab, layers=3, d_model=256, heads=4, d_ff=1024, dropout=0.2),
        training=TrainingConfig(steps=20_000, batch_tokens=8192, schedule=InverseSqrt(peak=2e-3, warmup=2000), keep_last=10),
    )


def tiny(vocab_size: int, target_vocab: int | None = None) -> RunConfig:
    """Transformer-Tiny of Wu et al. 2021, for a few tens of thousands of short pairs; strong dropout, high rate."""
    return RunConfig(
        model=seq2seq(vocab_size, target_vocab, layers=4, d_model=128, heads=4, d_ff=256, dropout=0.3),
        training=TrainingConfig(steps=8000, batch_tokens=16_384, schedule=InverseSqrt(peak=5e-3, warmup=2000), keep_last=10),
        decoding=Beam(width=5),
    )


PRESETS: dict[str, Callable[[int, int | None], RunConfig]] = {
    "tiny": tiny,
    "small": small,
    "paper_base": paper_base,
    "paper_big": paper_big,
}
