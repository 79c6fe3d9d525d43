"""However long a line or a file is, memory is not: measured on commands that run by themselves."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

MEBIBYTE = 2**20
MEASURE = """
import resource, sys
from contextlib import suppress
from hexapla.cli.main import run
for warm in ({warm}):  # what a command imports is no part of what a line takes
    with suppress(SystemExit):
        run(warm)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
code = run(sys.argv[1:])
print(code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def measured(arguments: list[str], *, warm: list[list[str]], stdin: Path | None = None) -> tuple[int, int, str]:
    """Exit code, growth of the resident set in MiB, and stderr's last line."""
    command = [sys.executable, "-c", MEASURE.format(warm=", ".join(map(repr, warm)) + ","), *arguments]
    with (stdin or Path(os.devnull)).open("rb") as given:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=500, check=True)
    code, growth = done.stdout.split("\n")[-2].split()
    return int(code), int(growth), done.stderr.rstrip("\n").split("\n")[-1]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """A line of 200 MB, plain and packed; a run; and small files beside them."""
    from hexapla.workflow.train import train
    from small_runs import small_config, small_data

    folder = tmp_path_factory.mktemp("long")
    with (folder / "long").open("wb") as plain, gzip.GzipFile(folder / "long.gz", "wb", 1) as packed:
        for part in (b"first\n", *[b"x" * MEBIBYTE] * 200, b"\nlast\n"):
            plain.write(part)
            packed.write(part)
    (folder / "three").write_text("a\nb\nc\n")
    (folder / "three.tsv").write_text("a\tb\n" * 3)
    data = small_data(folder / "small")
    train(data, small_config(data.vocab_size, steps=1), into=folder / "run")
    return folder


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["long", "long.gz", "-"])
def test_a_line_of_200_mb_is_an_error_of_its_place_that_takes_no_memory(files, name, monkeypatch):
    monkeypatch.chdir(files)
    stdin = files / "long" if name == "-" else None
    commands = [
        ["check", name, "three"],
        ["check", "three", name],
        ["check", "three.tsv", "--test", "three", name],
        ["prepare", name, "three", "--into", "data", "--overwrite", "--subwords", "words"],
        ["prepare", "three.tsv", "--into", "data", "--overwrite", "--subwords", "words", "--dev", name, "three"],
        ["evaluate", "--hypotheses", name, "three"],
        ["evaluate", "--hypotheses", "three", "three", "--source", name],
        ["translate", "run", name, "-o", "out"],
        ["score", "run", name, "three"],
    ]
    shown = "standard input" if name == "-" else name
    for command in commands:
        small = [part if part != name else "three" for part in command]
        code, growth, said = measured(command, warm=[small], stdin=stdin)
        assert (code, said.startswith(f"hexapla: {shown}:2: a line of more than 1,048,576 bytes")) == (65, True), (command, said)
        assert growth < 64, command


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_million_short_lines_take_no_more_than_their_numbers(tmp_path, monkeypatch):
    """docs/check.md and docs/prepare.md say how much; a corpus held as Python strings would take several times that."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("few.tsv", 1_000), ("many.tsv", 1_000_000)):
        with Path(name).open("w") as file:
            file.writelines(f"ein Satz {i % 997}\ta sentence {i % 997}\n" for i in range(lines))
    warm = [["check", "few.tsv"], ["prepare", "few.tsv", "--into", "few", "--subwords", "words"]]
    code, growth, _ = measured(["prepare", "many.tsv", "--into", "many", "--subwords", "words"], warm=warm)
    assert (code, growth < 200) == (0, True), growth
    code, growth, _ = measured(["check", "many.tsv"], warm=warm)
    assert (code, growth < 600) == (0, True), growth


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_scoring_many_lines_takes_no_more_than_few(files, monkeypatch):
    """240,000 pairs held as Python strings, ids and scores raised the peak by 22 MiB beyond what 3,000 take."""
    monkeypatch.chdir(files)
    for name, lines in (("few", 3_000), ("many", 240_000)):
        Path(name).write_text("abc\ndefa\nb\n" * (lines // 3))
    code, growth, said = measured(["score", "run", "many", "many"], warm=[["score", "run", "few", "few"]])
    assert (code, growth < 10, said.startswith("240,000 pairs")) == (0, True, True), (growth, said)


READ = """
import resource, sys
from hexapla.data.corpus import read_pairs
for number, pair in enumerate(read_pairs(*sys.argv[1:]), 1):
    if number in (1_000_000, 10_000_000):
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_ten_million_lines_are_read_in_flat_memory(tmp_path, suffix):
    files = [str(tmp_path / f"{name}{suffix}") for name in "st"]
    for file in files:
        with gzip.GzipFile(file, "wb", 1) if suffix else Path(file).open("wb") as lines:
            for start in range(0, 10_000_000, 10_000):
                lines.write(b"".join(b"line %d of many\n" % i for i in range(start, start + 10_000)))
    done = subprocess.run([sys.executable, "-c", READ, *files], capture_output=True, text=True, check=True)
    tenth, whole = map(int, done.stdout.split())
    assert whole < 1.05 * tenth
