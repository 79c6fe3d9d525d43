"""hexapla explain, as a shell sees it."""

import json
from dataclasses import replace

import pytest

from hexapla.cli.main import run
from hexapla.explanation.topics import TITLES, TOPICS
from hexapla.workflow import explain as workflow


def test_without_a_topic_all_are_listed(capsys):
    assert run(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[topic, TITLES[topic].en] for topic in TOPICS]
    assert run(["explain", "--lang", "zh", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["beam"] == {"en": TITLES["beam"].en, "zh": TITLES["beam"].zh}
    assert run(["explain", "--lang", "zh"]) == 0
    assert TITLES["beam"].zh in capsys.readouterr().out


def test_a_topic_is_shown_in_the_language_asked_for(capsys):
    assert run(["explain", "masking"]) == 0
    assert capsys.readouterr().out.startswith("How a causal mask hides the future\nsection 3.2.3")
    assert run(["explain", "masking", "--lang", "zh"]) == 0
    assert capsys.readouterr().out.startswith("因果掩码如何遮住未来\n论文 3.2.3")


def test_json_is_the_explanation(capsys):
    assert run(["explain", "masking", "--json", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == json.loads(json.dumps(workflow.explain("masking", seed=7).to_json()))
    assert err == ""


def test_a_seed_draws_other_numbers(capsys):
    written = []
    for seed in ("1", "1", "2"):
        assert run(["explain", "positions", "--json", "--seed", seed]) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1] != written[2]


def test_a_picture_is_written_and_told_of(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plots")
    assert run(["explain", "masking", "--png", f"{tmp_path}/m.png"]) == 0
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().err == f"wrote {tmp_path}/m.png\n"
    assert run(["explain", "masking", "--png", f"{tmp_path}/nowhere/m.png"]) == 74
    assert capsys.readouterr().err == f"hexapla: {tmp_path}/nowhere/m.png: No such file or directory\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "scailing"], "explain scailing: no such topic; did you mean scaling? there are scaling, masking, "),
        (["explain", "a\nb"], "explain a\\nb: no such topic; there are scaling"),
        (["explain", "masking", "--lang", "fr"], "explain: --lang fr: 'fr' is not one of 'en', 'zh'"),
        (["explain", "masking", "--seed", "-1"], "explain: --seed -1: must be at least 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments, message, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_a_claim_that_does_not_hold_ends_with_1(monkeypatch, capsys):
    said = workflow.explain("masking")
    wrong = replace(said, claims={"sums": replace(said.claims["sums"], measured=0.5)})
    monkeypatch.setattr(workflow, "explain", lambda topic, seed: wrong)
    assert run(["explain", "masking"]) == 1
    out, err = capsys.readouterr()
    assert "✗" in out
    assert err == "explain masking: not as expected: sums; please report it with the command and its output\n"
