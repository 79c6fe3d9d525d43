"""A run: the model, how it is trained, how it decodes."""

from dataclasses import field

from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.setting import setting
from hexapla.config.training import TrainingConfig

ModelConfig = Seq2SeqConfig


@setting
class RunConfig:
    """config.toml of a run folder, typed."""

    model: ModelConfig
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: Strategy = field(default_factory=Beam)
    rules: Rules = field(default_factory=Rules)
