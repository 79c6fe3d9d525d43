"""What a run that goes on does about each setting that was changed."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import get_type_hints

import pytest

from hexapla.config.changes import Difference, change_of, differences
from hexapla.config.decoding import Sample
from hexapla.config.edge import members
from hexapla.config.presets import tiny
from hexapla.config.run import RunConfig
from hexapla.config.setting import Change
from hexapla.config.training import AdamConfig, Cosine, TrainingConfig, ValidationConfig


def names(cls: type, path: str = "") -> Iterator[str]:
    """Every setting below a class, those of each member of a union too."""
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):
        below = members(hints[field.name])
        if not below:
            yield path + field.name
        for member in below:
            yield from names(member, f"{path}{field.name}.")


def test_every_setting_of_a_run_is_classed():
    """A new one without a class fails here, until somebody has thought about it."""
    assert [name for name in names(RunConfig) if change_of(name) is None] == []
    assert len(set(names(RunConfig))) > 60


WARNED = {"training.steps", "training.batch_tokens", "training.accumulate"}
FREE = ("training.validation.", "training.checkpoint_every", "training.keep_last", "training.log_every", "decoding.", "rules.")


def test_what_makes_an_update_is_refused_but_for_how_many_and_how_large():
    for name in names(RunConfig):
        wanted = Change.WARN if name in WARNED else Change.FREE if name.startswith(FREE) else Change.REFUSE
        assert (name, change_of(name)) == (name, wanted)


def test_a_setting_that_is_none_has_no_class():
    assert [change_of(name) for name in ("", "model.no", "no", "training.steps.no")] == [None] * 4
    assert Difference("model.no", 1, None).change is Change.REFUSE


BEFORE = tiny(50)


@pytest.mark.parametrize(
    ("training", "words"),
    [
        (TrainingConfig(), []),
        (TrainingConfig(clip=0.5), ["training.clip: unset -> 0.5"]),
        (
            TrainingConfig(schedule=Cosine(floor=0.1), validation=ValidationConfig(metric="bleu")),
            [
                "training.schedule.floor: unset -> 0.1",
                "training.schedule.kind: paper -> cosine",
                "training.schedule.peak: unset -> 0.001",
                "training.schedule.scale: 1.0 -> unset",
                "training.schedule.warmup: 4000 -> 1000",
                "training.validation.metric: loss -> bleu",
            ],
        ),
        (TrainingConfig(optimiser=AdamConfig(beta1=0.8)), ["training.optimiser.beta1: 0.9 -> 0.8"]),
    ],
)
def test_every_difference_is_told_by_name_with_both_values(training, words):
    old = replace(BEFORE, training=TrainingConfig())
    assert [str(each) for each in differences(old, replace(BEFORE, training=training))] == words


def test_lists_and_flags_are_shown_as_a_config_file_has_them():
    other = replace(BEFORE, decoding=Sample(), rules=replace(BEFORE.rules, suppress=(4, 5)), model=replace(BEFORE.model, output_bias=True))
    found = {each.name: each for each in differences(BEFORE, other)}
    assert str(found["rules.suppress"]) == "rules.suppress: [] -> [4, 5]"
    assert str(found["model.output_bias"]) == "model.output_bias: false -> true"
    assert {found[name].change for name in found if name.startswith("decoding.")} == {Change.FREE}
