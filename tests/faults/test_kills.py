"""SIGKILL at any moment: no update that was saved is lost, and the run ends as if nothing had happened (BAR G1, T01 to T04, T06)."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness import (
    CONFIG,
    IN_A_PREPARATION,
    IN_A_RECOVERY,
    IN_A_REPLACEMENT,
    IN_A_SAVE,
    WHERE_NAMES_CANNOT_BE_SWAPPED,
    Place,
    assert_as_if_nothing_had_happened,
    content,
    ended,
    forked,
    in_a_child,
    seconds_of,
    stale,
)

from hexapla.config.data import Characters
from hexapla.config.load import write_toml
from hexapla.data import folder as folders
from hexapla.data.prepared import Prepared
from hexapla.runs import Run
from hexapla.workflow.average import average
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from small_runs import small_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """A run that nobody disturbed."""
    path = tmp_path_factory.mktemp("kills") / "straight"
    train(data, CONFIG, into=path)
    return path


@pytest.mark.parametrize("place", IN_A_SAVE)
@pytest.mark.parametrize("call", [1, 3])
def test_a_kill_at_a_weak_place_loses_nothing(data, straight, tmp_path, place, call):
    """At the first checkpoint where there is none yet, and at a later one."""
    run = tmp_path / "run"
    assert in_a_child(IN_A_SAVE[place].armed(lambda: train(data, CONFIG, into=run), call)) == -signal.SIGKILL
    train(data, CONFIG, into=run)
    assert_as_if_nothing_had_happened(run, straight)


def test_a_kill_in_the_first_save_begins_anew_and_says_so(data, tmp_path, caplog):
    run = tmp_path / "run"
    assert in_a_child(IN_A_SAVE["in the middle of a file"].armed(lambda: train(data, CONFIG, into=run), 1)) == -signal.SIGKILL
    assert Run.open(run).step == 0
    told: list[str] = []

    class Told:
        def on_start(self, record):
            told.extend(record["complaints"])

        def __getattr__(self, name):
            return lambda record: None

    train(data, CONFIG, into=run, steps=2, listeners=[Told()])  # type: ignore[list-item]
    assert told == [f"{run}: was stopped before its first checkpoint; training begins anew"]


@pytest.fixture(scope="module")
def torn(data, tmp_path_factory):
    """A run killed in a save, with lines beyond its last checkpoint, whose newest checkpoint is damaged."""
    path = tmp_path_factory.mktemp("kills") / "torn"
    work = IN_A_SAVE["after the tensors"].armed(lambda: train(data, CONFIG, into=path), 6)
    assert in_a_child(work) == -signal.SIGKILL
    newest = Run.open(path).checkpoints.steps()[-1]
    os.truncate(newest / "model.safetensors", 100)
    return path


RECOVERY = list(IN_A_RECOVERY)
TWICE = [(place, RECOVERY[(i + further) % len(RECOVERY)]) for i, place in enumerate(RECOVERY) for further in (0, 3)]


@pytest.mark.thorough
@pytest.mark.parametrize(("first", "second"), TWICE)
def test_two_kills_in_the_recovery_lose_nothing(data, straight, torn, tmp_path, first, second):
    """The second kill may come too late, where the first one's recovery got further; the damaged checkpoint stays set aside."""
    run = shutil.copytree(torn, tmp_path / "run")
    assert in_a_child(IN_A_RECOVERY[first].armed(lambda: train(data, CONFIG, into=run), 1)) == -signal.SIGKILL
    assert in_a_child(IN_A_RECOVERY[second].armed(lambda: train(data, CONFIG, into=run), 1)) in (-signal.SIGKILL, 0)
    train(data, CONFIG, into=run)
    shutil.rmtree(next((run / "checkpoints").glob("*.damaged")))
    assert_as_if_nothing_had_happened(run, straight)


def test_a_kill_while_the_lines_are_cut_loses_nothing(data, straight, torn, tmp_path):
    run = shutil.copytree(torn, tmp_path / "run")
    assert in_a_child(IN_A_RECOVERY["while the lines are cut"].armed(lambda: train(data, CONFIG, into=run), 1)) == -signal.SIGKILL
    train(data, CONFIG, into=run)
    shutil.rmtree(next((run / "checkpoints").glob("*.damaged")))
    assert_as_if_nothing_had_happened(run, straight)


def was_killed(code: int) -> bool:
    """Or else it came to its end; a process that fails of itself is what must not be."""
    assert code in (-signal.SIGKILL, 0)
    return code != 0


def kill_at_random(data, into: Path, *, kills: int, seed: int) -> list[Path]:
    """Runs whose processes are killed at some moment of the time that an undisturbed one takes, then let go on to their end."""
    draw = random.Random(seed)
    whole = seconds_of(lambda: train(data, CONFIG, into=into / "undisturbed"))
    runs = [into / "run-0"]
    while kills:
        path = runs[-1]
        code = in_a_child(lambda: train(data, CONFIG, into=path), seconds=draw.uniform(0, whole))  # noqa: B023
        kills -= was_killed(code)
        if code == 0:
            runs.append(into / f"run-{len(runs)}")
    for path in runs:
        train(data, CONFIG, into=path)
    return runs


def kill_in_saves(data, into: Path, *, kills: int, seed: int) -> list[Path]:
    """The same, but each dies at a place drawn from those of a save, at a call that is drawn too."""
    draw, runs = random.Random(seed), [into / "aimed-0"]
    while kills:
        place, call, path = IN_A_SAVE[draw.choice(sorted(IN_A_SAVE))], draw.randint(1, 8), runs[-1]
        code = in_a_child(place.armed(lambda: train(data, CONFIG, into=path), call))  # noqa: B023
        kills -= was_killed(code)
        if code == 0:
            runs.append(into / f"aimed-{len(runs)}")
    for path in runs:
        train(data, CONFIG, into=path)
    return runs


def test_kills_at_random_moments_lose_nothing(data, straight, tmp_path):
    for run in kill_at_random(data, tmp_path, kills=15, seed=1):
        assert_as_if_nothing_had_happened(run, straight)


@pytest.mark.thorough
def test_two_hundred_kills_lose_nothing(data, straight, tmp_path):
    """150 at any moment from start-up to the end, 50 inside a save."""
    for run in (*kill_at_random(data, tmp_path, kills=150, seed=2), *kill_in_saves(data, tmp_path, kills=50, seed=3)):
        assert_as_if_nothing_had_happened(run, straight)


@pytest.mark.soak
def test_a_thousand_kills_lose_nothing(data, straight, tmp_path):
    for run in (*kill_at_random(data, tmp_path, kills=750, seed=4), *kill_in_saves(data, tmp_path, kills=250, seed=5)):
        assert_as_if_nothing_had_happened(run, straight)


@pytest.mark.thorough
def test_a_kill_shortly_after_a_sigterm_loses_nothing(data, straight, tmp_path):
    draw = random.Random(6)
    whole = seconds_of(lambda: train(data, CONFIG, into=tmp_path / "undisturbed"))
    for turn in range(8):
        run = tmp_path / f"run-{turn}"
        child = forked(lambda: train(data, CONFIG, into=run))  # noqa: B023
        time.sleep(draw.uniform(0, whole))
        os.kill(child, signal.SIGTERM)
        time.sleep(draw.uniform(0, whole / 8))
        os.kill(child, signal.SIGKILL)
        assert ended(child) in (-signal.SIGKILL, -signal.SIGTERM, 143, 0)
        train(data, CONFIG, into=run)
        assert_as_if_nothing_had_happened(run, straight, last=True)


@pytest.mark.thorough
def test_kills_of_the_command_lose_nothing(data, tmp_path):
    """Ten kills of `hexapla train`, from before its imports to the end; each gets a little further than the last one at least once."""
    write_toml(tmp_path / "wanted.toml", CONFIG)
    draw = random.Random(7)

    def command(run: str) -> list[str]:
        return [sys.executable, "-m", "hexapla.cli", "train", str(data.path), "--into", str(tmp_path / run), "--threads", "1"]

    def start(run: str) -> subprocess.Popen:
        first = [] if (tmp_path / run / "config.toml").exists() else ["--config", str(tmp_path / "wanted.toml")]
        return subprocess.Popen([*command(run), *first], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    began = time.monotonic()
    with start("straight") as process:
        assert process.wait() == 0
    whole, run = time.monotonic() - began, 0
    for _ in range(10):
        with start(f"run-{run}") as process:
            time.sleep(draw.uniform(0, whole))
            process.kill()
            run += process.wait() == 0
    for path in tmp_path.glob("run-*"):
        with start(path.name) as process:
            assert process.wait() == 0, process.stderr and process.stderr.read()
        assert_as_if_nothing_had_happened(path, tmp_path / "straight")


def died_at(swapped: dict[str, tuple[Place, int]], place: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Place, int]:
    """The place of this name, and the call of it that is the last."""
    if place in swapped:
        return swapped[place]
    monkeypatch.setattr(folders, "exchanged", lambda one, other: False)
    return WHERE_NAMES_CANNOT_BE_SWAPPED[place]


def versions(run: Path) -> list[dict[str, str]]:
    """Two averages of the run, one after the other."""
    found = []
    for last in (1, 2):
        average(run, last=last)
        found.append({name: digest for name, digest in content(run).items() if "average" in name})
    return found


@pytest.mark.parametrize("place", [*IN_A_REPLACEMENT, *WHERE_NAMES_CANNOT_BE_SWAPPED])
def test_a_kill_while_an_average_is_replaced_leaves_the_old_or_the_new(straight, tmp_path, monkeypatch, place):
    """To a reader that comes next, too, and nothing is left over once one has come."""
    run = shutil.copytree(straight, tmp_path / "run")
    old, new = versions(run)
    assert old != new
    average(run, last=1)
    where, call = died_at(IN_A_REPLACEMENT, place, monkeypatch)
    assert in_a_child(where.armed(lambda: average(run, last=2), call)) == -signal.SIGKILL
    assert Run.open(run, checkpoint="average").model
    assert {name: digest for name, digest in content(run).items() if "checkpoints/average/" in name} in (old, new)
    average(run, last=2)
    assert {name: digest for name, digest in content(run).items() if "average" in name} == new
    assert stale(run) == []


@pytest.mark.parametrize("place", [*IN_A_PREPARATION, *WHERE_NAMES_CANNOT_BE_SWAPPED])
def test_a_kill_while_data_is_prepared_over_data_leaves_the_old_or_the_new(tmp_path, monkeypatch, place):
    old = small_data(tmp_path, seed=1)

    def again() -> Prepared:
        (tmp_path / "more.tsv").write_text("abc\tcba\nfed\tdef\nbad\tdab\n")
        return prepare(tmp_path / "more.tsv", into=tmp_path / "data", subwords=Characters(), hold_out=1, overwrite=True)

    where, call = died_at(IN_A_PREPARATION, place, monkeypatch)
    assert in_a_child(where.armed(again, call)) == -signal.SIGKILL
    assert len(Prepared.open(tmp_path / "data").train) in (len(old.train), 2)
    assert len(again().train) == 2
    assert stale(tmp_path / "data") == []
