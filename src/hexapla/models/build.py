"""A configuration made into a model."""

from torch import nn

from hexapla.config.edge import checked
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.run import RunConfig
from hexapla.models.seq2seq import Seq2Seq


def build(config: RunConfig | Seq2SeqConfig) -> Seq2Seq:
    """A new model, its weights drawn from torch's global generator (`torch.manual_seed` makes them repeat).

    Raises ConfigError: a setting of `config` that cannot be, named by its path.
    """
    run = config if isinstance(config, RunConfig) else RunConfig(model=config)
    return Seq2Seq(checked(run).model)


def parameter_count(model: nn.Module) -> int:
    """Trained numbers; a matrix used in several places counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
