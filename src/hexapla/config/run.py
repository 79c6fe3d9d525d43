"""A run: the model, how it is trained, how it decodes."""

from dataclasses import field

from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.setting import Free, Refused, setting
from hexapla.config.training import TrainingConfig

ModelConfig = Seq2SeqConfig


@setting
class RunConfig:
    """config.toml of a run folder, typed."""

    model: Refused[ModelConfig]
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: Free[Strategy] = field(default_factory=Beam)
    rules: Free[Rules] = field(default_factory=Rules)
