"""What is on the disk before what: each file, then the folder, then its name, then the pointer, and only then removals (BAR G3)."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import CONFIG

from hexapla.config.load import write_toml
from small_runs import small_config, small_data

SAVES = 20
WATCHED = "fsync,fdatasync,rename,renameat,renameat2,openat,unlink,unlinkat"
TRAIN = """
import sys
import torch
from hexapla.config.load import read_run_config
from pathlib import Path
from hexapla.workflow.train import train
torch.set_num_threads(1)
train(sys.argv[1], read_run_config(Path(sys.argv[2])), into=sys.argv[3])
"""
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")


def traced(command: list[str], log: Path) -> list[tuple[str, ...]]:
    """The calls that succeeded, in order: ("sync", path), ("rename", from, to), ("write", path), ("unlink", path)."""
    watching = ["strace", "-f", "-y", "-s", "4096", "-e", f"trace={WATCHED}", "-o", str(log)]
    done = subprocess.run([*watching, *command], capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip(f"strace may not trace here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    events: list[tuple[str, ...]] = []
    for line in log.read_text(errors="replace").splitlines():
        if (call := CALL.match(line)) and not call[3].startswith("-"):
            named = re.findall(r'"([^"]*)"', call[2])
            if call[1] in ("fsync", "fdatasync"):
                events.append(("sync", call[2].partition("<")[2].removesuffix(">")))
            elif call[1].startswith("rename"):
                events.append(("rename", *named))
            elif call[1].startswith("unlink"):
                above = re.match(r"\d+<([^>]*)>", call[2])
                events.append(("unlink", str(Path(above[1] if above else "/", named[0]))))
            elif re.search("O_WRONLY|O_RDWR|O_CREAT", call[2]):
                events.append(("write", named[0]))
    return events


@pytest.mark.thorough
def test_twenty_saves_are_on_disk_in_the_right_order(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    data = small_data(tmp_path)
    config = small_config(steps=SAVES, checkpoint_every=1, keep_last=2, log_every=9, validation=CONFIG.training.validation)
    write_toml(tmp_path / "config.toml", config)
    run = tmp_path / "run"
    command = [sys.executable, "-c", TRAIN, str(data.path), str(tmp_path / "config.toml"), str(run)]
    events = traced(command, tmp_path / "log")
    checkpoints = run / "checkpoints"
    saves = [i for i, event in enumerate(events) if event[0] == "rename" and re.fullmatch(rf"{checkpoints}/step_\d+", event[2])]
    assert len(saves) == SAVES
    moved_pointers = removed = 0
    for place, following in zip(saves, [*saves[1:], len(events)], strict=True):
        _, partial, name = events[place]
        earlier, later = events[:place], events[place + 1 : following]
        for file in ("manifest.json", "model.safetensors", "optimiser.safetensors", "state.json"):
            synced = earlier.index(("sync", f"{partial}/{file}"))
            assert ("write", f"{partial}/{file}") not in earlier[synced:], f"{file} of {name} is written after it was synced"
        assert earlier[-1] == ("sync", partial), "the folder is synced last, once all names are in it"
        assert later[0] == ("sync", str(checkpoints)), f"the name {name} is on the disk before anything else is done"
        pointers = [i for i, event in enumerate(later) if event == ("rename", f"{checkpoints}/best.tmp", f"{checkpoints}/best")]
        removals = [i for i, event in enumerate(later) if event[0] == "rename" and re.match(rf"{checkpoints}/step_\d+$", event[1])]
        unlinks = [i for i, event in enumerate(later) if event[0] == "unlink" and "/step_" in event[1]]
        for pointer in pointers:
            assert later[pointer - 1] == ("sync", f"{checkpoints}/best.tmp")
            assert later[pointer + 1] == ("sync", str(checkpoints))
            assert all(pointer + 1 < i for i in (*removals, *unlinks)), "the pointer is on the disk before an old checkpoint goes"
        if unlinks:
            assert removals and min(removals) < min(unlinks), "a checkpoint loses its name before its files"
        moved_pointers, removed = moved_pointers + len(pointers), removed + len(removals)
    assert moved_pointers and removed >= SAVES - 4
    begun = next(i for i, event in enumerate(events) if event[0] == "rename" and event[2] == str(run))
    assert events[begun + 1] == ("sync", str(tmp_path)), "the name of the run itself"
