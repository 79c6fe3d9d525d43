"""How a model is trained."""

from dataclasses import field
from typing import Annotated, Literal

from annotated_types import Ge
from pydantic import AllowInfNan, Field

from hexapla.config.decoding import Width
from hexapla.config.setting import Count, Free, NotNegative, Positive, Probability, Refused, Warned, Whole, setting


@setting
class Paper:
    """scale · d_model**-0.5 · min(step**-0.5, step · warmup**-1.5): Vaswani et al. 2017, section 5.3."""

    kind: Literal["paper"] = "paper"
    warmup: Count = 4000
    """updates until the rate is highest"""
    scale: Positive = 1.0
    """multiplies the whole schedule"""


@setting
class InverseSqrt:
    """Linear up to `peak` in `warmup` updates, then peak · (warmup / step)**0.5."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    peak: Positive = 1e-3
    """the highest rate"""
    warmup: Count = 4000
    """updates until the rate is highest"""


@setting
class Cosine:
    """Linear up to `peak`, then half a cosine down to `floor` at the last step."""

    kind: Literal["cosine"] = "cosine"
    peak: Positive = 1e-3
    """the highest rate"""
    warmup: Count = 1000
    """updates until the rate is highest"""
    floor: NotNegative = 0.0
    """the rate of the last update"""


@setting
class Constant:
    """Linear up to `peak` in `warmup` updates, then the same."""

    kind: Literal["constant"] = "constant"
    peak: Positive = 1e-3
    """the rate"""
    warmup: Whole = 0
    """updates until it is reached"""


Precision = Literal["auto", "fp32", "bf16"]
Schedule = Annotated[Paper | InverseSqrt | Cosine | Constant, Field(discriminator="kind")]


@setting
class AdamConfig:
    """Kingma and Ba 2015, with the paper's section 5.3 values."""

    beta1: Probability = 0.9
    """how much of the gradient's running mean is kept at each update"""
    beta2: Probability = 0.98
    """how much of the squared gradient's running mean is kept"""
    epsilon: Annotated[float, Ge(1e-30), AllowInfNan(False)] = 1e-9
    """added to the root of the latter before it divides; what fp32 cannot hold would divide by zero"""
    weight_decay: NotNegative = 0.0
    """decoupled (Loshchilov and Hutter 2019); 0: plain Adam"""


@setting
class ValidationConfig:
    """When and by what the model is judged while it trains."""

    every: Count = 1000
    """updates between two validations"""
    metric: Literal["loss", "bleu", "chrf", "exact"] = "loss"
    """what decides which checkpoint is best, and patience: loss falls, the others rise"""
    translate: Whole = 1000
    """dev sentences translated for BLEU, chrF and exact match at each validation; 0: none"""
    tokenize: Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none"] = "auto"
    """BLEU's tokenizer, as `hexapla evaluate --tokenize` names it; none: the text is tokenized already"""
    width: Width = 1
    """beam width of those translations"""
    patience: Count | None = None
    """stop after this many validations without a better one; unset: never"""


@setting
class TrainingConfig:
    steps: Warned[Count] = 100_000
    """optimiser updates in all; another number is told where the schedule is a cosine, whose later rates it changes, else free"""
    batch_tokens: Warned[Count] = 4096
    """padded source plus target tokens of one batch"""
    accumulate: Warned[Count] = 1
    """batches whose gradients make one update"""
    seed: Refused[Whole] = 1
    """decides the first weights, the order of the pairs and what dropout drops"""
    precision: Refused[Precision] = "auto"
    """fp32, or bf16 arithmetic with fp32 weights; auto: what is faster on the machine where the run is begun, which then keeps it"""
    label_smoothing: Refused[Probability] = 0.1
    """probability taken from the reference token and given to all text tokens alike, section 5.4"""
    optimiser: Refused[AdamConfig] = field(default_factory=AdamConfig)
    schedule: Refused[Schedule] = field(default_factory=Paper)
    clip: Refused[Positive | None] = None
    """largest norm of the whole gradient; unset: no clipping"""
    validation: Free[ValidationConfig] = field(default_factory=ValidationConfig)
    checkpoint_every: Free[Count] = 1000
    """updates between two checkpoints"""
    keep_last: Free[Count] = 5
    """newest checkpoints kept, besides the best; at least 2 are kept"""
    log_every: Free[Count] = 50
    """updates between two lines of metrics.jsonl"""
