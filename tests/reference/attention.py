"""Attention by loops, from Vaswani et al. 2017, sections 3.2.1 to 3.2.3, and its gradients derived by hand."""

import numpy as np


def attention(q, k, v, *, causal=False, window=None, keys=None, bias=None, scale=None, softcap=None):
    """Eq. (1), number by number: (output, weights) of q (B H T K) on k (B G S K) and v (B G S W), where H/G query heads share a key head.

    The T queries are the last T of the S positions. `keys` (B S) is true where a key may be read. A query with nothing to read gives 0.
    """
    batch, heads, queries, d_k = q.shape
    groups, length = k.shape[1], k.shape[2]
    output, weights = np.zeros((batch, heads, queries, v.shape[3])), np.zeros((batch, heads, queries, length))
    bias = np.zeros((1, 1)) if bias is None else bias
    bias = np.broadcast_to(bias, weights.shape)
    for b, h, t in np.ndindex(batch, heads, queries):
        g, position = h // (heads // groups), length - queries + t
        exponentials = {}
        for s in range(length):
            if causal and s > position:
                continue
            if window is not None and abs(position - s) >= window:
                continue
            if keys is not None and not keys[b, s]:
                continue
            score = sum(q[b, h, t, i] * k[b, g, s, i] for i in range(d_k)) * (1 / np.sqrt(d_k) if scale is None else scale)
            score += bias[b, h, t, s]
            if softcap is not None:
                score = softcap * np.tanh(score / softcap)
            exponentials[s] = np.exp(score)
        for s, exponential in exponentials.items():
            weights[b, h, t, s] = exponential / sum(exponentials.values())
            output[b, h, t] += weights[b, h, t, s] * v[b, g, s]
    return output, weights


def single_head(x, w_q, w_k, w_v):
    """softmax(Q Kᵀ / √d_k) V with Q = x W^Q, K = x W^K, V = x W^V, for one sentence x (T D): (output, what the gradients need)."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return weights @ v, (q, k, v, weights)


def single_head_gradients(x, w_q, w_k, w_v, d_output):
    """(dW^Q, dW^K, dW^V) of a loss whose gradient by the output is d_output.

    O = P V gives dP = dO Vᵀ and dV = Pᵀ dO. A row p of softmax has ∂p_i/∂s_j = p_i (δ_ij - p_j), so
    ds_j = p_j (dp_j - Σ_i p_i dp_i). S = Q Kᵀ / √d_k gives dQ = dS K / √d_k and dK = dSᵀ Q / √d_k, and Q = x W^Q gives dW^Q = xᵀ dQ:
    the factors in this order, or the shapes (D T)(T K) do not meet.
    """
    _, (q, k, v, weights) = single_head(x, w_q, w_k, w_v)
    d_weights = d_output @ v.T
    d_scores = np.zeros_like(weights)
    for t, j in np.ndindex(weights.shape):
        d_scores[t, j] = weights[t, j] * (d_weights[t, j] - sum(weights[t, i] * d_weights[t, i] for i in range(len(x))))
    d_q = d_scores @ k / np.sqrt(q.shape[1])
    d_k = d_scores.T @ q / np.sqrt(q.shape[1])
    d_v = weights.T @ d_output
    return x.T @ d_q, x.T @ d_k, x.T @ d_v
