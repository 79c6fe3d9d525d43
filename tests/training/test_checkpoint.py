import errno
import json
import math
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from torch.testing import assert_close

from hexapla.config.training import AdamConfig
from hexapla.data import folder as folders
from hexapla.data.folder import sha256_of
from hexapla.errors import CheckpointError, DivergenceError, StorageError
from hexapla.training import checkpoint
from hexapla.training.average import mean_of
from hexapla.training.checkpoint import Checkpoints, replace_text, write_folder
from hexapla.training.manifest import verify
from hexapla.training.optimiser import adam
from hexapla.training.reading import load_model

FILES = ("manifest.json", "model.safetensors", "optimiser.safetensors", "state.json")


def state(step, best=0):
    return {"position": {"step": step}, "best": {"step": best}}


class Row:
    """A model whose weights all are the step, its optimiser, and its checkpoints."""

    def __init__(self, folder: Path, **settings):
        self.model = nn.Linear(3, 2)
        self.optimiser = adam(self.model, AdamConfig())
        self.checkpoints = Checkpoints(folder, **settings)

    def save(self, step, best=0):
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.fill_(step)
        return self.checkpoints.save(self.model, self.optimiser, state(step, best))

    def names(self):
        return sorted(file.name for file in self.checkpoints.folder.iterdir())


@pytest.fixture
def row(tmp_path):
    return Row(tmp_path / "checkpoints")


def resumed(row) -> tuple[dict, list[str]]:
    found = row.checkpoints.resume(row.model, row.optimiser)
    assert found is not None
    return found


def flipped(file, place=None):
    content = bytearray(file.read_bytes())
    content[len(content) // 2 if place is None else place] ^= 1
    file.write_bytes(content)


DAMAGES = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "flipped": flipped,
    "missing": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


def test_a_checkpoint_holds_every_weight_and_moment_and_the_state(row):
    row.save(3)
    folder = row.checkpoints.folder / "step_3"
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    assert verify(folder) == state(3)
    tensors = load_file(folder / "model.safetensors")
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {"weight": (2, 3), "bias": (2,)}
    assert set(load_file(folder / "optimiser.safetensors")) == {f"{n}.{m}" for n in tensors for m in ("exp_avg", "exp_avg_sq")}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["files"] == {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)} for name in FILES if name != "manifest.json"
    }


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_checkpoint_is_passed_over_with_a_complaint(row, file, damage):
    row.save(1)
    row.save(2)
    newest = row.save(3)
    DAMAGES[damage](newest / file)
    found, complaints = resumed(row)
    assert found == state(2)
    assert row.model.weight.tolist() == [[2.0] * 3] * 2
    assert str(newest) in complaints[0]
    assert complaints[1:] == [f"{row.checkpoints.folder}: going on from step_2; what is newer is set aside as step_N.damaged"]
    assert row.names() == ["step_1", "step_2", "step_3.damaged"]


def test_a_damaged_checkpoint_takes_no_place_among_those_kept(tmp_path):
    """Were it counted, the next saves would remove the whole ones and keep the damaged."""
    row = Row(tmp_path, keep_last=2)
    for step in (1, 8):
        row.save(step)
    (tmp_path / "step_8/manifest.json").unlink()
    assert resumed(row)[0] == state(1)
    for step in (3, 4, 8):
        row.save(step)
    assert row.names() == ["step_4", "step_8", "step_8.damaged"]
    assert verify(tmp_path / "step_8") == state(8)


@pytest.mark.parametrize(
    ("file", "damage", "words"),
    [
        ("state.json", "missing", r"state\.json: is missing; the folder is not whole$"),
        ("state.json", "truncated", r"state\.json: \d+ bytes, the manifest says \d+; the file is damaged$"),
        ("model.safetensors", "flipped", r"model\.safetensors: content differs from the manifest's SHA-256; the file is damaged$"),
        ("manifest.json", "missing", r"step_3/manifest\.json: is missing; the folder is not whole$"),
    ],
)
def test_what_is_damaged_is_named(row, file, damage, words):
    folder = row.save(3)
    DAMAGES[damage](folder / file)
    with pytest.raises(CheckpointError, match=words):
        verify(folder)


def test_every_byte_of_every_file_is_watched(row):
    """Sixty places in each file; all changes are noticed, those of white space in the manifest too."""
    folder = row.save(3)
    for name in FILES:
        whole = (folder / name).read_bytes()
        for place in range(0, len(whole), max(1, len(whole) // 60)):
            flipped(folder / name, place)
            with pytest.raises(CheckpointError):
                verify(folder)
            (folder / name).write_bytes(whole)
    assert verify(folder) == state(3)


def test_a_changed_indent_in_the_manifest_is_damage(row):
    folder = row.save(3)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace("\n ", "\n\t"))
    with pytest.raises(CheckpointError, match=r"manifest\.json: not as it was written; the file is damaged$"):
        verify(folder)


def test_where_none_is_whole_training_does_not_begin_anew(row):
    for step in (1, 2):
        flipped(row.save(step) / "model.safetensors")
    with pytest.raises(CheckpointError) as caught:
        row.checkpoints.resume(row.model, row.optimiser)
    newest = row.checkpoints.folder / "step_2/model.safetensors"
    assert str(caught.value) == (
        f"{row.checkpoints.folder}: no checkpoint is whole; the newest: {newest}: content differs from the manifest's SHA-256; "
        "the file is damaged. To begin anew, train into another folder"
    )
    assert row.names() == ["step_1", "step_2"]


def test_without_any_checkpoint_there_is_nothing_to_resume(row):
    assert row.checkpoints.resume(row.model, row.optimiser) is None
    row.checkpoints.sweep()


def test_a_newer_format_is_refused_and_not_taken_for_damage(row):
    row.save(1)
    newest = row.save(2)
    manifest = json.loads((newest / "manifest.json").read_text())
    (newest / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    with pytest.raises(CheckpointError, match=r"step_2: written in format 2, this version reads up to 1; update hexapla$"):
        row.checkpoints.resume(row.model, row.optimiser)
    assert row.names() == ["step_1", "step_2"]


def rewritten(folder, tensors, monkeypatch):
    monkeypatch.setattr(checkpoint, "refuse_not_finite", lambda *_: None)
    write_folder(folder, {"model.safetensors": tensors}, state(1))
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bias": None}, r"step_1/model\.safetensors: lacks bias; config\.toml describes another model$"),
        ({"scale": torch.ones(2)}, r"step_1/model\.safetensors: has an unknown scale; config\.toml describes another model$"),
        (
            {"bias": torch.ones(3)},
            r"step_1/model\.safetensors: bias is \(3,\), config\.toml makes it \(2,\); config\.toml describes another model$",
        ),
        ({"weight": torch.full((2, 3), math.nan)}, r"step_1/model\.safetensors: weight holds NaN or infinity; use another checkpoint$"),
        ({"bias": torch.tensor([0.0, math.inf])}, r"step_1/model\.safetensors: bias holds NaN or infinity; use another checkpoint$"),
    ],
    ids=["missing", "unknown", "misshapen", "nan", "infinity"],
)
def test_weights_of_another_model_are_named_and_none_is_loaded(tmp_path, monkeypatch, change, words):
    model = nn.Linear(3, 2)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    tensors = {"bias": torch.ones(2), "weight": torch.ones(2, 3)} | change
    folder = rewritten(tmp_path / "step_1", {name: value for name, value in tensors.items() if value is not None}, monkeypatch)
    with pytest.raises(CheckpointError, match=words):
        load_model(model, folder)
    assert all(torch.equal(p, before[name]) for name, p in model.named_parameters())


def test_what_is_not_finite_is_not_saved(row):
    row.save(1)
    with torch.no_grad():
        row.model.bias[1] = math.nan
    with pytest.raises(DivergenceError, match=r"step_2: bias holds NaN or infinity; it is not saved, and earlier checkpoints are whole$"):
        row.checkpoints.save(row.model, row.optimiser, state(2))
    assert row.names() == ["step_1"]


def test_the_newest_are_kept_and_the_best(tmp_path):
    row = Row(tmp_path, keep_last=3)
    for step in range(1, 8):
        row.save(step, best=min(step, 2))
    assert row.names() == ["best", "step_2", "step_5", "step_6", "step_7"]
    assert row.checkpoints.best == tmp_path / "step_2"
    row.save(8, best=8)
    assert row.names() == ["best", "step_6", "step_7", "step_8"]
    assert (tmp_path / "best").read_text() == "step_8"


def test_two_are_kept_whatever_is_asked(tmp_path):
    row = Row(tmp_path, keep_last=1)
    for step in range(1, 4):
        row.save(step)
    assert row.names() == ["step_2", "step_3"]


def test_steps_are_ordered_as_numbers(row):
    for step in (9, 10, 100):
        row.save(step)
    assert [folder.name for folder in row.checkpoints.steps()] == ["step_9", "step_10", "step_100"]


def test_a_best_that_is_gone_is_none(row):
    row.save(1)
    for text in ("step_7", "../elsewhere", "", "step_1/model.safetensors"):
        (row.checkpoints.folder / "best").write_text(text)
        assert row.checkpoints.best is None
    row.checkpoints.resume(row.model, row.optimiser)
    assert row.names() == ["step_1"]


def test_a_best_that_is_gone_is_told_when_training_goes_on(row):
    for step in (1, 2, 3):
        row.save(step, best=1)
    assert resumed(row)[1] == []
    shutil.rmtree(row.checkpoints.folder / "step_1")
    assert resumed(row)[1] == [f"{row.checkpoints.folder}: step_1, the best, is gone; best is the latest until a better one"]
    assert row.names() == ["step_2", "step_3"]


def test_moments_that_are_not_finite_are_not_saved(row):
    row.save(1)
    for parameter in row.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    row.optimiser.step()
    row.optimiser.state[row.model.bias]["exp_avg_sq"][0] = math.inf
    with pytest.raises(DivergenceError, match=r"step_2: bias\.exp_avg_sq holds NaN or infinity; it is not saved"):
        row.save(2)
    assert row.names() == ["step_1"]


def test_a_kill_between_checkpoint_and_pointer_is_made_good(row):
    row.save(1, best=1)
    row.save(2, best=2)
    (row.checkpoints.folder / "best").write_text("step_1")
    row.checkpoints.resume(row.model, row.optimiser)
    assert row.checkpoints.best == row.checkpoints.folder / "step_2"


def test_a_kill_before_the_oldest_is_removed_is_made_good(tmp_path):
    """Also where no save follows, since the run has ended."""
    row = Row(tmp_path, keep_last=4)
    for step in range(1, 5):
        row.save(step)
    row.checkpoints.keep_last = 3
    resumed(row)
    assert row.names() == ["step_2", "step_3", "step_4"]


def test_what_a_killed_save_left_is_swept_and_what_is_being_written_is_not(row):
    row.save(1)
    folder = row.checkpoints.folder
    for name in ("step_2.partial-0a", "step_0.old-0", "average.partial-11"):
        (folder / name).mkdir()
        (folder / name / "model.safetensors").write_bytes(b"half")
    (folder / "best.tmp").write_text("step")
    lock = folders.locked(folder / "average.partial-11")
    row.checkpoints.sweep()
    assert row.names() == ["average.partial-11", "step_1"]
    os.close(lock)
    row.checkpoints.sweep()
    assert row.names() == ["step_1"]


def test_all_is_on_disk_before_it_gets_its_name(row, monkeypatch):
    """Each file, then the folder, then the name, then the folder above, then the pointer to the best, then removals."""
    row.checkpoints.keep_last = 2
    row.save(1)
    row.save(2)
    events = []
    paths = {}
    real_open, real_fsync = os.open, os.fsync

    def opening(path, *rest, **more):
        handle = real_open(path, *rest, **more)
        paths[handle] = Path(path)
        return handle

    def syncing(handle):
        events.append(("sync", paths[handle].name.split(".partial")[0]))
        real_fsync(handle)

    def watching(name):
        real = getattr(Path, name)

        def moving(self, to):
            events.append((name, self.name.split(".partial")[0], re.sub("-[0-9a-f]{16}$", "-…", Path(to).name)))
            return real(self, to)

        monkeypatch.setattr(Path, name, moving)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(os, "fsync", syncing)
    watching("rename")
    watching("replace")
    row.save(3, best=3)
    assert events == [
        *(("sync", name) for name in FILES),
        ("sync", "step_3"),
        ("rename", "step_3", "step_3"),
        ("sync", "checkpoints"),
        ("sync", "best.tmp"),
        ("replace", "best.tmp", "best"),
        ("sync", "checkpoints"),
        ("rename", "step_1", "step_1.partial-…"),
    ]


def test_a_full_disk_while_writing_leaves_the_earlier_checkpoint(row, monkeypatch):
    row.save(1, best=1)

    def full(tensors, file):
        Path(file).write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(StorageError) as caught:
        row.save(2, best=2)
    assert caught.value.exit_code == 74
    message = str(caught.value)
    assert message.startswith(f"{row.checkpoints.folder / 'step_2'}: could not be written: ")
    assert "No space left on device; it needs 96 bytes, " in message
    assert message.endswith(" are free there; make room and start again. Earlier checkpoints are whole; the last is step_1")
    assert row.names() == ["best", "step_1"]
    assert resumed(row)[0] == state(1, best=1)


def test_space_is_looked_for_before_anything_is_written(row, monkeypatch):
    row.save(1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=95))
    with pytest.raises(StorageError) as caught:
        row.save(2)
    folder = row.checkpoints.folder
    assert str(caught.value) == (
        f"{folder / 'step_2'}: needs 96 bytes, 95 are free there; make room and start again. "
        "Earlier checkpoints are whole; the last is step_1"
    )
    assert row.names() == ["step_1"]


def test_the_mean_is_that_of_each_tensor_in_fp64(tmp_path):
    """1e8 + 1 - 1e8 is 0 in fp32: only a wider sum has the mean right."""
    values = (1e8, 1.0, -1e8)
    for step, value in enumerate(values):
        write_folder(tmp_path / f"{step}", {"model.safetensors": {"w": torch.full((2,), value), "b": torch.randn(3)}}, {})
    given = [tmp_path / f"{step}" for step in range(3)]
    mean = mean_of(given)
    assert mean["w"].tolist() == pytest.approx([1 / 3] * 2)
    parts = [load_file(folder / "model.safetensors")["b"].double() for folder in given]
    assert_close(mean["b"], torch.stack(parts).mean(dim=0).float(), atol=1e-7, rtol=0)
    assert {tensor.dtype for tensor in mean.values()} == {torch.float32}
    assert torch.equal(mean_of(given[1:2])["w"], torch.ones(2))


@pytest.mark.parametrize("other", [{"v": torch.ones(2)}, {"w": torch.ones(3)}], ids=["names", "shapes"])
def test_a_mean_of_different_models_is_refused(tmp_path, other):
    write_folder(tmp_path / "a", {"model.safetensors": {"w": torch.ones(2)}}, {})
    write_folder(tmp_path / "b", {"model.safetensors": other}, {})
    with pytest.raises(CheckpointError, match=r"b: other tensors than .*a; average checkpoints of one model$"):
        mean_of([tmp_path / "a", tmp_path / "b"])


def test_a_mean_with_a_damaged_checkpoint_is_refused(tmp_path):
    for name in "ab":
        write_folder(tmp_path / name, {"model.safetensors": {"w": torch.ones(2)}}, {})
    flipped(tmp_path / "b/model.safetensors")
    with pytest.raises(CheckpointError, match="content differs"):
        mean_of([tmp_path / "a", tmp_path / "b"])


def test_a_pointer_that_cannot_be_written_keeps_the_old_one(tmp_path):
    (tmp_path / "best").write_text("step_1")
    (tmp_path / "best.tmp").mkdir()
    with pytest.raises(StorageError, match=r"best: could not be written: Is a directory; make room, permit it or remove what is "):
        replace_text(tmp_path / "best", "step_2")
    assert (tmp_path / "best").read_text() == "step_1"


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_to_be_saved(row, monkeypatch):
    row.save(1)
    row.checkpoints.refuse_unsavable(row.model)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StorageError, match=r"checkpoints: cannot be written; .*; the last is step_1$"):
        row.checkpoints.refuse_unsavable(row.model)


def test_room_is_looked_for_as_a_save_would_need_it(row, monkeypatch):
    """Six weights and two biases in fp32, and two moments of each."""
    row.save(1)
    for free, fits in ((96, True), (95, False)):
        monkeypatch.setattr(checkpoint, "free_bytes", lambda _: free)  # noqa: B023
        if fits:
            row.checkpoints.refuse_unsavable(row.model)
        else:
            with pytest.raises(StorageError, match=r"checkpoints: needs 96 bytes, 95 are free there; .*; the last is step_1$"):
                row.checkpoints.refuse_unsavable(row.model)


def test_damage_that_keeps_its_name_is_told(row, monkeypatch):
    row.save(1)
    (row.checkpoints.folder / "step_2").mkdir()

    def refused(*_):
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StorageError, match=r"step_2: could not be renamed to step_2\.damaged: Permission denied; move it away yourself$"):
        resumed(row)
