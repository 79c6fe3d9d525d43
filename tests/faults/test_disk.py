"""Disks that are full, small, read-only, gone: what was saved stays, the message says what to do, and the run goes on (BAR G2, T07 to T09).

The file systems are real ones, of memory, which takes root to mount.
"""

import logging
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from harness import assert_as_if_nothing_had_happened, content, stale

from hexapla.cli.main import run as hexapla
from hexapla.config.training import ValidationConfig
from hexapla.data.prepared import Prepared
from hexapla.errors import ConfigError, StorageError
from hexapla.runs import Run
from hexapla.training import checkpoint
from hexapla.training.hooks import Hook
from hexapla.training.manifest import verify
from hexapla.workflow.average import average
from hexapla.workflow.train import train
from small_runs import small_config, small_data

SMALL = small_config(steps=6, checkpoint_every=2, keep_last=9, log_every=1, validation=ValidationConfig(every=3, translate=0))
CONFIG = replace(SMALL, model=replace(SMALL.model, d_model=64))
"""a checkpoint of some 700 kB, so that a share of it is many pages"""
SHARES = [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
SIZES = [pytest.param(share, marks=[] if share in (5, 95) else pytest.mark.thorough) for share in SHARES]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("disk"))


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """A run that had room."""
    path = tmp_path_factory.mktemp("disk") / "straight"
    train(data, CONFIG, into=path)
    return path


@pytest.fixture(scope="module")
def begun(data, tmp_path_factory):
    """Its first two updates, to be gone on with elsewhere."""
    path = tmp_path_factory.mktemp("disk") / "begun"

    class Stop(Hook):
        def updated(self, trainer, record):
            if trainer.position.step == 2:
                trainer.stop("a test")

    train(data, CONFIG, into=path, hooks=[Stop()])
    return path


@pytest.fixture
def mounted(tmp_path) -> Iterator[Callable[[str, str], Path]]:
    """Makes a file system of memory with these options; only root may."""
    if os.geteuid() != 0:
        pytest.skip("not root: cannot mount a file system to fill")
    places: list[Path] = []

    def mount(name: str, options: str) -> Path:
        place = tmp_path / name
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount a file system: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def fill(disk: Path, *, but: int) -> None:
    """A file, ballast, that leaves `but` bytes."""
    with (disk / "ballast").open("wb") as out:
        left = shutil.disk_usage(disk).free - but
        out.write(bytes(max(0, left)))


class Starting(Hook):
    """Something happens once training has begun."""

    def __init__(self, do: Callable[[], object]):
        self.do = do

    def start(self, trainer):
        self.do()


@pytest.mark.parametrize("noticed", ["at the start", "before a save", "while writing"])
@pytest.mark.parametrize("share", SIZES)
def test_a_full_disk_keeps_the_last_checkpoint_and_the_run_goes_on_once_there_is_room(
    data, straight, begun, mounted, monkeypatch, share, noticed
):
    disk = mounted("disk", "size=8m")
    run = shutil.copytree(begun, disk / "run")
    saved = content(run)
    left = size_of(run / "checkpoints/step_2") * share // 100
    if noticed == "at the start":
        fill(disk, but=left)
    with monkeypatch.context() as patch:
        if noticed == "while writing":  # another process took the room after it was looked for
            patch.setattr(checkpoint, "refuse_without_space", lambda *_: None)
        with pytest.raises(StorageError) as caught:
            train(data, into=run, hooks=[Starting(lambda: fill(disk, but=left))])
    message = str(caught.value)
    assert caught.value.exit_code == 74 and "\n" not in message
    assert message.startswith(f"{run / 'checkpoints'}{'' if noticed == 'at the start' else '/step_3'}: ")
    needed, free = (int(number.replace(",", "")) for number in re.findall(r"needs ([0-9,]+) bytes, ([0-9,]+) are free there", message)[0])
    assert needed > free >= 0
    assert message.endswith("; make room and start again. Earlier checkpoints are whole; the last is step_2")
    assert content(run) == saved and stale(run) == []
    assert verify(run / "checkpoints/step_2")["position"]["step"] == 2
    (disk / "ballast").unlink()
    train(data, into=run)
    assert_as_if_nothing_had_happened(run, straight)


def test_an_average_that_finds_no_room_leaves_the_one_before(straight, mounted):
    disk = mounted("disk", "size=8m")
    run = shutil.copytree(straight, disk / "run")
    average(run, last=1)
    saved = content(run)
    fill(disk, but=1000)
    with pytest.raises(StorageError, match=r"average: needs [0-9,]+ bytes, [0-9,]+ are free there; .*Earlier checkpoints are whole$"):
        average(run, last=2)
    assert content(run) == saved and stale(run) == []


def test_a_limit_on_the_size_of_files_ends_training_as_a_full_disk_does(data, straight, begun, tmp_path):
    """EFBIG; the signal that comes with it is ignored by Python, and must stay so."""
    run = shutil.copytree(begun, tmp_path / "run")
    saved, limits = content(run), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(StorageError, match=r"step_3: .*File too large.*; allow larger files, as by ulimit -f unlimited, and start"):
            train(data, into=run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert content(run) == saved and stale(run) == []
    train(data, into=run)
    assert_as_if_nothing_had_happened(run, straight)


def test_a_disk_without_inodes_ends_training_as_a_full_disk_does(data, straight, begun, mounted):
    disk = mounted("disk", "size=8m,nr_inodes=60")
    run = shutil.copytree(begun, disk / "run")
    saved = content(run)
    spare = [disk / str(i) for i in range(os.statvfs(disk).f_favail - 4)]
    for file in spare:
        file.touch()
    with pytest.raises(StorageError) as caught:
        train(data, into=run)
    assert re.fullmatch(
        rf"{run}/checkpoints: needs 6 files, [0-5] more can be made on that file system, which has no inodes left "
        r"\([0-9,]+ bytes are free, [0-9,]+ needed\); remove some files and start again\. "
        "Earlier checkpoints are whole; the last is step_2",
        str(caught.value),
    )
    assert content(run) == saved and stale(run) == []
    for file in spare:
        file.unlink()
    train(data, into=run)
    assert_as_if_nothing_had_happened(run, straight)


def test_a_full_disk_for_the_metrics_alone_is_one_warning(data, straight, begun, mounted, tmp_path, caplog):
    disk = mounted("disk", "size=16k")
    run = shutil.copytree(begun, tmp_path / "run")
    elsewhere = Path(shutil.move(run / "metrics.jsonl", disk / "metrics.jsonl"))
    with elsewhere.open("a") as out:  # up to half a line before the end of a page
        out.write('{"event": "note", "step": 1, "text": "%s"}\n' % ("x" * (-(elsewhere.stat().st_size + 150) % 4096)))
    (run / "metrics.jsonl").symlink_to(elsewhere)
    fill(disk, but=0)
    with caplog.at_level(logging.WARNING):
        train(data, into=run)
    warned = [record.getMessage() for record in caplog.records]
    assert warned == [f"{run / 'metrics.jsonl'}: No space left on device; training goes on and measures are lost"]
    assert content(run) == content(straight)
    assert all(line.endswith("}") for line in elsewhere.read_text().splitlines()), "no half line stays"


def test_a_read_only_disk_is_refused_at_once(data, begun, mounted, capsys):
    disk = mounted("disk", "size=8m")
    run = shutil.copytree(begun, disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    saved = content(run)
    for into in (run, disk / "new", disk / "deep/new"):
        assert hexapla(["train", str(data.path), "--into", str(into)]) == 74
        assert re.fullmatch(rf"hexapla: {disk}/\S+: Read-only file system; cannot write there\n", capsys.readouterr().err)
    assert content(run) == saved


class At(Hook):
    def __init__(self, step: int, do: Callable[[], object]):
        self.step, self.do = step, do

    def updated(self, trainer, record):
        if trainer.position.step == self.step:
            self.do()


def test_a_disk_that_turns_read_only_ends_training_with_what_was_saved(data, begun, mounted):
    disk = mounted("disk", "size=8m")
    run = shutil.copytree(begun, disk / "run")
    said = r"step_6: could not be written: .*Read-only file system.*; mount it for writing and start again\. .*; the last is step_4$"
    with pytest.raises(StorageError, match=said):
        train(data, into=run, hooks=[At(4, lambda: frozen(run / "checkpoints"))])
    assert Run.open(run, checkpoint="latest").model


def frozen(place: Path) -> None:
    subprocess.run(["mount", "--bind", place, place], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)


def test_checkpoints_that_cannot_be_written_are_refused_before_the_first_update(data, begun, mounted):
    run = shutil.copytree(begun, mounted("disk", "size=8m") / "run")
    saved = content(run)
    frozen(run / "checkpoints")
    with pytest.raises(StorageError) as caught:
        train(data, into=run, hooks=[Starting(lambda: pytest.fail("began"))])
    assert str(caught.value) == (
        f"{run}/checkpoints: cannot be written; permit it, as by chmod u+rwx, and start again. "
        "Earlier checkpoints are whole; the last is step_2"
    )
    assert content(run) == saved


def test_damage_that_cannot_be_set_aside_is_told(data, begun, mounted):
    run = shutil.copytree(begun, mounted("disk", "size=8m") / "run")
    (run / "checkpoints/step_9").mkdir()
    frozen(run / "checkpoints")
    with pytest.raises(StorageError, match=r"/step_9: could not be renamed to step_9\.damaged: Read-only .*; move it away yourself$"):
        train(data, into=run)


def test_settings_that_cannot_be_written_are_told(data, begun, tmp_path):
    run = shutil.copytree(begun, tmp_path / "run")
    (run / "config.toml.tmp").mkdir()
    said = r"run/config\.toml: could not be written: Is a directory; make room, permit it or remove what is in the way, and start again$"
    with pytest.raises(StorageError, match=said):
        train(data, into=run, steps=9)


def test_a_run_folder_that_is_taken_away_ends_training_and_is_not_made_anew_by_halves(data, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(StorageError) as caught:
        train(data, SMALL, into=run, hooks=[At(4, lambda: shutil.rmtree(run))])
    assert caught.value.exit_code == 74
    assert str(caught.value) == (
        f"{run}/checkpoints/step_6: cannot be saved, since {run} is gone; the last one saved was step_4. Put it back, or train elsewhere"
    )
    assert not run.exists() and stale(run) == []


def test_checkpoints_that_are_taken_away_alone_are_made_again(data, tmp_path):
    run = tmp_path / "run"
    train(data, SMALL, into=run, hooks=[At(4, lambda: shutil.rmtree(run / "checkpoints"))])
    assert [step.name for step in Run.open(run).checkpoints.steps()] == ["step_6"]


def test_a_missing_parent_is_made(data, tmp_path):
    assert train(data, SMALL, into=tmp_path / "a/b/run", steps=1).step == 1


def test_a_link_to_a_folder_on_another_disk_is_followed_and_stays(data, straight, mounted, tmp_path):
    disk = mounted("disk", "size=8m")
    (disk / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to(disk / "elsewhere")
    train(data, CONFIG, into=link, steps=2)
    train(data, into=link, steps=6)
    assert link.is_symlink() and (disk / "elsewhere/run.json").is_file()
    assert [file.name for file in disk.iterdir()] == ["elsewhere"]
    assert content(link)["checkpoints/step_6/model.safetensors"] == content(straight)["checkpoints/step_6/model.safetensors"]


PLACES = {
    "a file": (lambda path: path.write_text("mine"), r": is a file; give a folder$"),
    "a dangling link": (
        lambda path: path.symlink_to(path.parent / "nowhere"),
        r": is a link to \S+/nowhere, which is not there; make that folder, or remove the link$",
    ),
    "a link to itself": (
        lambda path: path.symlink_to(path),
        r": is a link to \S+, which is not there; make that folder, or remove the link$",
    ),
    "something else": (lambda path: (path.mkdir(), (path / "thesis").touch()), r": holds other files and no \S+; give a new folder$"),
}


@pytest.mark.parametrize(("make", "words"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("verb", ["train", "prepare"])
def test_a_place_that_cannot_be_a_folder_of_ours_is_refused_and_left_alone(data, tmp_path, capsys, make, words, verb):
    path = tmp_path / "place"
    make(path)
    before = sorted(tmp_path.iterdir())
    more = [str(data.path)] if verb == "train" else [str(data.path.parent / "pairs.tsv"), "--overwrite"]
    assert hexapla([verb, *more, "--into", str(path)]) == 2
    said = capsys.readouterr().err.removesuffix("\n")
    assert re.search(words, said) and "\n" not in said
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("verb", ["train", "prepare"])
@pytest.mark.parametrize("into", [".", "..", "../here"])
def test_the_current_folder_is_not_replaced_under_ones_feet(data, tmp_path, monkeypatch, capsys, verb, into):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    more = [str(data.path)] if verb == "train" else [str(data.path.parent / "pairs.tsv")]
    assert hexapla([verb, *more, "--into", into]) == 2
    assert capsys.readouterr().err == (
        f"hexapla: {into}: is the current folder or above it, and would be replaced as a whole; give a folder inside it\n"
    )


def test_a_run_is_gone_on_with_from_inside_it(data, tmp_path, monkeypatch):
    train(data, SMALL, into=tmp_path / "run", steps=2)
    monkeypatch.chdir(tmp_path / "run")
    assert train(Prepared.open(data.path), into=".", steps=4).step == 4


def test_a_mount_point_is_refused(data, mounted):
    disk = mounted("disk", "size=8m")
    with pytest.raises(ConfigError) as caught:
        train(data, SMALL, into=disk)
    assert str(caught.value) == (
        f"{disk}: is a mount point, which cannot be replaced as a whole; give a folder inside it, as {disk / 'new'}"
    )
