"""From decoding options to a strategy and rules."""

from collections.abc import Callable
from typing import Any

import pytest

from hexapla.cli.decoding import chosen_rules, chosen_strategy
from hexapla.config.data import Characters
from hexapla.config.decoding import Beam, Rules, Sample, Strategy
from hexapla.data.tokenizer import Tokenizer, learn_tokenizer
from hexapla.errors import ConfigError

CONFIGURED = Beam(width=5, length_penalty=1.0)
NOTHING: dict[str, Any] = {
    "beam": None, "greedy": False, "sample": False, "penalty": None, "length_penalty": None,
    "temperature": None, "top_k": None, "top_p": None, "seed": None,
}  # fmt: skip
NO_RULES: dict[str, Any] = dict.fromkeys(("max_source", "suppress", "no_repeat", "min_length", "max_length", "max_extra"))


def chosen(**asked: Any) -> Callable[[Strategy], Strategy]:
    return chosen_strategy(**{**NOTHING, **asked})


def rules(configured: Rules, target: Tokenizer, **asked: Any) -> Rules:
    return chosen_rules(configured, target, **{**NO_RULES, **asked})


@pytest.mark.parametrize(
    ("asked", "strategy"),
    [
        ({}, CONFIGURED),
        ({"beam": 2}, Beam(width=2, length_penalty=1.0)),
        ({"penalty": "none"}, Beam(width=5, penalty="none", length_penalty=1.0)),
        ({"length_penalty": 0.0}, Beam(width=5, length_penalty=0.0)),
        ({"greedy": True}, Beam(width=1)),
        ({"sample": True}, Sample()),
        ({"sample": True, "temperature": 0.5, "top_k": 3, "top_p": 0.9, "seed": 0}, Sample(temperature=0.5, top_k=3, top_p=0.9, seed=0)),
    ],
    ids=str,
)
def test_options_change_what_the_run_is_configured_with(asked, strategy):
    assert chosen(**asked)(CONFIGURED) == strategy


def test_a_beam_asked_of_a_run_that_samples_is_the_default_beam():
    assert chosen(beam=2)(Sample()) == Beam(width=2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"beam": 4, "greedy": True}, "--beam, --greedy and --sample: give one of them"),
        ({"sample": True, "greedy": True}, "--beam, --greedy and --sample: give one of them"),
        ({"length_penalty": 1.0, "sample": True}, "--length-penalty 1.0: has no part in --sample; leave one of them out"),
        ({"penalty": "none", "greedy": True}, "--penalty none: has no part in --greedy; leave one of them out"),
        ({"temperature": 0.7}, "--temperature 0.7: changes how tokens are drawn, so it needs --sample"),
        ({"top_k": 5, "beam": 2}, "--top-k 5: changes how tokens are drawn, so it needs --sample"),
        ({"sample": True, "temperature": 0.0}, "temperature = 0.0: must be above 0"),
        ({"sample": True, "top_p": 1.5}, "top_p = 1.5: must be at most 1"),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_refused(asked, message):
    with pytest.raises(ConfigError) as caught:
        chosen(**asked)
    assert str(caught.value) == message


def test_rules_not_given_stay_as_configured():
    target = learn_tokenizer(Characters(), ["abc"])
    configured = Rules(max_extra=7, no_repeat=2, suppress=(5,))
    assert rules(configured, target) == configured
    expected = Rules(max_source=99, max_extra=7, no_repeat=0, min_length=3, suppress=(5, *target.encode("b")))
    assert rules(configured, target, max_source=99, min_length=3, no_repeat=0, suppress=["b"]) == expected


def test_a_piece_that_is_none_is_refused_with_those_near_it():
    target = learn_tokenizer(Characters(), ["abc"])
    with pytest.raises(ConfigError) as caught:
        rules(Rules(), target, suppress=["bb"])
    assert str(caught.value) == "--suppress bb: no piece of the target vocabulary; near it are b"
