"""state.json of a checkpoint, before training goes on from it."""

from dataclasses import asdict

import pytest

from hexapla.errors import CheckpointError
from hexapla.training.hooks import Best
from hexapla.training.state import refuse_no_state
from hexapla.training.trainer import Position

WHOLE = {
    "position": asdict(Position(step=3)),
    "best": asdict(Best(value=0.5)),
    "window": {"loss": 0.5},
    "steps": 9,
    "threads": 1,
    "torch": "2",
}


def test_what_training_writes_is_a_state(tmp_path):
    refuse_no_state(tmp_path, WHOLE)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"position": {}}, "position.step: is missing; every configuration must give it"),
        ({"position": {"step": "3"}}, 'position.step = "3": must be an integer'),
        ({"position": {"step": -1}}, "position.step = -1: must be at least 0"),
        ({"position": {"step": True}}, "position.step = true: must be an integer"),
        ({"position": {"step": 3, "left_out": 4}}, "position.left_out = 4: must be at most position.step = 3"),
        ({"position": [3]}, "position = [3]: must be a table"),
        ({"best": {"step": 1, "value": "low"}}, 'best.value = "low": must be a number'),
        ({"window": {"loss": None}}, "window.loss = null: must be a number"),
        ({"threads": 0}, "threads = 0: must be at least 1"),
        ({"run_this": "os.system"}, "run_this: no such setting; see docs/config.md for those there are"),
    ],
)
def test_a_state_that_cannot_be_is_refused_by_name(tmp_path, changes, words):
    with pytest.raises(CheckpointError) as caught:
        refuse_no_state(tmp_path / "state.json", WHOLE | changes)
    assert str(caught.value) == f"{tmp_path}/state.json: {words}"
