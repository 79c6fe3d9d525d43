"""What must hold on a GPU too. Skipped without one; benchmarks/gpu.sh runs it."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from hexapla import hardware
from hexapla.data.batches import collate
from hexapla.models.build import build
from hexapla.objectives.sequence import transduction
from hexapla.runs import Run
from hexapla.training.trainer import Trainer
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate
from small_runs import StopAt, small_config, small_data

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def trainer_on(device, **training):
    torch.manual_seed(3)
    config = small_config(**training)
    still = replace(config.model.encoder, dropout=0.0)
    model = build(replace(config.model, encoder=still, decoder=still, dropout=0.0))
    return Trainer(model.to(device), transduction(0.1), config.training, d_model=8)


def batch():
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(4, 10, (2 + i % 5,), generator=draw).tolist() for i in range(12)]
    return collate(rows, rows, small_config().model.specials)


def test_an_update_is_that_of_the_cpu():
    on_cpu, on_gpu = (trainer_on(torch.device(name)) for name in ("cpu", "cuda"))
    for _ in range(3):
        one, other = on_cpu.update([batch()]), on_gpu.update([batch()])
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-4)
        assert other["gradient_norm"] == pytest.approx(one["gradient_norm"], rel=1e-3)


def test_bf16_is_near_fp32():
    full, half = (trainer_on(torch.device("cuda"), precision=precision) for precision in ("fp32", "bf16"))
    for _ in range(5):
        one, other = full.update([batch()]), half.update([batch()])
        assert other["loss"] == pytest.approx(one["loss"], rel=0.02)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_stops_goes_on_and_translates(tmp_path, precision):
    data = small_data(tmp_path)
    config = small_config(steps=8, precision=precision)
    train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "stopped", hooks=[StopAt(3)])
    run = train(data, config, into=tmp_path / "stopped")
    assert next(Run.open(tmp_path / "stopped").model.parameters()).device.type in ("cpu", "cuda")
    lines = ["abc", "", "fed"]
    assert [bool(t.text) or not line for t, line in zip(translate(run, lines), lines, strict=True)] == [True] * 3
    straight = [p.detach().cpu() for p in Run.open(tmp_path / "straight").model.parameters()]
    for one, other in zip(straight, Run.open(tmp_path / "stopped").model.parameters(), strict=True):
        assert_close(one, other.detach().cpu(), atol=1e-5, rtol=1e-4)


def test_the_device_is_the_gpu():
    assert hardware.device().type == "cuda"
