"""Embeddings and the output projection, section 3.4."""

import pytest
import torch
from torch import nn

from hexapla.blocks.embedding import Embedding, Output


@pytest.mark.parametrize("d_model", [1, 8, 9])
def test_an_embedding_is_its_row_times_the_root_of_d_model(d_model):
    module = Embedding(7, d_model)
    nn.init.normal_(module.weight)
    ids = torch.tensor([[6, 0, 3], [3, 3, 1]])
    rows = [[[module.weight[i, column].item() * d_model**0.5 for column in range(d_model)] for i in row] for row in ids.tolist()]
    torch.testing.assert_close(module(ids), torch.tensor(rows))


@pytest.mark.parametrize("bias", [False, True])
def test_the_output_is_a_dot_product_with_each_row_and_is_not_scaled(bias):
    module = Output(7, 8, bias=bias)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 3, 8)
    expected = torch.stack([(x * row).sum(dim=-1) for row in module.weight], dim=-1)
    torch.testing.assert_close(module(x), expected if module.bias is None else expected + module.bias)
    assert (module.bias is not None) == bias


def test_a_shared_matrix_gathers_the_gradients_of_both_uses():
    embedding, output = Embedding(7, 8), Output(7, 8, bias=False)
    nn.init.normal_(embedding.weight)
    ids, towards = torch.tensor([[1, 2, 2]]), torch.randn(1, 3, 7)

    def gradient(read, write):
        return torch.autograd.grad((nn.functional.linear(read * 8**0.5, write) * towards).sum(), (read, write))

    read, write = embedding.weight[ids].detach().requires_grad_(), embedding.weight.detach().clone().requires_grad_()
    by_reading, by_writing = gradient(read, write)
    expected = by_writing.index_add(0, ids[0], by_reading[0])
    output.weight = embedding.weight
    (output(embedding(ids)) * towards).sum().backward()
    torch.testing.assert_close(embedding.weight.grad, expected)
