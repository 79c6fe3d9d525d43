"""The weights of torch.nn's Transformer, under the names of ours."""


def attention(theirs):
    """nn.MultiheadAttention keeps the three input projections in one matrix."""
    names = ("query", "key", "value")
    weights = dict(zip((f"{name}.weight" for name in names), theirs.in_proj_weight.chunk(3), strict=True))
    biases = dict(zip((f"{name}.bias" for name in names), theirs.in_proj_bias.chunk(3), strict=True))
    return weights | biases | under("output", theirs.out_proj.state_dict())


def encoder_layer(theirs):
    return (
        under("self_attention", attention(theirs.self_attn))
        | under("around_self.norm", theirs.norm1.state_dict())
        | feed_forward(theirs)
        | under("around_feed_forward.norm", theirs.norm2.state_dict())
    )


def decoder_layer(theirs):
    return (
        under("self_attention", attention(theirs.self_attn))
        | under("around_self.norm", theirs.norm1.state_dict())
        | under("cross_attention", attention(theirs.multihead_attn))
        | under("around_cross.norm", theirs.norm2.state_dict())
        | feed_forward(theirs)
        | under("around_feed_forward.norm", theirs.norm3.state_dict())
    )


def feed_forward(theirs):
    return under("feed_forward.inner", theirs.linear1.state_dict()) | under("feed_forward.outer", theirs.linear2.state_dict())


def stack(theirs, layer):
    """nn.TransformerEncoder or nn.TransformerDecoder; `layer` is the function above for its layers."""
    found = {} if theirs.norm is None else under("norm", theirs.norm.state_dict())
    for i, each in enumerate(theirs.layers):
        found |= under(f"layers.{i}", layer(each))
    return found


def under(name, tensors):
    return {f"{name}.{key}": tensor for key, tensor in tensors.items()}
