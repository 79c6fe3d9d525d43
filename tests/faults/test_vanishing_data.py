"""Data that are removed, replaced, appended to, cut or written into while they are trained on (BAR T20): never mixed, never a crash."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hexapla.config.training import ValidationConfig
from hexapla.data.folder import sha256_of
from hexapla.errors import DataError
from hexapla.training.hooks import Hook
from hexapla.workflow.train import train
from small_runs import small_config, small_data

CONFIG = small_config(steps=6, checkpoint_every=100, validation=ValidationConfig(every=4, translate=0))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("original"))


@pytest.fixture(scope="module")
def straight(original, tmp_path_factory):
    return train(original, CONFIG, into=tmp_path_factory.mktemp("straight") / "run").path


class After(Hook):
    """Something happens after update 3, the fourth being a validation's too."""

    def __init__(self, act: Callable[[], object]):
        self.act = act

    def updated(self, trainer, record):
        if trainer.position.step == 3:
            self.act()


def weights(run: Path, step: int) -> str:
    return sha256_of(run / f"checkpoints/step_{step}/model.safetensors")


def replaced_by_another(folder: Path) -> None:
    for file in folder.iterdir():
        new = file.with_name("new")
        new.write_bytes(b"another\n" * 1000)
        new.replace(file)


def renamed_and_back_with_other_rights(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.with_name("elsewhere").rename(folder)
    for file in folder.iterdir():
        file.chmod(0o400)
        os.utime(file, (1, 1))


@pytest.mark.parametrize("change", [shutil.rmtree, replaced_by_another, renamed_and_back_with_other_rights])
def test_training_keeps_the_copy_it_has_open(original, straight, tmp_path, change):
    folder = Path(shutil.copytree(original.path, tmp_path / "data"))
    run = train(folder, CONFIG, into=tmp_path / "run", hooks=[After(lambda: change(folder))])
    assert weights(run.path, 6) == weights(straight, 6)


def cut(file: Path) -> None:
    os.truncate(file, 0)


def appended_to(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"more")


def one_bit_flipped_and_its_times_set_back(file: Path) -> None:
    before = file.stat()
    with file.open("r+b") as out:
        out.seek(before.st_size // 2)
        byte = out.read(1)[0]
        out.seek(before.st_size // 2)
        out.write(bytes([byte ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize("change", [cut, appended_to, one_bit_flipped_and_its_times_set_back])
def test_what_is_written_into_is_named_and_never_trained_on(original, straight, tmp_path, change, split):
    folder = Path(shutil.copytree(original.path, tmp_path / "data"))
    file = folder / f"{split}-00000.arrow"
    with pytest.raises(DataError) as caught:
        train(folder, CONFIG, into=tmp_path / "run", hooks=[After(lambda: change(file))])
    assert str(caught.value) == f"{file}: was written into while it was in use; prepare the data again, and train into another folder"
    step = 3 if split == "train" else 4
    assert [f.name for f in (tmp_path / "run/checkpoints").glob("step_*")] == [f"step_{step}"]
    run = train(original, CONFIG, into=tmp_path / "run")
    assert weights(run.path, 6) == weights(straight, 6)
