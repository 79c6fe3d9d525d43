"""NaN and infinity, wherever they come from, reach no weight, no moment, no checkpoint and no best; five in a row end training."""

import io
import json
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from torch import nn

from hexapla.cli.progress import TrainingProgress
from hexapla.config.training import AdamConfig, Constant, ValidationConfig
from hexapla.data.batches import Batches
from hexapla.errors import CheckpointError, DivergenceError
from hexapla.models.build import build
from hexapla.objectives.loss import Loss
from hexapla.objectives.sequence import transduction
from hexapla.runs import Run
from hexapla.training.manifest import MOMENTS, WEIGHTS
from hexapla.training.trainer import Trainer
from hexapla.workflow import train as module
from hexapla.workflow import validation
from hexapla.workflow.train import train
from small_runs import metrics_of, small_config, small_data

BAD = [math.nan, math.inf, -math.inf]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("not-finite"))


class Bench:
    """A Trainer of a small model, a batch, and what was put into its way."""

    def __init__(self, data, **training):
        config = small_config(**training)
        torch.manual_seed(3)
        self.loss = 0.0
        self.trainer = Trainer(build(config.model), self.objective, config.training, d_model=8, lines=lambda batch: list(batch.rows))
        self.named = dict(self.trainer.model.named_parameters())
        self.batches = Batches(data.train, specials=config.model.specials, batch_tokens=500, seed=1)
        self.hooks: list[Any] = []

    def objective(self, model, batch) -> Loss:
        loss = transduction(0.1)(model, batch)
        return replace(loss, total=loss.total + self.loss)

    def update(self, rows=(0, 1, 2)):
        return self.trainer.update([self.batches.load(list(rows))])

    def spoil(self, where, bad):
        """Put `bad` somewhere; the name that a message should give."""
        if where == "the loss":
            self.loss = bad
            return f"the loss is {bad} and the gradient has a norm of "
        if where == "an input":
            hook = lambda layer, given, made: torch.cat([made.flatten()[:1] * 0 + bad, made.flatten()[1:]]).view_as(made)  # noqa: E731
            self.hooks.append(self.trainer.model.get_submodule("source_embedding").register_forward_hook(hook))
            return "the loss is nan and the gradient of source_embedding.weight is not finite"
        name = next(name for name in self.named if name.endswith("feed_forward.inner.weight"))
        parameter = self.named[name]
        with torch.no_grad():
            if where == "a gradient":
                spoilt = lambda gradient: gradient.index_fill(0, torch.tensor(1), bad)  # noqa: E731
                self.hooks.append(parameter.register_hook(spoilt))
                return f"the gradient of {name} is not finite, though the loss is finite"
            if where == "a moment":
                self.trainer.optimiser.state[parameter]["exp_avg"][0, 0] = bad
                return f"the moment of {name} is not finite"
            parameter[0, 0] = bad
            return f"the weight {name} is not finite"

    def bits(self):
        """Every weight, moment and count of steps, as bits: NaN equals itself."""
        state = {f"{n}.{key}": t for n, p in self.named.items() for key, t in self.trainer.optimiser.state[p].items()}
        return {name: tensor.detach().view(torch.int32).clone() for name, tensor in (self.named | state).items()}


def assert_same_bits(one, other):
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


WHERE = ["the loss", "a gradient", "a parameter", "an input", "a moment"]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("clip", [None, 0.5])
def test_it_reaches_neither_weights_nor_moments_and_is_counted_and_named(data, where, bad, clip):
    bench = Bench(data, clip=clip)
    bench.update()
    words = bench.spoil(where, bad)
    before = bench.bits()
    for count in (1, 2):
        record = bench.update()
        assert record["fault"].startswith(words)
        assert (record["skipped"], record["left_out"], record["lines"]) == (count, count, [0, 1, 2])
        assert_same_bits(bench.bits(), before)


@pytest.mark.parametrize("where", ["the loss", "a gradient", "an input"])
def test_after_it_training_goes_on_and_counts_anew(data, where):
    bench = Bench(data)
    bench.update()
    bench.spoil(where, math.nan)
    for _ in range(4):
        bench.update()
    bench.loss = 0.0
    for hook in bench.hooks:
        hook.remove()
    before = bench.bits()
    record = bench.update()
    assert (record["skipped"], record["left_out"]) == (0, 4)
    assert "fault" not in record
    assert [name for name in before if torch.equal(bench.bits()[name], before[name])] == []


def test_of_several_batches_those_are_named_whose_loss_is_bad(data):
    bench = Bench(data)
    real = bench.objective
    bench.trainer.objective = lambda model, batch: replace(
        real(model, batch), total=real(model, batch).total * (math.nan if 4 in batch.rows else 1)
    )
    record = bench.trainer.update([bench.batches.load(rows) for rows in ([0, 1], [5, 4], [2])])
    assert record["lines"] == [4, 5]


class Slope(nn.Module):
    """Weights whose gradient is what the batch says."""

    def __init__(self, start, width):
        super().__init__()
        self.a = nn.Parameter(torch.full((1, width), start))


class Numbers(list):
    def to(self, device):
        return self

    def split(self, number):
        return [self]


SIZES = st.floats(-45, 38.5).map(lambda power: 10.0**power)
GRADIENTS = st.lists(st.one_of(st.just(0.0), SIZES, SIZES.map(lambda size: -size)), min_size=2, max_size=2)


@given(
    rate=SIZES,
    epsilon=st.floats(-30, 0).map(lambda power: 10.0**power),
    decay=st.one_of(st.just(0.0), SIZES),
    start=GRADIENTS,
    width=st.integers(1, 2),
    given=st.lists(GRADIENTS, min_size=1, max_size=4),
)
@example(rate=1e-3, epsilon=1e-3, decay=0.0, start=[0.0, 0.0], width=1, given=[[1e30, 0.0]])
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_rate_and_no_gradient_leads_a_weight_or_a_moment_out_of_what_is_finite(rate, epsilon, decay, start, width, given):
    """Finite as they are, they overflow when they are squared, divided and multiplied: such an update is not made.

    The norm of a single number is itself, and does not overflow where its square would.
    """
    schedule = Constant(peak=rate)
    config = small_config(schedule=schedule, optimiser=AdamConfig(epsilon=epsilon, weight_decay=decay)).training
    model = Slope(float(torch.tensor(start[0]).clamp(-3e38, 3e38)), width)
    trainer = Trainer(model, lambda model, batch: Loss((model.a * torch.tensor(batch[:width])).sum(), 1, 0.0), config, d_model=8)
    for gradient in given:
        before = model.a.detach().clone()
        record = trainer.update([Numbers(gradient)])
        state = trainer.optimiser.state.get(model.a, {})
        assert all(tensor.isfinite().all() for tensor in (model.a, *state.values()))
        if record["skipped"]:
            assert torch.equal(model.a, before)


def test_what_people_train_with_is_far_from_being_left_out(data):
    for schedule in (Constant(peak=1.0), Constant(peak=1e-8)):
        bench = Bench(data, schedule=schedule, optimiser=AdamConfig(weight_decay=0.1, epsilon=1e-16))
        assert [bench.update()["skipped"] for _ in range(3)] == [0, 0, 0]


def spoiling(monkeypatch, data, bad_rows):
    """Training of which each batch with one of these pairs has a loss of NaN."""
    plain = module.transduction

    def with_nan(smoothing):
        inner = plain(smoothing)

        def objective(model, batch):
            loss = inner(model, batch)
            return replace(loss, total=loss.total * math.nan) if bad_rows & {*batch.rows} else loss

        return objective

    monkeypatch.setattr(module, "transduction", with_nan)


def all_finite(run):
    from safetensors.torch import load_file

    files = [file for name in (WEIGHTS, MOMENTS) for file in run.glob(f"checkpoints/step_*/{name}")]
    return len(files) > 0 and all(tensor.isfinite().all() for file in files for tensor in load_file(file).values())


def test_five_in_a_row_end_training_by_name_and_all_is_told(data, tmp_path, monkeypatch):
    config = small_config(steps=20, checkpoint_every=2, validation=ValidationConfig(every=50, translate=0))
    orders = Batches(data.train, specials=config.model.specials, batch_tokens=90, seed=1).order(0)
    spoiling(monkeypatch, data, {rows[0] for rows in orders[1:]})
    out = io.StringIO()
    with pytest.raises(DivergenceError) as caught, TrainingProgress(Console(file=out, width=200)) as progress:
        train(data, config, into=tmp_path / "run", listeners=[progress])
    lines = [sorted(data.train.line(i) for i in rows) for rows in orders]
    fault = "the loss is nan and the gradient of source_embedding.weight is not finite"
    assert caught.value.exit_code == 3
    assert str(caught.value) == (
        f"step 6: 5 updates in a row were left out, the last since {fault}, at the pairs of lines "
        f"{', '.join(map(str, lines[5]))}; the weights are as before. What to do: train into another folder with a lower peak of "
        "training.schedule, training.clip = 1.0 or training.precision = fp32"
    )
    assert metrics_of(tmp_path / "run", "left_out") == [
        {"event": "left_out", "step": step, "epoch": 0, "fault": fault, "lines": lines[step - 1], "left_out": step - 1}
        for step in range(2, 7)
    ]
    assert f"warning: step 6 was left out, 5 in all: {fault}" in out.getvalue()
    assert all_finite(tmp_path / "run")
    with pytest.raises(DivergenceError, match=r"^step \d: . updates in a row"):
        train(data, config, into=tmp_path / "run")


def test_a_message_names_twenty_lines_and_metrics_all(data, tmp_path, monkeypatch):
    config = small_config(steps=20, batch_tokens=2000, validation=ValidationConfig(every=50, translate=0))
    spoiling(monkeypatch, data, {*range(len(data.train))})
    with pytest.raises(DivergenceError, match=r"at the pairs of lines (\d+, ){19}\d+ and 20 more; the weights"):
        train(data, config, into=tmp_path)
    assert len(metrics_of(tmp_path, "left_out")[0]["lines"]) == 40


@pytest.mark.parametrize("metric", ["loss", "bleu", "chrf"])
@pytest.mark.parametrize("bad", BAD)
def test_a_validation_that_is_not_finite_is_never_the_best_and_patience_counts_it(data, tmp_path, monkeypatch, metric, bad):
    def judged(*_):
        return lambda: {"loss": bad, "bleu": bad, "chrf": bad}

    monkeypatch.setattr(module, "judge", judged)
    config = small_config(steps=20, validation=ValidationConfig(every=1, patience=3, metric=metric))
    run = train(data, config, into=tmp_path)
    assert run.step == 3
    assert metrics_of(tmp_path, "end")[0]["reason"] == f"no better {metric} in 3 validations"
    assert json.loads((tmp_path / "checkpoints/step_3/state.json").read_text())["best"]["value"] is None
    assert not (tmp_path / "checkpoints/best").exists()


def test_a_model_whose_probabilities_are_not_numbers_is_scored_as_not_a_number(data, tmp_path, monkeypatch):
    """Weights of a run that went astray are finite, and what they compute is not; training goes on."""

    def refused(*_):
        raise CheckpointError("not a number")

    monkeypatch.setattr(validation, "translate", refused)
    train(data, small_config(steps=5), into=tmp_path)
    (judged,) = metrics_of(tmp_path, "validation")
    assert (judged["bleu"], judged["chrf"], judged["exact"]) == (None, None, None)
    assert Run.open(tmp_path).step == 5
