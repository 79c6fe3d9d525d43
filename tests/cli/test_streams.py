"""stdin, stdout and stderr that are closed, full, abandoned, slow or not in UTF-8, and what a signal leaves on them (BAR C11, C12)."""

import errno
import fcntl
import io
import json
import os
import random
import re
import signal
import sys
import termios
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from command_child import SAID, Child, at, send
from hexapla.cli import console
from hexapla.data import shards
from hexapla.errors import StorageError
from hexapla.models.seq2seq import Seq2Seq
from hexapla.training.signals import ENDING
from hexapla.workflow import demo, translate
from hexapla.workflow.train import train
from small_runs import small_config, small_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Data, a run of two checkpoints, source text s, target text t."""
    folder = tmp_path_factory.mktemp("streams")
    data = small_data(folder)
    train(data, small_config(steps=2, checkpoint_every=1, keep_last=2), into=folder / "run")
    words = [line.split("\t") for line in (folder / "pairs.tsv").read_text().splitlines()]
    for name, side in (("s", 0), ("t", 1)):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in words))
    return folder


def commands(folder: Path, into: Path) -> dict[str, list[str]]:
    return {
        "check": ["check", f"{folder}/s", f"{folder}/t", "--json"],
        "prepare": ["prepare", f"{folder}/s", f"{folder}/t", "--into", f"{into}/data", "--subwords", "bpe:270", "--hold-out", "4"],
        "train": ["train", f"{folder}/data", "--into", f"{folder}/run"],
        "translate": ["translate", f"{folder}/run", f"{folder}/s", "--threads", "1"],
        "translate -o": ["translate", f"{folder}/run", f"{folder}/s", "-o", f"{into}/out", "--threads", "1"],
        "score": ["score", f"{folder}/run", f"{folder}/s", f"{folder}/t", "--threads", "1"],
        "evaluate": ["evaluate", f"{folder}/run", f"{folder}/s", f"{folder}/t", "--threads", "1"],
        "average": ["average", f"{folder}/run", "--last", "2"],
        "explain": ["explain", "masking"],
        "demo": ["demo", "--into", f"{into}/demo"],
    }


WORK = {  # a function that the command calls in the middle of its work
    "check": ("hexapla.workflow.check", "describe"),
    "prepare": (shards.ShardWriter, "write"),
    "translate": (Seq2Seq, "step"),
    "translate -o": (Seq2Seq, "step"),
    "score": (Seq2Seq, "forward"),
    "evaluate": ("hexapla.workflow.evaluate", "score_hypotheses"),
    "average": ("hexapla.training.checkpoint", "save_file"),
    "explain": ("hexapla.workflow.explain", "compute"),
    "demo": (demo, "corpus_files"),
}


@pytest.mark.parametrize("name", WORK)
def test_a_signal_ends_every_command_and_leaves_nothing_half_done(folder, tmp_path, name):
    number = ENDING[list(WORK).index(name) % len(ENDING)]
    holder, function = WORK[name]
    holder = import_module(holder) if isinstance(holder, str) else holder
    before = sorted(folder.rglob("*"))
    Child(commands(folder, tmp_path)[name], tmp_path / "errors", at(holder, function, 1, send(number, group=True))).ended_by(number)
    assert [file.name for file in tmp_path.iterdir()] == ["errors"]
    assert sorted(folder.rglob("*")) == before


def closed(*numbers: int) -> Callable[[], None]:
    """As a shell's <&-, >&- and 2>&- leave it to Python."""

    def arrange() -> None:
        for number in numbers:
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)

    return arrange


def leading_to(number: int) -> None:
    os.dup2(number, 1)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115


def full() -> None:
    leading_to(os.open("/dev/full", os.O_WRONLY))


def abandoned() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    leading_to(writing)


REFUSING = {
    "closed": (closed(1), 74, r"hexapla: standard output: closed; lead it to a file or a pipe\n"),
    "full": (full, 74, r"hexapla: standard output: No space left on device; make room, or write elsewhere\n"),
    "abandoned": (abandoned, 141, r""),
}
WRITING = ["check", "translate", "score", "evaluate", "average"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *(("translate", how) for how in REFUSING),
        *(pytest.param(name, how, marks=pytest.mark.thorough) for name in WRITING for how in REFUSING),
    ],
)
def test_what_stdout_does_not_take_is_one_line_and_an_exit_code(folder, tmp_path, name, how):
    arrange, code, words = REFUSING[how]
    child = Child(commands(folder, tmp_path)[name], tmp_path / "errors", arrange)
    ended, said = child.ended(), child.errors.read_text()
    assert ended == code, said
    assert re.fullmatch(r"(wrote .*\n)?" + words, said), said


@pytest.mark.parametrize("name", ["translate -o", "train", "prepare"])
def test_a_command_that_writes_nothing_to_them_needs_none_of_the_three(folder, tmp_path, name):
    child = Child(commands(folder, tmp_path)[name], tmp_path / "errors", closed(0, 1, 2))
    assert child.ended() == 0
    if name == "translate -o":
        assert (tmp_path / "out").read_text().count("\n") == (folder / "s").read_text().count("\n")


def test_a_closed_stdin_is_named_where_it_should_be_read(folder, tmp_path):
    child = Child(["translate", folder / "run"], tmp_path / "errors", closed(0))
    assert child.ended() == 65
    assert child.errors.read_text() == "hexapla: standard input: closed; give a file, or pipe text in\n"


def written(command: list[str], tmp_path: Path, arrange: Callable[[], object] = lambda: None) -> bytes:
    """What a command that succeeds writes to stdout."""
    with (tmp_path / "stdout").open("wb") as out:
        child = Child(command, tmp_path / "errors", arrange, out.fileno())
    assert child.ended() == 0, child.errors.read_text()
    return (tmp_path / "stdout").read_bytes()


def test_lines_written_before_the_disk_was_full_are_counted(monkeypatch):
    stream = SimpleNamespace(flush=lambda: None, buffer=io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(console.Written, "lines", 0)
    console.write_lines(["a", "b"])
    stream.buffer = Mock(spec=io.BytesIO, fileno=io.BytesIO().fileno, write=Mock(side_effect=OSError(errno.EFBIG, "File too large")))
    with pytest.raises(StorageError, match=r"^standard output: File too large after 2 lines; make room, or write elsewhere$"):
        console.write_lines(["c"])


def test_without_stderr_stdout_carries_data_and_nothing_else(folder, tmp_path):
    command = commands(folder, tmp_path)["translate"]
    assert written(command, tmp_path, closed(2)) == written(command, tmp_path)


def speaking(texts: list[str]) -> Callable[[], None]:
    """Arranges for a model that translates into these lines, whatever it is given."""

    def arrange() -> None:
        translate.translate_stream = lambda *given, **more: iter([translate.Translation(text) for text in texts])

    return arrange


def in_ascii() -> None:
    """As PYTHONIOENCODING=ascii has it."""
    sys.stdout = open(1, "w", encoding="ascii", closefd=False)  # noqa: SIM115


def test_data_are_utf_8_whatever_the_locale(folder, tmp_path):
    for name, word in (("é", "größer 漢字"), ("e", "taller")):
        (tmp_path / name).write_text("".join(f"{word} {i}\n" for i in range(20)))

    def arrange():
        in_ascii()
        speaking(["größer 漢字"])()

    assert written(["translate", str(folder / "run"), str(tmp_path / "é")], tmp_path, arrange).decode() == "größer 漢字\n"
    report = json.loads(written(["check", f"{tmp_path}/é", f"{tmp_path}/e", "--json"], tmp_path, in_ascii))
    assert report["source"]["name"].endswith("é")
    assert b"\\xe9" in written(["check", f"{tmp_path}/é", f"{tmp_path}/e"], tmp_path, in_ascii)


def lines_of_all_lengths(draw: random.Random, count: int) -> list[str]:
    """Most short, some longer than a pipe takes at once, a few longer than it holds."""
    return [f"{i} " + "é" * draw.choice([0, 7, 50, 50, 90, 3000, draw.choice([10, 100_000])]) for i in range(count)]


def interrupted(folder: Path, tmp_path: Path, draw: random.Random, number: int, *, stalls: bool) -> None:
    """A signal while thousands of lines go to a reader who takes his time, or no more; what he gets are whole lines, and their number."""
    texts = lines_of_all_lengths(draw, 3000)
    expected = "".join(f"{text}\n" for text in texts).encode()
    reading, writing = os.pipe()
    child = Child(["translate", folder / "run", folder / "s"], tmp_path / "errors", speaking(texts), writing)
    os.close(writing)
    found, some = b"", draw.randrange(1, len(expected) // 2)
    while len(found) < some:
        found += os.read(reading, draw.choice([100, 2**16]))
    os.kill(child.id, number)
    if stalls:
        time.sleep(draw.uniform(0, 0.3))
    while block := os.read(reading, draw.choice([100, 2**16])):
        found += block
    os.close(reading)
    child.ended_by(number)
    assert expected.startswith(found) and found.endswith(b"\n")
    lines = found.count(b"\n")
    assert child.errors.read_text() == f"hexapla: {SAID[signal.Signals(number)]}; {lines:,} lines are written\n"


def unread(pipe: int) -> int:
    """Bytes that wait in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_what_a_signal_leaves_in_a_pipe_are_whole_lines(folder, tmp_path):
    interrupted(folder, tmp_path, random.Random(1), signal.SIGINT, stalls=True)


@pytest.mark.thorough
def test_what_many_signals_leave_in_pipes_are_whole_lines(folder, tmp_path):
    draw = random.Random(1)
    for _ in range(60):
        interrupted(folder, tmp_path, draw, draw.choice(ENDING), stalls=draw.random() < 0.3)


def test_a_reader_who_reads_no_more_keeps_nobody_from_ending(folder, tmp_path):
    """As `less` does: the pipe is full, and stays so."""
    reading, writing = os.pipe()
    child = Child(["translate", folder / "run", folder / "s"], tmp_path / "errors", speaking(["a b c"] * 100_000), writing)
    os.close(writing)
    while unread(reading) < 2**15:
        time.sleep(0.01)
    os.kill(child.id, signal.SIGTERM)
    child.ended_by(signal.SIGTERM)
    found = os.read(reading, 2**20)
    os.close(reading)
    assert set(found.split(b"\n")) == {b"a b c", b""} and found.endswith(b"\n")
    assert child.errors.read_text() == f"hexapla: terminated; {len(found) // 6:,} lines are written\n"


def test_what_a_signal_leaves_in_a_file_are_whole_lines(folder, tmp_path):
    def arrange():
        speaking([f"{i} größer" for i in range(5000)])()
        at(console, "write_whole", 9, send(signal.SIGTERM))()

    with (tmp_path / "out").open("wb") as out:
        child = Child(["translate", folder / "run", folder / "s"], tmp_path / "errors", arrange, out.fileno())
    child.ended_by(signal.SIGTERM)
    lines = (tmp_path / "out").read_text().split("\n")
    assert lines == [*(f"{i} größer" for i in range(len(lines) - 1)), ""]
    assert child.errors.read_text() == f"hexapla: terminated; {len(lines) - 1:,} lines are written\n"
