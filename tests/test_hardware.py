"""What is chosen for each kind of machine, whatever this one is."""

from dataclasses import replace

import pytest
import torch

from hexapla import hardware
from hexapla.workflow.train import train
from small_runs import small_config, small_data

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("able", "d_model", "wanted"),
    [
        ({"avx512_bf16": True, "amx_bf16": False}, 128, "bf16"),
        ({"avx512_bf16": False, "amx_bf16": True}, 512, "bf16"),
        ({"avx512_bf16": False, "amx_bf16": False}, 512, "fp32"),
        ({"avx512_bf16": True, "amx_bf16": True}, 64, "fp32"),
        ({}, 512, "fp32"),
    ],
)
def test_a_processor_without_bf16_trains_in_fp32(monkeypatch, able, d_model, wanted):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert hardware.precision(CPU, d_model) == wanted


@pytest.mark.parametrize(("supported", "wanted"), [(True, "bf16"), (False, "fp32")])
def test_a_gpu_trains_in_bf16_where_it_has_it(monkeypatch, supported, wanted):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    assert hardware.precision(CUDA, 512) == wanted


def test_this_machine_has_a_choice():
    assert hardware.precision(hardware.device(), 256) in ("fp32", "bf16")


@pytest.mark.parametrize(("device", "threads", "wanted"), [(CPU, 1, 1), (CPU, 2, 2), (CPU, 16, 2), (CUDA, 16, 1)])
def test_a_cpu_divides_its_threads_among_workers(device, threads, wanted):
    assert hardware.workers(device, threads) == wanted


@pytest.mark.parametrize(
    ("device", "scores", "dropout", "wanted"),
    [(CPU, 64 * 64, 0.0, True), (CPU, 65 * 64, 0.0, False), (CPU, 10**6, 0.1, True), (CUDA, 4, 0.1, False)],
)
def test_short_texts_are_attended_by_the_formula_written_out(device, scores, dropout, wanted):
    assert hardware.written_out(device, scores, dropout) == wanted


def test_a_run_keeps_the_precision_that_suited_where_it_began(tmp_path, monkeypatch):
    data, config = small_data(tmp_path), small_config(steps=2, precision="auto")
    monkeypatch.setattr(hardware, "precision", lambda device, d_model: "bf16")
    assert train(data, config, into=tmp_path / "run").config.training.precision == "bf16"
    monkeypatch.setattr(hardware, "precision", lambda device, d_model: "fp32")
    longer = replace(config, training=replace(config.training, steps=4))
    assert train(data, longer, into=tmp_path / "run").config.training.precision == "bf16"
    assert train(data, config, into=tmp_path / "other").config.training.precision == "fp32"
