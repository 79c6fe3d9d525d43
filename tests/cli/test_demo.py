"""What the demo says, of a model that need not be trained for it."""

from types import SimpleNamespace

from hexapla.cli.demo import advice, converse, shown
from hexapla.evaluation.scoring import score_hypotheses
from hexapla.workflow.demo import Demo
from hexapla.workflow.translate import Translation

RUN = SimpleNamespace(path="demo/en-de/run")


def made() -> Demo:
    evaluation = score_hypotheses(["Ja.", "Nein."], [["Ja.", "Nie."]], name="run")
    pairs = [("Yes.", "Ja.", "Ja."), ("Never.", "Nein.", "Nie.")]
    return Demo(run=RUN, evaluation=evaluation, shown=pairs, examples=[("Thanks.", "Danke.")])  # type: ignore[arg-type]  # only its path is read


def test_scores_come_first_and_the_reference_where_the_model_differs():
    lines = list(shown(made(), "en", "de"))
    assert lines[0].startswith("\n2 held-out sentences, never seen in training: BLEU")
    assert lines[1:] == ["en  Yes.", "de  Ja.", "", "en  Never.", "de  Nein.", "    expected: Nie.", "", "en  Thanks.", "de  Danke.", ""]


def test_a_conversation_ends_at_an_empty_line_or_the_end_of_input(monkeypatch, capsys):
    monkeypatch.setattr("hexapla.workflow.translate.translate", lambda run, lines: [Translation(line.upper()) for line in lines])
    for end in ("", None):
        typed = iter(["yes", end])

        def answer(prompt: str, typed=typed) -> str:
            text = next(typed)
            if text is None:
                raise EOFError
            return text

        monkeypatch.setattr("builtins.input", answer)
        converse(RUN, "en", "de")  # type: ignore[arg-type]
        assert capsys.readouterr().out == "de> YES\n"


def test_advice_names_the_files_by_language():
    assert "  hexapla prepare yours.en yours.zh --into data/yours" in list(advice(RUN, "en", "zh"))  # type: ignore[arg-type]
