"""Attention against loops written from the paper, hand-derived gradients and torch.nn."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hexapla import hardware
from hexapla.blocks.attention import Attention, attend, weigh
from hexapla.blocks.mask import CAUSAL, Mask
from hexapla.config.attention import AttentionConfig
from reference import attention as reference
from reference import torch_weights

PADDED = torch.tensor([[True, True, True, True, True], [True, True, True, False, False]])
FIRST_HIDDEN = torch.tensor([[False, False, True, True, True], [True, True, True, True, True]])
ONE_EMPTY = torch.tensor([[True, True, True, True, True], [False, False, False, False, False]])
MASKS = {
    "all": {},
    "causal": {"causal": True},
    "window": {"window": 2},
    "causal window": {"causal": True, "window": 3},
    "keys": {"keys": PADDED},
    "causal and keys": {"causal": True, "keys": PADDED},
    "first queries see nothing": {"causal": True, "keys": FIRST_HIDDEN},
    "one sentence is all padding": {"keys": ONE_EMPTY},
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
# The article's example: scores of four tokens, and their weights under the causal mask to three digits.
SCORES = [[1.2, 0.8, 0.5, 0.3], [0.9, 1.5, 0.7, 0.4], [0.6, 0.9, 1.8, 0.6], [0.4, 0.7, 1.2, 2.0]]
WEIGHTS = [[1.0, 0.0, 0.0, 0.0], [0.354, 0.646, 0.0, 0.0], [0.176, 0.238, 0.586, 0.0], [0.105, 0.142, 0.234, 0.520]]


@pytest.fixture(params=["written out", "fused"])
def kernel(request, monkeypatch):
    choose(request.param, monkeypatch)
    return request.param


def choose(kernel, monkeypatch):
    monkeypatch.setattr(hardware, "WRITTEN_OUT_UP_TO", {"written out": 10**9, "fused": 0}[kernel])


def draw(queries=5, kv_heads=4, dtype=torch.float32):
    """Queries (2 4 T 4), keys (2 G 5 4) and values (2 G 5 6)."""
    shapes = (2, 4, queries, 4), (2, kv_heads, 5, 4), (2, kv_heads, 5, 6)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


def numbers(values):
    return {name: value.detach().double().numpy() if isinstance(value, torch.Tensor) else value for name, value in values.items()}


def gradient(x):
    assert x.grad is not None
    return x.grad


def by_loops(q, k, v, **options):
    output, weights = reference.attention(*(x.detach().double().numpy() for x in (q, k, v)), **numbers(options))
    return torch.from_numpy(output), torch.from_numpy(weights)


def assert_close(found, expected, atol=1e-6):
    torch.testing.assert_close(found.double(), expected.double(), atol=atol, rtol=0)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("biased", [False, True], ids=["", "biased"])
@pytest.mark.parametrize("queries", [5, 2], ids=["whole", "cached"])
@each_mask
def test_attend_is_equation_1(mask, queries, biased, kv_heads, kernel):
    q, k, v = draw(queries, kv_heads)
    bias = torch.randn(4, queries, 5) if biased else None
    assert_close(attend(q, k, v, Mask(**mask), bias=bias), by_loops(q, k, v, bias=bias, **mask)[0])


@pytest.mark.parametrize("options", [{"scale": 1.0}, {"softcap": 0.5}, {"scale": 2.0, "softcap": 3.0}], ids=str)
@each_mask
def test_scale_and_softcap_are_their_formulas(mask, options, kernel):
    q, k, v = draw()
    bias = torch.randn(2, 1, 5, 5)
    assert_close(attend(q, k, v, Mask(**mask), bias=bias, **options), by_loops(q, k, v, bias=bias, **mask, **options)[0])


@pytest.mark.parametrize("shape", [(5, 5), (4, 1, 5), (2, 1, 1, 5), (1, 4, 5, 5)], ids=str)
def test_a_bias_is_broadcast_over_what_it_lacks(shape, kernel):
    q, k, v = draw()
    bias = torch.randn(shape)
    mask = MASKS["causal and keys"]
    assert_close(attend(q, k, v, Mask(**mask), bias=bias), by_loops(q, k, v, bias=bias, **mask)[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@each_mask
def test_half_precision_is_near_the_formula_and_keeps_its_type(mask, dtype, kernel):
    q, k, v = draw(dtype=dtype)
    bias = torch.randn(5, 5)
    found = attend(q, k, v, Mask(**mask), bias=bias)
    assert found.dtype == dtype
    assert_close(found, by_loops(q, k, v, bias=bias, **mask)[0], atol={torch.bfloat16: 0.04, torch.float16: 0.005}[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("biased", [False, True], ids=["", "biased"])
@pytest.mark.parametrize(
    ("mask", "blind"), [("one sentence is all padding", (1, slice(None))), ("first queries see nothing", (0, slice(2)))]
)
def test_a_query_that_sees_nothing_gives_zero_and_no_gradient(mask, blind, biased, dtype, kernel):
    q, k, v = draw(dtype=dtype)
    output = attend(q, k, v, Mask(**MASKS[mask]), bias=torch.randn(5, 5) if biased else None)
    output.square().sum().backward()
    sentence, positions = blind
    assert not output[sentence, :, positions].any()
    assert output.isfinite().all()
    for x in (q, k, v):
        assert gradient(x).isfinite().all()
        assert gradient(x)[1 - sentence].any()
    assert not gradient(q)[sentence, :, positions].any()
    if mask == "one sentence is all padding":
        assert not gradient(k)[sentence].any()
        assert not gradient(v)[sentence].any()


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("queries", [5, 2], ids=["whole", "cached"])
@each_mask
def test_both_kernels_have_the_same_gradients(mask, queries, kv_heads, monkeypatch):
    inputs = [*draw(queries, kv_heads), torch.randn(4, queries, 5, requires_grad=True)]
    towards = torch.randn(2, 4, queries, 6)
    gradients = []
    for kernel in ("written out", "fused"):
        choose(kernel, monkeypatch)
        q, k, v, bias = inputs
        gradients.append(torch.autograd.grad(attend(q, k, v, Mask(**mask), bias=bias), inputs, towards))
    for written_out, fused in zip(*gradients, strict=True):
        assert_close(fused, written_out, atol=1e-5)


@pytest.mark.parametrize(
    ("queries", "keys", "options", "fused"),
    [(64, 64, {}, False), (65, 64, {}, True), (1, 4097, {}, True), (65, 64, {"softcap": 1.0}, False), (65, 64, {"record": id}, False)],
)
def test_short_texts_are_written_out_and_long_ones_fused_unless_more_is_asked(queries, keys, options, fused, monkeypatch):
    calls = []
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda q, k, v, *rest, **options: calls.append(1) or q)
    attend(torch.zeros(1, 1, queries, 2), torch.zeros(1, 1, keys, 2), torch.zeros(1, 1, keys, 2), **options)
    assert bool(calls) == fused


def test_the_worked_example_of_a_causal_mask(kernel):
    scores = torch.tensor(SCORES)
    assert_close(weigh(scores, CAUSAL.dense(4, 4, scores.device)), torch.tensor(WEIGHTS), atol=5e-4)
    # Keys that are the unit vectors make the queries the scores; values that are make the output the weights.
    unit = torch.eye(4)[None, None]
    assert_close(attend(scores[None, None], unit, unit, CAUSAL, scale=1.0), torch.tensor(WEIGHTS)[None, None], atol=5e-4)


@pytest.mark.parametrize("d_k", [4, 64, 256])
def test_dot_products_have_variance_d_k_and_scaled_ones_1(d_k):
    q, k = torch.randn(2, 20_000, d_k)
    dots = (q * k).sum(dim=1)
    assert dots.var().item() == pytest.approx(d_k, rel=0.05)
    assert (dots * d_k**-0.5).var().item() == pytest.approx(1.0, rel=0.05)


def test_without_the_scale_softmax_saturates_as_d_k_grows():
    """Section 3.2.1: large dot products push the softmax to where its gradients are small."""
    steepest = {}
    for scale in (1.0, None):
        for d_k in (4, 1024):
            weights = []
            attend(torch.randn(64, 1, 8, d_k), torch.randn(64, 1, 8, d_k), torch.randn(64, 1, 8, 1), scale=scale, record=weights.append)
            steepest[scale, d_k] = (weights[0] * (1 - weights[0])).mean().item()  # ∂ weight / ∂ its own score
    assert steepest[1.0, 1024] < 0.1 * steepest[1.0, 4]
    assert steepest[None, 1024] == pytest.approx(steepest[None, 4], rel=0.15)


def test_the_hand_derived_gradients_of_the_projections_are_autograd_s():
    """dW^Q = xᵀ (dS K) / √d_k, and its two companions."""
    module = Attention(8, AttentionConfig(heads=1, d_k=3, d_v=4, bias=False)).double()
    x, towards = torch.randn(1, 5, 8, dtype=torch.float64), torch.randn(1, 5, 8, dtype=torch.float64)
    (module(x) * towards).sum().backward()
    d_heads = (towards[0] @ module.output.weight).detach().numpy()
    projections = [module.query, module.key, module.value]
    w_q, w_k, w_v = (p.weight.detach().numpy().T for p in projections)
    expected = reference.single_head_gradients(x[0].numpy(), w_q, w_k, w_v, d_heads)
    for projection, by_hand in zip(projections, expected, strict=True):
        np.testing.assert_allclose(gradient(projection.weight).numpy().T, by_hand, rtol=1e-10, atol=1e-12)


def test_the_hand_derived_gradients_are_finite_differences():
    """The reference itself, so that it and autograd cannot be wrong together."""
    draws = np.random.default_rng(0)
    x, towards = draws.normal(size=(5, 8)), draws.normal(size=(5, 4))
    w_q, w_k, w_v = draws.normal(size=(8, 3)), draws.normal(size=(8, 3)), draws.normal(size=(8, 4))
    by_hand = reference.single_head_gradients(x, w_q, w_k, w_v, towards)
    for matrix, expected in zip((w_q, w_k, w_v), by_hand, strict=True):
        for place in ((0, 0), (7, 2), (3, 1)):
            sides = []
            for nudge in (1e-6, -2e-6):
                matrix[place] += nudge
                sides.append((reference.single_head(x, w_q, w_k, w_v)[0] * towards).sum())
            matrix[place] += 1e-6
            assert (sides[0] - sides[1]) / 2e-6 == pytest.approx(expected[place], rel=1e-5, abs=1e-7)


@each_mask
def test_the_record_shows_the_weights_and_changes_nothing(mask, kernel):
    q, k, v = draw()
    seen = []
    recorded = attend(q, k, v, Mask(**mask), record=seen.append)
    assert_close(recorded, attend(q, k, v, Mask(**mask)))
    expected = by_loops(q, k, v, **mask)[1]
    assert_close(seen[0], expected)
    sums, read = seen[0].sum(dim=-1), expected.any(dim=-1)
    assert_close(sums, read.double())


def test_a_module_s_record_changes_no_output_and_sees_weights_that_sum_to_1():
    module = Attention(8, AttentionConfig(heads=2, dropout=0.5)).eval()
    x = torch.randn(2, 5, 8)
    before, seen = module(x, CAUSAL), []
    module.record = seen.append
    assert torch.equal(module(x, CAUSAL), before)
    assert seen[0].shape == (2, 2, 5, 5)
    assert_close(seen[0].sum(dim=-1), torch.ones(2, 2, 5))
    module.train()(x, CAUSAL)
    assert torch.equal(seen[1], seen[0]), "recorded before dropout"


def test_dropout_drops_weights_and_scales_the_rest(kernel):
    q, k = draw()[:2]
    values = torch.eye(5).expand(2, 4, 5, 5)
    kept = attend(q, k, values)
    dropped = attend(q, k, values, dropout=0.5)
    where_zero = dropped == 0
    assert 0.3 < where_zero.float().mean() < 0.7
    assert_close(torch.where(where_zero, 0.0, kept * 2), dropped)


def test_a_module_drops_weights_only_while_training(kernel):
    module = Attention(8, AttentionConfig(heads=2, dropout=0.5))
    x = torch.randn(2, 5, 8)
    assert not torch.equal(module(x), module(x))
    module.eval()
    plain = Attention(8, AttentionConfig(heads=2))
    plain.load_state_dict(module.state_dict())
    assert torch.equal(module(x), plain(x))


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_self_attention_is_torch_s(heads, kernel):
    theirs, ours = nn.MultiheadAttention(8, heads, batch_first=True), Attention(8, AttentionConfig(heads=heads))
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    ours.load_state_dict(torch_weights.attention(theirs))
    x = torch.randn(2, 5, 8)
    blocked = torch.ones(5, 5, dtype=torch.bool).triu(1)
    expected = theirs(x, x, x, key_padding_mask=~PADDED, attn_mask=blocked)[0]
    assert_close(ours(x, Mask(causal=True, keys=PADDED)), expected)


def test_cross_attention_is_torch_s(kernel):
    theirs, ours = nn.MultiheadAttention(8, 2, batch_first=True), Attention(8, AttentionConfig(heads=2))
    nn.init.normal_(theirs.in_proj_bias)
    ours.load_state_dict(torch_weights.attention(theirs))
    x, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    seen = []
    ours.record = seen.append
    expected, weights = theirs(x, memory, memory, key_padding_mask=~PADDED, average_attn_weights=False)
    assert_close(ours.read(x, *ours.keys_values(memory), Mask(keys=PADDED)), expected)
    assert_close(seen[0], weights)


def test_many_heads_are_single_heads_side_by_side():
    """Section 3.2.2: Concat(head_1 … head_h) W^O, with head widths of their own."""
    module = Attention(8, AttentionConfig(heads=4, kv_heads=2, d_k=3, d_v=5))
    x = torch.randn(2, 5, 8)
    heads = []
    for h in range(4):
        g = h // 2
        q = F.linear(x, module.query.weight[3 * h : 3 * h + 3], module.query.bias[3 * h : 3 * h + 3])
        k = F.linear(x, module.key.weight[3 * g : 3 * g + 3], module.key.bias[3 * g : 3 * g + 3])
        v = F.linear(x, module.value.weight[5 * g : 5 * g + 5], module.value.bias[5 * g : 5 * g + 5])
        heads.append(by_loops(q[:, None], k[:, None], v[:, None])[0][:, 0])
    expected = torch.cat(heads, dim=-1).float() @ module.output.weight.T + module.output.bias
    assert_close(module(x), expected)
    assert [tuple(p.weight.shape) for p in (module.query, module.key, module.value, module.output)] == [(12, 8), (6, 8), (10, 8), (8, 20)]


def test_eight_heads_cost_as_much_as_one_of_full_width():
    one, eight = (Attention(64, AttentionConfig(heads=heads)) for heads in (1, 8))
    assert sum(p.numel() for p in one.parameters()) == sum(p.numel() for p in eight.parameters()) == 4 * (64 * 64 + 64)


def test_values_shorter_than_their_keys_are_refused_at_the_call():
    """What the shapes in the signatures are for."""
    q, k, v = draw()
    with pytest.raises(Exception, match=r"(?s)value"):
        attend(q, k, v[:, :, :4])
