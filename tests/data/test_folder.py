import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hexapla.data.folder as data_folder
from hexapla.data.folder import whole_folder
from hexapla.errors import ConfigError, StorageError


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def write(path, content, **options):
    with whole_folder(path, mark="mark", **options) as folder:
        (folder / "mark").write_text(content)


def test_the_folder_is_there_only_when_the_block_is_done(tmp_path):
    path = tmp_path / "deep" / "data"
    with whole_folder(path, mark="mark") as folder:
        (folder / "mark").write_text("x")
        assert not path.exists() and folder.parent == path.parent
    assert (path / "mark").read_text() == "x" and names(path.parent) == ["data"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_block_leaves_nothing(tmp_path, error):
    with pytest.raises(error), whole_folder(tmp_path / "data", mark="mark"):
        raise error
    assert names(tmp_path) == []


def test_a_failed_overwrite_leaves_what_was_there(tmp_path):
    write(tmp_path / "data", "old")
    with pytest.raises(ValueError), whole_folder(tmp_path / "data", mark="mark", overwrite=True):
        raise ValueError
    assert (tmp_path / "data" / "mark").read_text() == "old" and names(tmp_path) == ["data"]


@pytest.mark.parametrize("swaps", [True, False])
def test_overwriting_replaces_the_whole_folder(tmp_path, monkeypatch, swaps):
    if not swaps:  # as on a network file system
        monkeypatch.setattr(data_folder, "exchanged", lambda one, other: False)
    write(tmp_path / "data", "old")
    (tmp_path / "data" / "more").touch()
    write(tmp_path / "data", "new", overwrite=True)
    assert (tmp_path / "data" / "mark").read_text() == "new" and names(tmp_path / "data") == ["mark"] and names(tmp_path) == ["data"]


def test_what_is_replaced_is_there_at_every_moment(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    if not data_folder.exchanged(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system cannot swap two names")
    write(tmp_path / "data", "0")
    done, seen = threading.Event(), []

    def look() -> None:
        while not done.is_set():
            seen.append((tmp_path / "data" / "mark").exists())

    with ThreadPoolExecutor() as pool:
        looking = pool.submit(look)
        for n in range(100):
            write(tmp_path / "data", str(n), overwrite=True)
        done.set()
        looking.result()
    assert len(seen) > 100 and all(seen)


def test_a_folder_that_is_gone_cannot_be_swapped(tmp_path):
    (tmp_path / "one").mkdir()
    with pytest.raises(FileNotFoundError, match="other"):
        data_folder.exchanged(tmp_path / "one", tmp_path / "other")


def test_an_empty_folder_may_be_there(tmp_path):
    (tmp_path / "data").mkdir()
    write(tmp_path / "data", "x")
    assert names(tmp_path / "data") == ["mark"]


def test_what_is_there_is_refused_unless_it_may_be_overwritten(tmp_path):
    path = tmp_path / "data"
    write(path, "old")
    with pytest.raises(ConfigError) as error:
        write(path, "new")
    assert str(error.value) == f"{path}: is there already; give another folder, or overwrite it with --overwrite (overwrite=True)"
    assert (path / "mark").read_text() == "old"


def test_a_folder_of_other_files_is_never_overwritten(tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ConfigError) as error:
        write(tmp_path, "new", overwrite=True)
    assert str(error.value) == f"{tmp_path}: holds other files and no mark; give a new folder"


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "data").touch()
    with pytest.raises(ConfigError, match=r"data: is a file; give a folder$"):
        write(tmp_path / "data", "new", overwrite=True)


def test_a_name_may_be_as_long_as_leaves_room_for_what_is_put_behind_it(tmp_path):
    write(tmp_path / ("x" * 230), "new")
    write(tmp_path / ("x" * 230), "newer", overwrite=True)
    with pytest.raises(ConfigError) as error:
        write(tmp_path / ("ü" * 120), "new")
    assert str(error.value) == f"{'ü' * 60}...: a name of 240 bytes, but at most 230 can be written to; give a shorter one"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError) as error:
        write(tmp_path / "file" / "data", "x")
    assert str(error.value) == f"{tmp_path / 'file'}: File exists; cannot write there"


def test_a_disk_that_refuses_is_reported_with_the_file(tmp_path):
    said = pytest.raises(StorageError, match=r"data.partial-\w+/there/is/none: No such file or directory$")
    with said, whole_folder(tmp_path / "data", mark="mark") as folder:
        (folder / "there" / "is" / "none").write_text("x")
    assert names(tmp_path) == []


KILLED = """
import sys, time, pathlib
from hexapla.data.folder import whole_folder
with whole_folder(pathlib.Path(sys.argv[1]), mark="mark") as folder:
    (folder / "mark").write_text("half")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_a_killed_process_leaves_no_folder_and_the_next_attempt_sweeps(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "data")], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        working = Path(process.stdout.readline().strip()).name
        write(tmp_path / "data", "mine")
        assert names(tmp_path) == ["data", working], "one that still works is left alone"
        process.send_signal(signal.SIGKILL)
    assert names(tmp_path) == ["data", working]
    write(tmp_path / "data", "again", overwrite=True)
    assert names(tmp_path) == ["data"] and (tmp_path / "data" / "mark").read_text() == "again"
