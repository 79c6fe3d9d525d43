"""Damage to checkpoints: found before a step is made, named, and an older one used; never another in silence (BAR G4, T10, T11)."""

import io
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import assert_as_if_nothing_had_happened

from hexapla.cli.main import run as hexapla
from hexapla.config.training import ValidationConfig
from hexapla.errors import CheckpointError
from hexapla.runs import Run
from hexapla.training.checkpoint import replace_text
from hexapla.workflow.average import average
from hexapla.workflow.train import train
from small_runs import small_config, small_data

CONFIG = small_config(steps=6, checkpoint_every=2, keep_last=9, log_every=1, validation=ValidationConfig(every=6, translate=0))
FILES = ("manifest.json", "model.safetensors", "optimiser.safetensors", "state.json")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("corruption"))


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """With checkpoints at 2, 4 and 6; that at 6 is the best."""
    path = tmp_path_factory.mktemp("corruption") / "straight"
    train(data, CONFIG, into=path)
    return path


@pytest.fixture
def run(straight, tmp_path):
    return shutil.copytree(straight, tmp_path / "run")


def mutated(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content))
    return content[:place] + bytes([content[place] ^ draw.randint(1, 255)]) + content[place + 1 :]


def damages(content: bytes, *, times: int, every: int, seed: int) -> Iterator[bytes]:
    """Each of the bytes drawn changed to any other, and cuts at each so many percent."""
    draw = random.Random(seed)
    for _ in range(times):
        yield mutated(content, draw)
    for percent in range(0, 100, every):
        yield content[: len(content) * percent // 100]


def assert_passed_over(run: Path) -> None:
    found = Run.open(run).checkpoints.newest()
    assert found is not None
    folder, state, complaints = found
    assert (folder.name, state["position"]["step"], len(complaints)) == ("step_4", 4, 1)
    assert complaints[0].startswith(f"{run}/checkpoints/step_6") and "\n" not in complaints[0]


@pytest.mark.parametrize(("times", "every"), [(25, 20), pytest.param(250, 5, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", FILES)
def test_any_changed_byte_and_any_cut_is_noticed_and_the_one_before_is_used(run, name, times, every):
    """1,000 bytes over the four files, in the thorough tier."""
    file = run / "checkpoints/step_6" / name
    whole = file.read_bytes()
    for content in damages(whole, times=times, every=every, seed=len(name)):
        file.write_bytes(content)
        assert_passed_over(run)


def test_no_flipped_bit_in_the_place_of_the_format_reads_as_a_newer_one(run):
    """The next format, 2, is no such flip: two bits tell it from 1."""
    file = run / "checkpoints/step_6/manifest.json"
    whole = file.read_bytes()
    place = whole.index(b"1")
    for value in (*(ord("1") ^ 1 << bit for bit in range(8)), *b'0-+eE \n"x\xb1'):
        file.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        assert_passed_over(run)


@pytest.mark.parametrize("swapped", [*((name,) for name in FILES), FILES, FILES[1:]], ids=[*FILES, "all", "all but the manifest"])
@pytest.mark.parametrize("source", ["step_4", "average"])
def test_files_of_another_checkpoint_are_damage(run, swapped, source):
    average(run, last=2)
    for name in swapped:
        if (run / "checkpoints" / source / name).exists():
            shutil.copy(run / "checkpoints" / source / name, run / "checkpoints/step_6" / name)
        elif swapped == FILES:
            (run / "checkpoints/step_6" / name).unlink()
        elif len(swapped) == 1:
            pytest.skip("an average has no moments")
    assert_passed_over(run)


def missing(folder: Path) -> None:
    (folder / "state.json").unlink()


def no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def zeros(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(bytes(file.stat().st_size))


def nothing(folder: Path) -> None:
    for name in FILES:
        (folder / name).write_bytes(b"")


def hollow(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize("damage", [missing, no_manifest, zeros, nothing, hollow])
def test_the_command_warns_and_makes_the_damaged_steps_again(data, straight, run, capsys, damage: Callable[[Path], None]):
    damage(run / "checkpoints/step_6")
    assert hexapla(["train", str(data.path), "--into", str(run)]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {run}/checkpoints/step_6") and "Traceback" not in said
    assert f"warning: {run}/checkpoints: going on from step_4; what is newer is set aside as step_N.damaged\n" in said
    shutil.rmtree(run / "checkpoints/step_6.damaged")
    assert_as_if_nothing_had_happened(run, straight)


def test_where_none_is_whole_the_command_refuses_in_a_line_and_changes_nothing(data, run, capsys):
    for folder in run.glob("checkpoints/step_*"):
        zeros(folder)
    before = sorted((file, file.stat().st_size) for file in run.rglob("*") if file.is_file())
    assert hexapla(["train", str(data.path), "--into", str(run)]) == 66
    said = capsys.readouterr().err
    assert said.startswith(f"hexapla: {run}/checkpoints: no checkpoint is whole; the newest: ") and said.count("\n") == 1
    assert said.endswith("To begin anew, train into another folder\n")
    assert sorted((file, file.stat().st_size) for file in run.rglob("*") if file.is_file() and file.name != ".lock") == [
        entry for entry in before if entry[0].name != ".lock"
    ]


def test_a_newer_format_is_refused_by_every_verb(data, run, capsys, monkeypatch):
    file = run / "checkpoints/step_6/manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 10}, indent=1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc\n")))
    for command in (["train", str(data.path), "--into", str(run)], ["translate", str(run)], ["average", str(run), "--last", "2"]):
        assert hexapla(command) == 66
        assert capsys.readouterr().err == (
            f"hexapla: {run}/checkpoints/step_6: written in format 10, this version reads up to 1; update hexapla\n"
        )


def test_a_file_more_in_a_checkpoint_is_left_alone(data, run):
    """A note, or what a file manager leaves: nothing that the manifest does not name is ever read."""
    for name in ("notes.txt", ".DS_Store", "more.safetensors"):
        (run / "checkpoints/step_6" / name).write_bytes(b"\0anything")
    found = Run.open(run).checkpoints.newest()
    assert found is not None and found[0].name == "step_6" and found[2] == []
    assert Run.open(run).model


POINTERS = {
    "one that is gone": b"step_99",
    "a path elsewhere": b"../../x",
    "a path to a checkpoint": b"../checkpoints/step_4",
    "nothing": b"",
    "a blank": b" \n",
    "no text": b"\xff\xfe\0",
    "a damaged digit": b"step_\xb4",
    "the average": b"average",
    "two lines": b"step_4\nstep_6",
}


@pytest.mark.parametrize("text", POINTERS.values(), ids=POINTERS)
def test_a_best_that_names_none_is_refused_and_never_becomes_another(run, capsys, monkeypatch, text):
    (run / "checkpoints/best").write_bytes(text)
    (run.parent / "text").write_text("abc\n")
    for command in (["translate", str(run)], ["score", str(run), *[str(run.parent / "text")] * 2]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc\n")))
        assert hexapla(command) == 66
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"hexapla: {run}/checkpoints/best: names '") and said.err.count("\n") == 1
        assert said.err.endswith(", which is not there; choose by --checkpoint one of latest, step_2, step_4, step_6\n")
    assert Run.open(run, checkpoint="latest").model
    assert average(run, last=2)


@pytest.mark.parametrize("how", [no_manifest, zeros])
def test_a_damaged_best_is_refused_and_never_becomes_another(run, capsys, monkeypatch, how):
    replace_text(run / "checkpoints/best", "step_4")
    how(run / "checkpoints/step_4")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"abc\n")))
    assert hexapla(["translate", str(run)]) == 66
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(f"hexapla: {run}/checkpoints/step_4") and said.err.count("\n") == 1
    with pytest.raises(CheckpointError, match=r"checkpoints/step_4"):
        average(run, last=2)
