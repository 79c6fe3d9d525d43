"""The commands on a model that has learned nothing: what they write, and where."""

import io
import json
import math
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from hexapla.cli.main import run
from hexapla.cli.score import as_object
from hexapla.workflow.score import Score

LINES = ["a b c", "", "d e f g", "  ", "h a"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Source text s, target text t, data, and a run of a few updates with two checkpoints."""
    folder = tmp_path_factory.mktemp("verbs")
    words = "abcdefgh"
    sources = [" ".join(words[(i * k) % 8] for k in range(1, 2 + i % 5)) for i in range(60)]
    (folder / "s").write_text("".join(f"{line}\n" for line in sources))
    (folder / "t").write_text("".join(f"{line[::-1].upper()}\n" for line in sources))
    assert run(["prepare", f"{folder}/s", f"{folder}/t", "--into", f"{folder}/data", "--subwords", "characters", "--hold-out", "4"]) == 0
    smallest = {
        "model.d_model": 8, "model.encoder.layers": 1, "model.decoder.layers": 1, "training.steps": 4, "training.log_every": 2,
        "training.validation.every": 2, "training.checkpoint_every": 2, "training.schedule.warmup": 1,
    }  # fmt: skip
    changes = [part for name, value in smallest.items() for part in ("--set", f"{name}={value}")]
    assert run(["train", f"{folder}/data", "--into", f"{folder}/run", "--preset", "tiny", "--threads", "1", *changes]) == 0
    (folder / "lines").write_text("\n".join(LINES))
    return folder


@pytest.fixture
def written(folder, capsys):
    """Run a command that succeeds; its lines on stdout."""

    def call(command: str, *arguments: str) -> list[str]:
        assert run([command, f"{folder}/run", *arguments]) == 0
        text = capsys.readouterr().out
        assert text.endswith("\n") or not text
        return text.split("\n")[:-1]

    return call


@pytest.mark.parametrize(
    "options", [[], ["--greedy"], ["--sample", "--temperature", "2"], ["--beam", "3", "--batch-size", "2"]], ids=" ".join
)
def test_translate_writes_a_line_for_a_line_and_a_blank_for_a_blank(options, folder, written):
    lines = written("translate", f"{folder}/lines", *options)
    assert len(lines) == len(LINES)
    assert (lines[1], lines[3]) == ("", "")


def test_translate_reads_several_files_one_after_the_other(folder, written):
    once = written("translate", f"{folder}/lines")
    assert written("translate", f"{folder}/lines", f"{folder}/lines") == once + once


def test_translate_in_small_chunks_writes_the_same(folder, written, monkeypatch):
    whole = written("translate", f"{folder}/s", "--json")
    monkeypatch.setattr("hexapla.cli.translate.BATCHES_AT_ONCE", 1)
    pieces = written("translate", f"{folder}/s", "--json", "--batch-size", "3")
    assert [json.loads(line)["text"] for line in pieces] == [json.loads(line)["text"] for line in whole]


def test_translate_as_json_tells_what_became_of_each_line(folder, written):
    rows = [json.loads(line) for line in written("translate", f"{folder}/lines", "--json", "--max-length", "3", "--min-length", "3")]
    assert [row["blank"] for row in rows] == [not line.strip() for line in LINES]
    for row in rows:
        assert row.keys() == {"text", "score", "log_prob", "length", "truncated", "cut", "left_out", "blank"}
        assert (row["score"] is None) == row["blank"]
        assert row["length"] <= 3 + 1  # the end token counts
        assert row["length"] == 0 if row["blank"] else row["log_prob"] < 0


def test_a_line_that_is_not_read_to_its_end_is_flagged_named_and_counted(folder, capsys):
    assert run(["translate", f"{folder}/run", f"{folder}/lines", "--json", "--max-source", "3", "--n-best", "2"]) == 0
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["cut"], row["left_out"]) for row in rows] == [(True, 2), (False, 0), (True, 4), (False, 0), (False, 0)]
    assert all(each["left_out"] == row["left_out"] for row in rows for each in row["alternatives"])
    assert err.splitlines()[:2] == [
        "line 1: too long, its last 2 tokens were not read (--max-source)",
        "line 3: too long, its last 4 tokens were not read (--max-source)",
    ]
    assert err.splitlines()[2].startswith("translated 5 lines, 2 of them blank; of 2 only the beginning was read (--max-source)")


def test_of_many_cut_lines_the_first_are_named_and_all_counted(folder, tmp_path, capsys):
    (tmp_path / "long").write_text("a b c\n" * 15)
    assert run(["translate", f"{folder}/run", f"{tmp_path}/long", "--max-source", "3", "--max-length", "1"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in err[:-1]] == [f"line {number}" for number in range(1, 11)]
    assert "translated 15 lines; of 15 only the beginning was read" in err[-1]


def test_n_best_numbers_the_lines_and_ranks_each(folder, written):
    rows = [line.split(" ||| ") for line in written("translate", f"{folder}/lines", "--n-best", "3", "--beam", "3")]
    assert [int(number) for number, *_ in rows] == [0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 4]
    scores = [float(score) for number, _, score in rows if number == "4"]
    assert scores == sorted(scores, reverse=True)
    objects = [json.loads(line) for line in written("translate", f"{folder}/lines", "--n-best", "3", "--beam", "3", "--json")]
    assert [len(each["alternatives"]) for each in objects] == [3, 0, 3, 0, 3]
    assert [each["alternatives"][0]["text"] for each in objects if not each["blank"]] == [text for _, text, score in rows if score][::3]


def test_scores_stand_before_the_text(folder, written):
    plain, scored = written("translate", f"{folder}/lines"), written("translate", f"{folder}/lines", "--scores")
    assert [line.split("\t", 1)[1] for line in scored] == plain
    assert [line.split("\t", 1)[0] == "" for line in scored] == [not line.strip() for line in LINES]


def test_rules_reach_the_search(folder, written):
    lines = written("translate", f"{folder}/lines", "--prefix", "CAB", "--suppress", "D", "--min-length", "8", "--no-repeat", "2")
    for line, source in zip(lines, LINES, strict=True):
        assert line.startswith("CAB") == bool(source.strip())
        assert "D" not in line
        pairs = list(pairwise(line))
        assert len(pairs) == len(set(pairs))


def test_output_to_a_file_gets_its_name_when_all_is_done(folder, written, tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert written("translate", f"{folder}/lines", "-o", str(out)) == []
    assert out.read_text().split("\n")[:-1] == written("translate", f"{folder}/lines")
    before = out.read_bytes()
    broken = tmp_path / "broken"
    broken.write_bytes(b"a b\n" * 40 + b"\xff\n")
    assert run(["translate", f"{folder}/run", str(broken), "-o", str(out), "--batch-size", "1"]) == 65
    assert out.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"out", "broken"}


def test_output_to_a_device_leaves_it_a_device(folder):
    assert run(["translate", f"{folder}/run", f"{folder}/lines", "-o", os.devnull]) == 0
    assert Path(os.devnull).is_char_device()


def test_output_into_a_folder_that_is_not_there_is_an_error_of_storage(folder, tmp_path, capsys):
    assert run(["translate", f"{folder}/run", f"{folder}/lines", "-o", f"{tmp_path}/no/out"]) == 74
    assert "no/out.unfinished: No such file or directory" in capsys.readouterr().err


def test_a_full_disk_is_an_error_of_storage(folder):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "hexapla.cli", "translate", f"{folder}/run", f"{folder}/lines"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 74
    assert done.stderr == "hexapla: standard output: No space left on device; make room, or write elsewhere\n"


def test_translate_reads_stdin_and_talks_on_stderr_only(folder, written):
    expected = written("translate", f"{folder}/lines", "--max-length", "1")
    command = [sys.executable, "-m", "hexapla.cli", "translate", f"{folder}/run", "--max-length", "1"]
    done = subprocess.run(command, input="\n".join(LINES).encode(), capture_output=True, timeout=60, env=os.environ | {"LC_ALL": "C"})
    assert done.stdout.decode().split("\n")[:-1] == expected
    cut = "3 reached the longest output allowed and are cut off (--max-extra, --max-length)"
    assert done.stderr.decode() == f"translated 5 lines, 2 of them blank; {cut}\n"


def test_score_writes_a_line_for_a_pair_and_the_corpus_on_stderr(folder, capsys):
    assert run(["score", f"{folder}/run", f"{folder}/s", f"{folder}/t"]) == 0
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert len(rows) == 60
    for log_prob, length, perplexity in rows:
        assert math.exp(-float(log_prob) / int(length)) == pytest.approx(float(perplexity), rel=1e-3)
    total, tokens = sum(float(row[0]) for row in rows), sum(int(row[1]) for row in rows)
    words = re.fullmatch(rf"60 pairs, {tokens:,} tokens: log-probability (\S+), perplexity (\S+)", err.strip())
    assert words
    assert [float(number) for number in words.groups()] == pytest.approx([total, math.exp(-total / tokens)], rel=1e-3)
    assert run(["score", f"{folder}/run", f"{folder}/s", f"{folder}/t", "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [f"{each['log_prob']:.4f}" for each in objects] == [row[0] for row in rows]


def test_score_refuses_files_that_do_not_match_before_it_writes(folder, capsys):
    assert run(["score", f"{folder}/run", f"{folder}/s", f"{folder}/lines"]) == 65
    out, err = capsys.readouterr()
    assert out == ""
    assert "lines: 5 lines, but" in err
    assert run(["score", f"{folder}/run", f"{folder}/s", f"{folder}/t", "--max-source", "1"]) == 65
    out, err = capsys.readouterr()
    assert (out, err.count("tokens, but at most 1 of a source are scored")) == ("", 1)


def test_score_of_standard_input_writes_as_it_goes(folder, monkeypatch, capsys):
    """A stream cannot be read twice: what does not match is told at its end."""
    monkeypatch.setattr("hexapla.workflow.score.CHUNK", 10)
    source = Path(f"{folder}/s").read_bytes()
    for text, code, written in ((source, 0, 60), (source + b"one more\n", 65, 60), (b"".join(source.splitlines(True)[:33]), 65, 30)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        assert run(["score", f"{folder}/run", "-", f"{folder}/t"]) == code
        out, err = capsys.readouterr()
        assert out.count("\n") == written
        assert code == 0 or f"t: 60 lines, but standard input has {len(text.splitlines())}; line i of one must" in err


def test_a_perplexity_beyond_all_is_null_in_json():
    assert as_object(Score(log_prob=-1e6, length=2)) == {"log_prob": -1e6, "length": 2, "perplexity": None}


def test_average_says_where_and_translate_uses_it(folder, written, capsys):
    assert written("average", "--last", "2") == [f"{folder}/run/checkpoints/average"]
    assert len(written("translate", f"{folder}/lines", "--checkpoint", "average")) == len(LINES)


def test_train_goes_on_with_the_run_s_own_settings(folder, capsys):
    assert run(["train", f"{folder}/data", "--into", f"{folder}/run"]) == 0
    assert "going on from step 4" in capsys.readouterr().err
    assert run(["train", f"{folder}/data", "--into", f"{folder}/run", "--set", "model.dropout=0.5"]) == 2
    assert "model.dropout: 0.3 -> 0.5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.stepz=3", "training.stepz: no such setting"),
        ("training.steps=0", "training.steps = 0: must be at least 1"),
        ("training.steps=many", 'training.steps = "many": must be an integer'),
        ("training.steps", "--set training.steps: must read name=value"),
        ("model.encoder.attention.heads=3", "model.encoder.attention.heads = 3: must divide d_model = 128; try"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_leaves_nothing(change, message, folder, tmp_path, capsys):
    assert run(["train", f"{folder}/data", "--into", f"{tmp_path}/new", "--preset", "tiny", "--set", change]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_prepare_sums_up_where_every_pair_went(tmp_path, capsys):
    (tmp_path / "s").write_text("a b\n\nc d e\na b\n")
    (tmp_path / "t").write_text("x y\nz\nx y z\nx y\n")
    options = ["--subwords", "words", "--target-subwords", "characters", "--duplicates", "drop", "--hold-out", "0", "--max-dropped", "1"]
    assert run(["prepare", f"{tmp_path}/s", f"{tmp_path}/t", "--into", f"{tmp_path}/data", *options]) == 0
    out, err = capsys.readouterr()
    rows = {line.split("  ")[0]: line.split() for line in err.splitlines()}
    assert out == ""
    assert rows["read"][1] == "4"
    assert rows["dropped"][1:6] == ["2", "empty", "1,", "duplicate", "1;"]
    assert rows["train"][1] == "2"
    assert rows["source vocabulary"][2:] == ["9", "words"]
    assert rows["target vocabulary"][2:] == ["8", "characters"]


def test_prepare_takes_one_dev_set(tmp_path, capsys):
    assert run(["prepare", "s", "t", "--into", f"{tmp_path}/data", "--dev", "a", "b", "--dev-tsv", "c"]) == 2
    assert capsys.readouterr().err == "hexapla: --dev and --dev-tsv: give one of them\n"
