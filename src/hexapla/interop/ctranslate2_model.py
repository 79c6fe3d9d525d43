"""A Seq2Seq written as a model of CTranslate2, the C++ engine of OpenNMT (https://opennmt.net/CTranslate2)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hexapla.blocks.attention import Attention
from hexapla.blocks.feed_forward import FeedForward
from hexapla.blocks.layer import DecoderLayer
from hexapla.blocks.positions import LearnedPositions, sinusoids
from hexapla.blocks.residual import Residual
from hexapla.blocks.stack import Decoder, Encoder
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.stack import Activation, StackConfig
from hexapla.errors import ConfigError
from hexapla.interop.exported import QUANTISATION, Type, needs_ctranslate2
from hexapla.interop.pieces import told_apart
from hexapla.models.seq2seq import Seq2Seq

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

ACTIVATIONS: dict[Activation, str] = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}
"""gelu is the exact one, with erf; GELUTanh would be its approximation"""


def write_model(model: Seq2Seq, folder: Path, *, source: Sequence[str], target: Sequence[str], type: Type, positions: int) -> None:
    """Write model.bin, config.json and the vocabularies. `source` and `target` are the pieces of each id.

    Sinusoids are written as a table of `positions` rows, since CTranslate2's own have other wavelengths and another order of columns.
    Raises ConfigError: the model has what CTranslate2 has not; CTranslate2 is not installed.
    """
    refuse_unsupported(model.config)
    needs_ctranslate2()
    from ctranslate2.specs import TransformerSpec

    config, specials = model.config, model.config.specials
    spec: Any = TransformerSpec(encoder_of(model, positions), decoder_of(model, positions))
    source, target = told_apart(source, specials.ids), told_apart(target, specials.ids)
    spec.register_source_vocabulary(list(source))
    spec.register_target_vocabulary(list(target))
    settings: Any = spec.config
    settings.unk_token, settings.bos_token, settings.eos_token = (target[i] for i in (specials.unk, specials.bos, specials.eos))
    settings.decoder_start_token = settings.bos_token
    settings.add_source_eos = True
    settings.layer_norm_epsilon = config.encoder.norm_epsilon
    spec.validate()
    spec.optimize(quantization=QUANTISATION[type])
    spec.save(str(folder))


def refuse_unsupported(config: Seq2SeqConfig) -> None:
    """Raises ConfigError: a setting that CTranslate2 has no equal of, or has for both stacks alike."""
    sides = (("encoder", config.encoder), ("decoder", config.decoder))
    for side, stack in sides:
        attention = stack.attention
        if not stack.layers:
            raise ConfigError(f"model.{side}.layers = 0: CTranslate2 needs a layer; such a model cannot be exported to it")
        for name, width in (("d_k", attention.d_k), ("d_v", attention.d_v)):
            if width is not None and width * attention.heads != config.d_model:
                raise ConfigError(
                    f"model.{side}.attention.{name} = {width}: CTranslate2 has d_model / heads = {config.d_model / attention.heads:g} "
                    "alone; such a model cannot be exported to it"
                )
    if config.encoder.norm_epsilon != config.decoder.norm_epsilon:
        raise ConfigError(
            f"model.decoder.norm_epsilon = {config.decoder.norm_epsilon}: CTranslate2 has one for both stacks, and the encoder's is "
            f"{config.encoder.norm_epsilon}; such a model cannot be exported to it"
        )


def options_of(stack: StackConfig) -> dict[str, Any]:
    """What the specifications of an encoder and of a decoder are made from alike."""
    from ctranslate2.specs.common_spec import Activation as TheirActivation

    heads, kv_heads = stack.attention.heads, stack.attention.kv_heads
    return {
        "pre_norm": stack.norm_position == "pre",
        "activation": TheirActivation[ACTIVATIONS[stack.feed_forward.activation]],
        "ffn_glu": stack.feed_forward.gated,
        "rms_norm": stack.norm == "rms",
        "num_heads_kv": None if kv_heads in (None, heads) else kv_heads,
    }


def encoder_of(model: Seq2Seq, positions: int) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerEncoderSpec

    stack = model.config.encoder
    spec: Any = TransformerEncoderSpec(stack.layers, stack.attention.heads, **options_of(stack))
    spec.embeddings[0].weight = values(model.source_embedding.weight)
    spec.position_encodings.encodings = table_of(model, positions)
    put_stack(spec, model.encoder)
    return spec


def decoder_of(model: Seq2Seq, positions: int) -> Any:
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec

    stack = model.config.decoder
    spec: Any = TransformerDecoderSpec(
        stack.layers, stack.attention.heads, **options_of(stack), alignment_layer=-1, alignment_heads=stack.attention.heads
    )
    spec.embeddings.weight = values(model.target_embedding.weight)
    spec.position_encodings.encodings = table_of(model, positions)
    put_stack(spec, model.decoder)
    put_linear(spec.projection, model.output)
    return spec


def table_of(model: Seq2Seq, positions: int) -> "np.ndarray":
    """A row for each position from 0 on."""
    if isinstance(model.positions, LearnedPositions):
        return values(model.positions.weight)
    return values(sinusoids(positions, model.config.d_model, layout=model.positions.layout))


def put_stack(spec: Any, stack: Encoder | Decoder) -> None:
    if hasattr(spec, "layer_norm"):
        put_norm(spec.layer_norm, stack.norm)
    for theirs, layer in zip(spec.layer, cast("Iterable[Any]", stack.layers), strict=True):
        put_self_attention(theirs.self_attention, layer.self_attention, layer.around_self)
        if isinstance(layer, DecoderLayer):
            put_cross_attention(theirs.attention, layer.cross_attention, layer.around_cross)
        put_feed_forward(theirs.ffn, layer.feed_forward, layer.around_feed_forward)


def put_self_attention(spec: Any, attention: Attention, around: Residual) -> None:
    """CTranslate2 projects queries, keys and values at once."""
    put_linear(spec.linear[0], attention.query, attention.key, attention.value)
    put_linear(spec.linear[1], attention.output)
    put_norm(spec.layer_norm, around.norm)


def put_cross_attention(spec: Any, attention: Attention, around: Residual) -> None:
    put_linear(spec.linear[0], attention.query)
    put_linear(spec.linear[1], attention.key, attention.value)
    put_linear(spec.linear[2], attention.output)
    put_norm(spec.layer_norm, around.norm)


def put_feed_forward(spec: Any, feed_forward: FeedForward, around: Residual) -> None:
    put_linear(spec.linear_0, feed_forward.inner)
    put_linear(spec.linear_1, feed_forward.outer)
    if feed_forward.gate is not None:
        put_linear(spec.linear_0_noact, feed_forward.gate)
    put_norm(spec.layer_norm, around.norm)


def put_linear(spec: Any, *linears: Any) -> None:
    """Projections of the same input, one below the other."""
    import numpy as np

    spec.weight = np.concatenate([values(linear.weight) for linear in linears])
    if linears[0].bias is not None:
        spec.bias = np.concatenate([values(linear.bias) for linear in linears])


def put_norm(spec: Any, norm: Any) -> None:
    spec.gamma = values(norm.weight)
    if hasattr(spec, "beta"):
        spec.beta = values(norm.bias)


def values(tensor: "Tensor") -> "np.ndarray":
    """A copy, since CTranslate2 rounds in place."""
    return tensor.detach().float().cpu().numpy().copy()
