"""A Seq2Seq of post-norm layers as transformers' MarianMTModel: the table of docs/names.md, backwards."""

from typing import Any

import torch

from hexapla.blocks.positions import sinusoids
from hexapla.config.model import Sinusoidal
from hexapla.models.seq2seq import Seq2Seq

PARTS = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "around_self.norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj",
    "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj",
    "cross_attention.output": "encoder_attn.out_proj",
    "around_cross.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "around_feed_forward.norm": "final_layer_norm",
}


def marian_of(ours: Seq2Seq, *, longest: int = 1200) -> Any:
    """Ready to generate. The logits are ours: see tests/models/test_marian.py for the same table the other way."""
    from transformers import MarianConfig, MarianMTModel

    config, encoder, decoder, specials = ours.config, ours.config.encoder, ours.config.decoder, ours.config.specials
    assert isinstance(config.positions, Sinusoidal), "and its positions are sinusoids"
    assert encoder.norm_position == decoder.norm_position == "post", "transformers' Marian has no pre-norm"
    model = MarianMTModel(
        MarianConfig(
            vocab_size=config.target_vocab,
            d_model=config.d_model,
            encoder_layers=encoder.layers,
            decoder_layers=decoder.layers,
            encoder_attention_heads=encoder.attention.heads,
            decoder_attention_heads=decoder.attention.heads,
            encoder_ffn_dim=encoder.feed_forward.d_ff,
            decoder_ffn_dim=decoder.feed_forward.d_ff,
            activation_function=encoder.feed_forward.activation,
            max_position_embeddings=longest,
            scale_embedding=True,
            pad_token_id=specials.pad,
            bos_token_id=specials.bos,
            eos_token_id=specials.eos,
            decoder_start_token_id=specials.bos,
            forced_eos_token_id=None,
        )
    ).eval()
    weights = {"model.shared.weight": ours.target_embedding.weight, "final_logits_bias": torch.zeros(1, config.target_vocab)}
    if ours.output.bias is not None:
        weights["final_logits_bias"] = ours.output.bias[None]
    for side in ("encoder", "decoder"):
        weights[f"model.{side}.embed_positions.weight"] = sinusoids(longest, config.d_model, layout=config.positions.layout)
        for name, weight in getattr(ours, side).layers.state_dict().items():
            number, _, rest = name.partition(".")
            part, _, kind = rest.rpartition(".")
            weights[f"model.{side}.layers.{number}.{PARTS[part]}.{kind}"] = weight
    missing, unexpected = model.load_state_dict({name: weight.contiguous() for name, weight in weights.items()}, strict=False)
    assert not unexpected and all("embed_tokens" in name or name == "lm_head.weight" for name in missing), (missing, unexpected)
    return model
