"""The verb: a run and the file of its translations score the same, every file is counted first, and stdout holds only scores."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from evaluation.corpora import disturbed, sentences
from hexapla.cli.main import run as command_line
from hexapla.config.decoding import Beam
from hexapla.errors import ConfigError, DataError
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.workflow.evaluate import evaluate

SOURCE = [f"{i} Wörter" for i in range(20)]
REFERENCE = sentences(1, 20)
OUTPUT, OTHER = disturbed(REFERENCE, 2, share=0.1), disturbed(REFERENCE, 3, share=0.6)
FEW = Scoring(metrics=("bleu", "exact"))


@dataclass
class FakeRun:
    """A run that knows its translations by heart."""

    path: Path
    checkpoint: str = "best"
    config: Any = field(default_factory=lambda: SimpleNamespace(decoding=Beam(width=3, length_penalty=1.0)))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Sequence[str], Any]]:
    """Puts runs that need no model in the place of real ones; holds (checkpoint, lines, strategy) of each translation."""
    calls: list[tuple[str, Sequence[str], Any]] = []

    def translate(run: FakeRun, lines: Sequence[str], strategy: Any = None, *, batch_size: int):
        calls.append((run.checkpoint, lines, strategy))
        return [SimpleNamespace(text=text) for text in (OUTPUT if run.path.name == "run" else OTHER)]

    runs, translating = ModuleType("runs"), ModuleType("translate")
    runs.__dict__["Run"] = SimpleNamespace(open=FakeRun)
    translating.__dict__["translate"] = translate
    monkeypatch.setitem(sys.modules, "hexapla.runs", runs)
    monkeypatch.setitem(sys.modules, "hexapla.workflow.translate", translating)
    return calls


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"src": SOURCE, "ref": REFERENCE, "ref2": OTHER, "hyp": OUTPUT, "hyp2": OTHER, "short": OUTPUT[1:]}.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for run in ("run", "run2"):
        Path(run).mkdir()
        (Path(run) / "run.json").touch()


def test_a_run_and_the_file_of_its_translations_score_the_same(asked):
    by_run, by_file = evaluate("run", "src", "ref"), evaluate("hyp", None, "ref")
    assert by_run.scores == by_file.scores == score_hypotheses(OUTPUT, [REFERENCE]).scores
    assert (by_run.name, by_file.name) == ("run (best)", "hyp")
    assert asked == [("best", SOURCE, None)]


def test_an_opened_run_translates_by_the_strategy_given(asked):
    evaluate(FakeRun(Path("run"), "average"), "src", "ref", strategy=Beam(width=7), scoring=FEW)  # pyright: ignore[reportArgumentType]
    assert asked == [("average", SOURCE, Beam(width=7))]


def test_several_references_count_together():
    both = evaluate("hyp", None, ["ref", Path("ref2")], scoring=FEW)
    assert both.scores == score_hypotheses(OUTPUT, [REFERENCE, OTHER], FEW).scores
    assert "nrefs:2" in both.scores["bleu"].signature


@pytest.mark.parametrize("systems", [("run", "run2"), ("run", "hyp2"), ("hyp", "run2"), ("hyp", "hyp2")], ids=" against ".join)
def test_runs_and_files_can_stand_against_each_other(asked, systems):
    first, second = systems
    result = evaluate(first, "src", "ref", against=second, scoring=FEW, samples=50)
    assert result.against is not None
    assert result["bleu"] == score_hypotheses(OUTPUT, [REFERENCE], FEW)["bleu"]
    assert result.against["bleu"] == score_hypotheses(OTHER, [REFERENCE], FEW)["bleu"]
    assert result.comparisons["bleu"].p_value < 0.05
    assert len(asked) == sum(name.startswith("run") for name in systems)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hyp", None, "short"), "hyp: 20 lines, but short has 19"),
        (("hyp", None, ["ref", "short"]), "short: 19 lines, but ref has 20"),
        (("short", "src", "ref"), "short: 19 lines, but src has 20"),
        (("run", "short", "ref"), "ref: 20 lines, but short has 19"),
    ],
)
def test_files_of_different_length_are_refused_before_anything_is_translated(asked, arguments, message):
    with pytest.raises(DataError) as refusal:
        evaluate(*arguments)
    assert str(refusal.value) == f"{message}; line i of one must belong to line i of the other"
    assert asked == []


def test_the_second_systems_file_is_counted_before_the_first_system_translates(asked):
    with pytest.raises(DataError, match="short: 19 lines, but src has 20"):
        evaluate("run", "src", "ref", against="short")
    assert asked == []


def test_a_run_without_source_is_refused(asked):
    with pytest.raises(
        ConfigError, match="run2: a run translates, so it needs a source file; to score finished translations give their file"
    ):
        evaluate("hyp", None, "ref", against="run2")


def test_standard_input_can_be_one_file_only():
    with pytest.raises(ConfigError, match='"-" is given twice: standard input can be one file only; give files for the others'):
        evaluate("-", None, "-")


def test_the_command_writes_a_line_a_score(capfd):
    assert command_line(["evaluate", "--hypotheses", "hyp", "ref"]) == 0
    out, err = capfd.readouterr()
    evaluation = score_hypotheses(OUTPUT, [REFERENCE])
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[:3] for row in rows] == [[s.name, f"{s.value:.2f}", s.signature] for s in evaluation.scores.values()]
    assert err == ""


def test_the_command_translates_with_the_runs_own_strategy_or_as_told(asked, capfd):
    assert command_line(["evaluate", "run", "src", "ref", "ref2", "--metric", "bleu"]) == 0
    assert command_line(["evaluate", "run", "src", "ref", "--beam", "9", "--checkpoint", "step_7", "--metric", "bleu"]) == 0
    assert [(checkpoint, strategy) for checkpoint, _, strategy in asked] == [("best", None), ("step_7", Beam(width=9, length_penalty=1.0))]
    assert command_line(["evaluate", "run", "src", "ref", "--against", "run2", "--checkpoint", "latest", "--metric", "exact"]) == 0
    assert [(checkpoint, strategy) for checkpoint, _, strategy in asked[2:]] == [("latest", None)] * 2
    both, single, _ = capfd.readouterr().out.splitlines()
    assert "nrefs:2" in both and "nrefs:1" in single


def test_the_command_compares_and_says_on_stderr_that_20_lines_are_few(asked, capfd):
    arguments = ["evaluate", "--hypotheses", "hyp", "ref", "--source", "src", "--against", "run2", "--samples", "50", "--json"]
    assert command_line(arguments) == 0
    out, err = capfd.readouterr()
    result = json.loads(out)
    assert (result["system"], result["against"]["system"]) == ("hyp", "run2 (best)")
    assert result["comparisons"]["bleu"]["samples"] == 50
    assert err == "20 lines are too few for resampling to say much; p means something from 100 on\n"


def test_the_command_reads_hypotheses_from_standard_input(monkeypatch, capfd):
    text = "".join(f"{line}\n" for line in OUTPUT).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert command_line(["evaluate", "--hypotheses", "-", "ref", "--metric", "exact"]) == 0
    assert capfd.readouterr().out.startswith(f"exact match\t{score_hypotheses(OUTPUT, [REFERENCE])['exact']:.2f}\t")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["src", "ref"], 2, "src ref: 2 of RUN SOURCE REFERENCE; give all three, or --hypotheses FILE and references alone"),
        (["run", "src", "ref", "--source", "src"], 2, "--source src: belongs to --hypotheses; without it the source follows the run"),
        (["--hypotheses", "hyp", "ref", "--metric", "bleux"], 2, "metrics = bleux: no such metric; any of bleu, chrf"),
        (["--hypotheses", "hyp", "short"], 65, "hyp: 20 lines, but short has 19"),
    ],
)
def test_the_command_refuses_in_one_line(arguments, code, message, capfd):
    assert command_line(["evaluate", *arguments]) == code
    out, err = capfd.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"hexapla: {message}")


def test_a_mistyped_run_is_called_one(capfd):
    assert command_line(["evaluate", "rnu", "src", "ref"]) == 66
    assert capfd.readouterr().err.startswith("hexapla: rnu: not a run folder")
