"""What training shows, with a terminal and without one."""

import io
import math

import pytest
from rich.console import Console

from hexapla.cli.progress import TrainingProgress

START = {
    "run": "runs/x", "parameters": 1234567, "train_pairs": 1000, "dev_pairs": 10, "device": "cpu", "threads": 2,
    "log_every": 10, "complaints": [], "step": 0, "steps": 30,
}  # fmt: skip
VALIDATION = {"step": 20, "loss": 2.5, "bleu": 12.345, "chrf": 34.5, "best": True, "signature": "x", "seconds": 1.0}


def update(step: int, loss: float, seconds: float) -> dict:
    return {
        "step": step, "steps": 30, "loss": loss, "targets": 100, "tokens_per_second": 500.0, "learning_rate": 1e-3,
        "gradient_norm": 1.0, "epoch": 0, "seconds": seconds, "skipped": 0, "left_out": 0,
    }  # fmt: skip


def shown(*, terminal: bool, start: dict = START, steps: int = 30) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80, highlight=False, markup=False, _environ={"TERM": "xterm"})
    with TrainingProgress(console) as progress:
        progress.on_start(start)
        for step in range(start["step"] + 1, steps + 1):
            progress.on_update(update(step, loss=4.0 if step <= 10 else 2.0, seconds=2.0 * (step - start["step"])))
            if step == VALIDATION["step"]:
                progress.on_validation(VALIDATION)
        progress.on_end({"step": steps, "reason": "all steps made", "seconds": 60.0})
    return out.getvalue()


def test_without_a_terminal_there_is_a_plain_line_every_log_interval():
    assert shown(terminal=False).splitlines() == [
        "runs/x: 1,234,567 parameters; 1,000 pairs to train on, 10 to validate on; cpu, 2 threads",
        "step 1/30  loss 4.000  500 tokens/s  rate 1.0e-03  0:00:58 left",
        "step 10/30  loss 4.000  500 tokens/s  rate 1.0e-03  0:00:40 left",
        "step 20/30  loss 2.000  500 tokens/s  rate 1.0e-03  0:00:20 left",
        "step 20: validation loss 2.5000, bleu 12.35, chrf 34.50, the best",
        "step 30/30  loss 2.000  500 tokens/s  rate 1.0e-03  0:00:00 left",
        "stopped at step 30 after 0:01:00: all steps made",
    ]


def test_a_terminal_has_a_live_line_and_validations_in_columns():
    text = shown(terminal=True)
    assert "step 30/30  loss 2.000  500 tokens/s  rate 1.0e-03  0:00:00 left" in text
    rows = [line.split("\x1b[2K")[-1].strip().split() for line in text.splitlines()]
    assert ["step", "loss", "bleu", "chrf"] in rows
    assert ["20", "2.5000", "12.35", "34.50", "best"] in rows


def test_a_resumed_run_counts_its_own_time_only():
    lines = shown(terminal=False, start=START | {"step": 20}).splitlines()
    assert lines[0].endswith("going on from step 20")
    assert lines[1] == "step 21/30  loss 2.000  500 tokens/s  rate 1.0e-03  0:00:18 left"


def test_damaged_checkpoints_are_told_first():
    lines = shown(terminal=False, start=START | {"complaints": ["step_9: damaged"]}).splitlines()
    assert lines[0] == "warning: step_9: damaged"


def test_the_memory_that_was_found_to_be_needed_is_told():
    lines = shown(terminal=False, start=START | {"memory": 1_240_000_000}).splitlines()
    assert lines[0].endswith("; cpu, 2 threads, about 1.2 GB of memory")


@pytest.mark.parametrize("losses", [[2.0, 2.5, 250.0, 2.0], [2.0, 250.0, 260.0, 2.0]])
def test_a_spike_is_told_when_it_comes(losses):
    out = io.StringIO()
    with TrainingProgress(Console(file=out)) as progress:
        progress.on_start(START)
        for step, loss in enumerate(losses, 1):
            progress.on_update(update(step, loss, seconds=1.0))
    step, before = losses.index(250.0) + 1, losses[: losses.index(250.0)]
    warnings = [line for line in out.getvalue().splitlines() if line.startswith("warning")]
    assert warnings == [f"warning: step {step} has a loss of 250.000, those before it {sum(before) / len(before):.3f} on average"]


@pytest.mark.parametrize("losses", [[9.9, 9.9, 2.0, 19.0], [0.001, 0.1, 0.001, 9.9], [math.nan, 3.0], [250.0, 250.0]])
def test_what_is_no_spike_is_not_told(losses):
    out = io.StringIO()
    with TrainingProgress(Console(file=out)) as progress:
        progress.on_start(START)
        for step, loss in enumerate(losses, 1):
            progress.on_update(update(step, loss, seconds=1.0))
    assert "warning" not in out.getvalue()


def test_a_run_of_more_steps_than_there_are_days_has_a_time_left():
    lines = shown(terminal=False, start=START | {"steps": 2**63 - 1}, steps=2).splitlines()
    assert "left" in lines[1]
    out = io.StringIO()
    with TrainingProgress(Console(file=out)) as progress:
        progress.on_start(START)
        progress.on_update(update(1, 2.0, 1e6) | {"steps": 2**63 - 1})
    assert "999999999 days, 23:59:59 left" in out.getvalue()


def test_a_run_that_is_finished_shows_no_bar():
    assert "━" not in shown(terminal=True, start=START | {"step": 30})


def test_the_terminal_is_given_back_when_training_fails():
    out = io.StringIO()
    with (
        pytest.raises(ValueError, match="diverged"),
        TrainingProgress(Console(file=out, force_terminal=True, _environ={"TERM": "xterm"})) as progress,
    ):
        progress.on_start(START)
        raise ValueError("diverged")
    assert "\x1b[?25l" in out.getvalue()
    assert out.getvalue().rindex("\x1b[?25h") > out.getvalue().rindex("\x1b[?25l")


@pytest.mark.parametrize("terminal", [False, True])
def test_training_goes_on_when_nobody_listens(terminal, monkeypatch):
    """From the start, or from some line on: a pipe whose reader went away, a terminal that was closed."""

    class Closing(io.StringIO):
        def write(self, text: str) -> int:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(5, "Input/output error")
            return super().write(text)

    monkeypatch.setattr("threading.excepthook", lambda died: None)  # the thread that draws the live line
    for lines in (0, 1, 5):
        left = lines
        console = Console(file=Closing(), force_terminal=terminal, _environ={"TERM": "xterm"})
        with TrainingProgress(console) as progress:
            progress.on_start(START)
            progress.on_update(update(1, 1.0, 1.0))
            progress.on_validation(VALIDATION)
            progress.on_end({"step": 30, "reason": "all steps made", "seconds": 1.0})
        assert left < 0
