"""What all topics have in common."""

import ast
import importlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from computed import computed

import hexapla
from hexapla.errors import ConfigError
from hexapla.explanation.parts import Bars, Bilingual, Claim, Curves, HeatMap, in_language
from hexapla.explanation.topics import TITLES, TOPICS, compute, topic_of
from hexapla.workflow.explain import explain

PACKAGE = Path(hexapla.__file__).parent
ANYTHING = Bilingual("anything", "任何")
FAST = [topic for topic in TOPICS if topic != "complexity"]


def test_the_topics_are_those_that_were_promised():
    assert " ".join(TOPICS) == (
        "scaling masking positions heads gradient residual recurrence normalisation feedforward complexity schedule smoothing beam"
    )
    assert list(TITLES) == list(TOPICS)


@pytest.mark.parametrize("topic", FAST)
def test_every_claim_holds(topic):
    found = computed(topic)
    assert (found.topic, found.title) == (topic, TITLES[topic])
    assert [name for name, claim in found.claims.items() if not claim.holds] == []
    assert len(found.claims) >= 3


@pytest.mark.parametrize("topic", ["scaling", "heads", "normalisation"])
@pytest.mark.parametrize("seed", [0, 3, 11])
def test_what_is_drawn_matters_to_no_claim(topic, seed):
    assert all(claim.holds for claim in explain(topic, seed=seed).claims.values())


@pytest.mark.parametrize("topic", FAST)
def test_the_code_it_names_is_there(topic):
    for place in computed(topic).code:
        file, name = place.split(": ")
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("topic", FAST)
def test_tables_and_plots_are_whole(topic):
    found = computed(topic)
    assert found.plots
    for table in found.tables:
        assert {len(row) for row in table.rows} == {len(table.heads)}
    for plot in found.plots:
        match plot:
            case Curves():
                assert all(len(line.x) == len(line.y) > 1 and list(line.x) == sorted(line.x) for line in plot.lines)
            case Bars():
                assert len(plot.labels) == len(plot.values)
            case HeatMap():
                assert len(plot.values) == len(plot.rows)
                assert all(len(row) == len(plot.columns) and 0 <= min(row) <= max(row) <= 1 for row in plot.values)


def test_the_same_seed_gives_the_same_numbers_and_another_others():
    one, again, other = (explain("scaling", seed=seed).to_json() for seed in (5, 5, 6))
    assert one == again
    assert one != other


def test_the_global_generator_is_left_as_it_was():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    explain("scaling")
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("topic", FAST)
def test_json_holds_plain_finite_values(topic):
    written = computed(topic).to_json()
    back = json.loads(json.dumps(written, allow_nan=False))
    assert back["format"] == 1
    assert {name: claim["measured"] for name, claim in back["claims"].items()} == {
        name: claim.measured for name, claim in computed(topic).claims.items()
    }
    assert all(claim["holds"] for claim in back["claims"].values())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scailing", "explain scailing: no such topic; did you mean scaling? there are scaling, masking, "),
        ("BEAM", "did you mean beam? "),
        ("normalization", "did you mean normalisation? "),
        ("xyz", "explain xyz: no such topic; there are scaling, masking, "),
    ],
)
def test_an_unknown_topic_is_refused_with_the_nearest_and_the_list(name, words):
    with pytest.raises(ConfigError) as error:
        topic_of(name)
    assert words in str(error.value)
    assert str(error.value).endswith("schedule, smoothing, beam")


@pytest.mark.parametrize(
    ("relation", "measured", "holds"),
    [
        ("equals", 1.05, True),
        ("equals", 0.85, False),
        ("at_least", 1.0, True),
        ("at_least", 0.9, False),
        ("at_most", 1.0, True),
        ("at_most", 1.1, False),
    ],
)
def test_a_claim_holds_as_its_relation_says(relation, measured, holds):
    assert Claim(ANYTHING, measured, 1.0, relation, tolerance=0.1).holds is holds


def test_what_is_no_number_holds_no_claim():
    assert not any(Claim(ANYTHING, float("nan"), 1.0, relation, 10.0).holds for relation in ("equals", "at_least", "at_most"))


def test_words_are_said_in_the_language_asked_for():
    assert [in_language(Bilingual("dog", "狗"), language) for language in ("en", "zh")] == ["dog", "狗"]
    assert in_language("√d_k", "zh") == "√d_k"


def test_each_topic_is_computed_by_the_file_of_its_name(monkeypatch):
    for topic in TOPICS:
        module = importlib.import_module(f"hexapla.explanation.{topic}")
        monkeypatch.setattr(module, topic, lambda topic=topic: replace(computed("masking"), topic=topic))
        assert compute(topic).topic == topic
