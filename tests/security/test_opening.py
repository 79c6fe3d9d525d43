"""Nothing that a run folder holds is run, whoever made it, and what is not as it was written is refused in one line."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hexapla.config.data import Bpe, Characters
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from small_runs import small_config

HERE = Path(__file__).parent
FEW, THOROUGH, SOAK = range(440, 480), range(1_000, 1_500), range(10_000, 20_000)
PARSED = (".safetensors", ".json", ".toml", ".model")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A run of two updates with two vocabularies, one of them sentencepiece's."""
    folder = tmp_path_factory.mktemp("good")
    words = ["abc", "fed", "a bad cab", "fade", "deaf bee", "cabbage", "feed a cafe", "decade", "facade", "bead"]
    (folder / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    data = prepare(folder / "pairs.tsv", into=folder / "data", subwords=Bpe(270), target_subwords=Characters(), joint=False)
    config = small_config(steps=2)
    model = replace(config.model, source_vocab=data.source_vocab, target_vocab=data.target_vocab, tie="decoder")
    train(data, replace(config, model=model), into=folder / "run")
    return folder / "run"


def opened(good, work, seeds, *kinds):
    """One line for each mutated run: what was done to it, what came of opening it, what the audit hook saw."""
    command = [sys.executable, HERE / "opening.py", good, work, str(seeds.start), str(seeds.stop), *kinds]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after {lines[-1:]}: {done.stderr[-3000:]}"
    assert len(lines) == len(seeds)
    assert done.stderr == "", "a library wrote of its own"
    return lines


def wrong(line):
    """What breaks the promise: an event, a stranger's byte in use unnoticed, memory, or a message that is not one line with a place.

    Only who puts the hashes right can have other weights or tokenizers loaded, or have a tokenizer fail later at its work.
    """
    complaints = [*line["seen"]]
    if line["outcome"] in ("other", "refused later") and not line["done"].endswith("put right"):
        complaints.append(line["outcome"])
    if line["outcome"].startswith("refused") and not (line["words"].isprintable() and re.match(r"/\S+/run\b\S*: ", line["words"])):
        complaints.append("its words")
    return complaints + ["memory"] * (line["memory"] > 0)


def check(lines):
    assert [(line, wrong(line)) for line in lines if wrong(line)] == []
    outcomes = [line["outcome"] for line in lines]
    assert outcomes.count("refused") > len(lines) / 2
    assert "same" in outcomes


def test_hostile_runs_run_nothing_and_are_refused_in_one_line(good, tmp_path):
    check(opened(good, tmp_path / "work", FEW))


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_five_hundred_hostile_runs_run_nothing(good, tmp_path):
    check(opened(good, tmp_path / "work", THOROUGH))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_ten_thousand_changes_of_what_is_parsed_are_refused(good, tmp_path):
    check(opened(good, tmp_path / "work", SOAK, *PARSED))


@pytest.mark.parametrize(
    ("code", "event"),
    [
        ("import pickle, os; pickle.loads(pickle.dumps(os.getcwd))", "pickle.find_class"),
        ("import os; os.system('true')", "os.system"),
        ("import subprocess; subprocess.run(['true'])", "subprocess.Popen"),
        ("import socket; socket.socket().close()", "socket.__new__"),
        ("open('/etc/passwd').close()", "open"),
        ("open('written', 'w').close()", "open"),
        ("import sys; sys.path.insert(0, '.'); import surprise", "exec"),
    ],
)
def test_the_watch_sees(tmp_path, code, event):
    """Else nothing that it does not see would mean anything."""
    (tmp_path / "surprise.py").write_text("")
    watched = (
        f"from pathlib import Path; from watch import Watch; w = Watch(); w.folder = Path.cwd()\n{code}\nw.folder = None; print(w.seen)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *(path for path in sys.path if path)])}
    done = subprocess.run([sys.executable, "-c", watched], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert f"{event} (" in done.stdout, done.stderr
