"""Runs of every format that was released still say what they said."""

import json
from pathlib import Path

import pytest

from hexapla.runs import FORMAT, Run
from hexapla.training.checkpoint import write_folder
from hexapla.training.manifest import WEIGHTS
from hexapla.workflow.translate import translate

HERE = Path(__file__).parent
FORMATS = sorted(int(folder.name) for folder in HERE.iterdir() if folder.name.isdecimal())


def test_there_is_a_run_of_each_format():
    assert list(range(1, FORMAT + 1)) == FORMATS


@pytest.mark.parametrize("number", FORMATS)
def test_a_run_of_an_older_release_gives_the_same_text_and_scores(number):
    run = Run.open(HERE / str(number))
    assert run.about["format"] == number
    rows = [json.loads(line) for line in (HERE / f"{number}.jsonl").read_text(encoding="ascii").splitlines()]
    assert len(rows) >= 50
    found = translate(run, [row["source"] for row in rows])
    assert [each.text for each in found] == [row["text"] for row in rows]
    assert [each.score for each in found] == pytest.approx([row["score"] for row in rows], abs=1e-4)


@pytest.mark.parametrize("number", FORMATS)
def test_what_was_loaded_is_saved_to_the_same_bytes(number, tmp_path):
    run = Run.open(HERE / str(number))
    write_folder(tmp_path / "again", {WEIGHTS: dict(run.model.named_parameters())}, {})
    assert (tmp_path / "again" / WEIGHTS).read_bytes() == (run.checkpoint_folder() / WEIGHTS).read_bytes()
