"""SIGTERM, Ctrl-C and a closed terminal, in every phase of training: one checkpoint, the exit code, and on it goes (BAR G7, T05, T06).

Most children signal themselves at a given place; some are signalled at a random moment.
"""

import os
import pty
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from command_child import Child, at, send
from hexapla.cli import train as command
from hexapla.config.load import write_toml
from hexapla.config.training import ValidationConfig
from hexapla.data import folder as folders
from hexapla.data import prepared
from hexapla.data.batches import Batches
from hexapla.data.folder import sha256_of
from hexapla.models.seq2seq import Seq2Seq
from hexapla.training import checkpoint
from hexapla.training import signals as module
from hexapla.training.checkpoint import Checkpoints
from hexapla.training.hooks import Save
from hexapla.training.signals import ENDING
from hexapla.training.trainer import Trainer
from hexapla.workflow import train as training
from hexapla.workflow import validation
from hexapla.workflow.train import train
from small_runs import metrics_of, small_config, small_data

CONFIG = small_config(steps=14, keep_last=2, validation=ValidationConfig(every=5, translate=3))
"""7 batches an epoch; validations at 5, 10 and 14, checkpoints at 4, 8, 12, at the best, and at the end"""
IN_FOURS = replace(CONFIG, training=replace(CONFIG.training, accumulate=4, steps=5))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("signals"))


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """Runs that nobody disturbed, by the batches of an update."""
    folder = tmp_path_factory.mktemp("signals")
    for config in (CONFIG, IN_FOURS):
        train(data, config, into=folder / str(config.training.accumulate))
    return folder


def training_of(data, tmp_path: Path, config=CONFIG) -> list[object]:
    write_toml(tmp_path / "config.toml", config)
    return ["train", data.path, "--into", tmp_path / "run", "--config", tmp_path / "config.toml", "--threads", "1"]


def newest(run: Path) -> int:
    return max((int(folder.name.removeprefix("step_")) for folder in run.glob("checkpoints/step_*")), default=0)


def assert_goes_on_as_if_nothing_had_happened(data, run: Path, straight: Path, config=CONFIG) -> None:
    def tensors(path: Path) -> dict[str, str]:
        return {str(f.relative_to(path)): sha256_of(f) for f in path.glob(f"checkpoints/step_{config.training.steps}/*.safetensors")}

    train(data, config, into=run)
    undisturbed = straight / str(config.training.accumulate)
    assert tensors(run) == tensors(undisturbed)
    assert metrics_of(run, "update", "validation") == metrics_of(undisturbed, "update", "validation")
    assert (run / "checkpoints/best").read_text() == (undisturbed / "checkpoints/best").read_text()
    assert [f.name for f in (*run.rglob("*"), *run.parent.iterdir()) if any(m in f.name for m in (".partial-", ".old-", ".tmp"))] == []


PLACES = {  # holder, function, which call of it, the newest checkpoint then
    "while data are verified": (prepared, "map_file", 1, 0),
    "while the run folder is made": (folders, "make_durable", 1, 0),
    "while the model is built": (training, "build", 1, 0),
    "while the largest batch is tried": (Trainer, "backward", 1, 0),
    "at the first batch": (Batches, "load", 2, 1),
    "in the middle of an update": (Trainer, "scale_gradients", 6, 6),
    "between two epochs": (Trainer, "begin_next_epoch", 1, 7),
    "in the loss of a validation": (validation, "collate", 1, 5),
    "in the beam of a validation": (Seq2Seq, "step", 2, 5),
    "in the scores of a validation": (validation, "score_hypotheses", 2, 10),
    "before a checkpoint": (Checkpoints, "save", 1, 4),
    "between its files": (checkpoint, "save_file", 2, 4),
    "before its manifest": (checkpoint, "write_manifest", 1, 4),
    "before it is on the disk": (folders, "make_durable", 2, 4),
    "before it gets its name": (folders, "replace_folder", 2, 4),
    "before the best is named": (checkpoint, "replace_text", 1, 5),
    "while an old one is removed": (checkpoint, "discard", 1, 8),
    "in the last update": (Trainer, "scale_gradients", 14, 14),
    "before the last checkpoint": (Save, "finish", 1, 14),
    "when all is done": (command, "say", 1, 14),
}


def which(place: str) -> signal.Signals:
    """Signals take turns."""
    return ENDING[list(PLACES).index(place) % len(ENDING)]


ORDINARY = [
    "while the run folder is made", "at the first batch", "in the middle of an update", "in the loss of a validation",
    "in the beam of a validation", "between its files", "before the best is named", "before the last checkpoint",
]  # fmt: skip
"""the phases; the other places, and every signal at each, are thorough"""
IN_WORK = [place for place in PLACES if PLACES[place][-1] and place != "when all is done"]
"""where training answers a signal, and not the command line"""


@pytest.mark.parametrize(
    ("place", "number"),
    [
        *((place, which(place)) for place in ORDINARY),
        *(pytest.param(place, number, marks=pytest.mark.thorough) for place in PLACES for number in ENDING),
    ],
)
def test_a_signal_ends_training_after_the_update_in_work_and_loses_nothing(data, straight, tmp_path, place, number):
    holder, name, call, step = PLACES[place]
    arrange = at(holder, name, call, send(number, group=call % 2 == 0))
    Child(training_of(data, tmp_path), tmp_path / "errors", arrange).ended_by(number)
    assert newest(tmp_path / "run") == step
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight)


@pytest.mark.parametrize("call", [3, *(pytest.param(call, marks=pytest.mark.thorough) for call in (2, 7))])
def test_a_signal_between_micro_batches_waits_for_the_update(data, straight, tmp_path, call):
    arrange = at(Trainer, "backward", call, send(signal.SIGTERM))
    Child(training_of(data, tmp_path, IN_FOURS), tmp_path / "errors", arrange).ended_by(signal.SIGTERM)
    assert newest(tmp_path / "run") == 1 + (call > 5)
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight, IN_FOURS)


def test_a_signal_while_a_run_is_resumed_changes_nothing(data, straight, tmp_path):
    Child(training_of(data, tmp_path), tmp_path / "errors", at(Trainer, "scale_gradients", 6, send(signal.SIGHUP))).ended_by(signal.SIGHUP)
    before = {file: sha256_of(file) for file in (tmp_path / "run").rglob("*") if file.is_file()}
    Child(training_of(data, tmp_path), tmp_path / "errors", at(Checkpoints, "resume", 1, send(signal.SIGINT))).ended_by(signal.SIGINT)
    assert {file: sha256_of(file) for file in (tmp_path / "run").rglob("*") if file.is_file()} == before
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight)


@pytest.mark.parametrize("place", ["between its files", *(pytest.param(place, marks=pytest.mark.thorough) for place in IN_WORK)])
def test_a_second_signal_ends_training_on_the_spot_without_harm(data, straight, tmp_path, place, monkeypatch):
    monkeypatch.setattr(module, "BURST_SECONDS", -1.0)
    holder, name, call, step = PLACES[place]

    def twice():
        try:
            send(signal.SIGTERM)()
        finally:  # a validation is broken off by the first
            send(which(place))()

    Child(training_of(data, tmp_path), tmp_path / "errors", at(holder, name, call, twice)).ended_by(which(place))
    assert newest(tmp_path / "run") <= step
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight)


def at_random(data, into: Path, draw: random.Random, seconds: float) -> int:
    """Signals at some moment of a run: to the process or to its group, once, twice, or with SIGKILL after it; its exit code."""
    number = draw.choice(ENDING)
    begun = into / "begun"
    begun.unlink(missing_ok=True)
    child = Child(training_of(data, into), into / "errors", begun.touch)
    while not begun.exists():
        time.sleep(0.001)
    time.sleep(draw.uniform(0.05, seconds))
    (os.killpg if draw.random() < 0.5 else os.kill)(child.id, number)
    if draw.random() < 0.3:
        time.sleep(draw.uniform(0, 0.5))
        with suppress(ProcessLookupError):
            os.kill(child.id, draw.choice([*ENDING, signal.SIGKILL]))
    code = child.ended()
    assert code in (0, -signal.SIGKILL, *(128 + each for each in ENDING)), child.errors.read_text()
    assert "Traceback" not in child.errors.read_text()
    return code


@pytest.mark.thorough
def test_signals_at_random_moments_lose_nothing(data, straight, tmp_path):
    """80 of them, BAR's number; a run that has had three goes on to its end."""
    draw, began = random.Random(1), time.monotonic()
    Child(training_of(data, tmp_path), tmp_path / "errors").ended()
    whole, codes = time.monotonic() - began, []
    for number in range(27):
        into = tmp_path / str(number)
        into.mkdir()
        codes += [at_random(data, into, draw, whole) for _ in range(3)]
        assert_goes_on_as_if_nothing_had_happened(data, into / "run", straight)
    assert {143, 130, 129} <= set(codes)


@pytest.fixture
def heard():
    """Tests that run in the background may have been told to ignore Ctrl-C, which their children would inherit."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.thorough
@pytest.mark.parametrize("number", ENDING)
def test_the_installed_command_ends_so_too(data, straight, tmp_path, number, heard):
    """From the first moment on: while Python, torch and data are loaded, and in the first updates; each time on from there."""
    command = [sys.executable, "-m", "hexapla.cli", *map(str, training_of(data, tmp_path))]
    began = time.monotonic()
    subprocess.run([*command[:6], str(tmp_path / "other"), *command[7:]], check=True, capture_output=True)
    whole = time.monotonic() - began
    for part in range(1, 7):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            time.sleep(whole * part / 7)
            os.killpg(process.pid, number)
            said = process.communicate()[1]
        assert process.returncode in (128 + number, 0), said
        assert "Traceback" not in said
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight)


def test_a_terminal_that_is_closed_leaves_a_checkpoint(data, straight, tmp_path):
    """Its SIGHUP comes when nothing can be shown any more."""
    terminal, side = pty.openpty()

    def hang_up():
        os.dup2(side, 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        at(Trainer, "scale_gradients", 6, lambda: (os.close(terminal), send(signal.SIGHUP)()))()

    child = Child(training_of(data, tmp_path), tmp_path / "errors", hang_up)
    os.close(side)
    os.close(terminal)
    assert child.ended() == 129
    assert newest(tmp_path / "run") == 6
    assert_goes_on_as_if_nothing_had_happened(data, tmp_path / "run", straight)
