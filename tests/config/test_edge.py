"""Where text becomes configuration: what is refused, and in which words."""

from typing import Any, get_type_hints

import pytest

from hexapla.config.data import PrepareConfig
from hexapla.config.decoding import Beam, Sample
from hexapla.config.edge import allowed, checked, from_mapping, settings, to_mapping
from hexapla.config.model import Learned, Seq2SeqConfig
from hexapla.config.presets import PRESETS
from hexapla.config.run import RunConfig
from hexapla.config.training import Constant, Cosine, InverseSqrt, Paper, TrainingConfig
from hexapla.errors import ConfigError


def changed(path, value):
    """A run that can be, but for the setting at `path`."""
    values: dict[str, Any] = {"model": {"source_vocab": 50, "target_vocab": 50}}
    table = values
    *tables, last = path.split(".")
    for name in tables:
        table = table.setdefault(name, {})
    table[last] = value
    return values


def refused(values, kind: Any = RunConfig, where=""):
    with pytest.raises(ConfigError) as caught:
        from_mapping(kind, values, where=where)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("training.steps", "many", 'training.steps = "many": must be an integer'),
        ("training.steps", "3", 'training.steps = "3": must be an integer'),
        ("training.steps", 2.5, "training.steps = 2.5: must be an integer"),
        ("training.steps", 2.0, "training.steps = 2.0: must be an integer"),
        ("training.steps", True, "training.steps = true: must be an integer"),
        ("training.steps", [], "training.steps = []: must be an integer"),
        ("training.steps", None, "training.steps = null: must be an integer"),
        ("training.label_smoothing", "0.1", 'training.label_smoothing = "0.1": must be a number'),
        ("training.label_smoothing", False, "training.label_smoothing = false: must be a number"),
        ("model.output_bias", 1, "model.output_bias = 1: must be true or false"),
        ("model.output_bias", "yes", 'model.output_bias = "yes": must be true or false'),
        ("model.encoder", 6, "model.encoder = 6: must be a table"),
        ("training", "fast", 'training = "fast": must be a table'),
        ("training.schedule", "paper", 'training.schedule = "paper": must be a table'),
        ("rules.suppress", 7, "rules.suppress = 7: must be a list"),
        ("rules.suppress", [7, "x"], 'rules.suppress[1] = "x": must be an integer'),
        ("rules.suppress", [-7], "rules.suppress[0] = -7: must be at least 0"),
    ],
)
def test_a_value_of_another_type_is_refused(path, value, words):
    assert refused(changed(path, value)) == words


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("training.steps", 0, "training.steps = 0: must be at least 1"),
        ("training.seed", -1, "training.seed = -1: must be at least 0"),
        ("training.clip", 0.0, "training.clip = 0.0: must be above 0"),
        ("training.label_smoothing", 1.0, "training.label_smoothing = 1.0: must be below 1"),
        ("training.label_smoothing", -0.1, "training.label_smoothing = -0.1: must be at least 0"),
        ("training.clip", float("nan"), "training.clip = NaN: must be a finite number"),
        ("training.clip", float("inf"), "training.clip = Infinity: must be a finite number"),
        ("model.dropout", float("nan"), "model.dropout = NaN: must be a finite number"),
        ("decoding", {"kind": "sample", "top_p": 1.5}, "decoding.top_p = 1.5: must be at most 1"),
        ("decoding", {"kind": "sample", "top_p": float("nan")}, "decoding.top_p = NaN: must be a finite number"),
        ("decoding", {"kind": "beam", "length_penalty": float("inf")}, "decoding.length_penalty = Infinity: must be a finite number"),
        ("training.optimiser.epsilon", 0, "training.optimiser.epsilon = 0: must be at least 1e-30"),
        ("model.positions", {"kind": "learned", "length": 0}, "model.positions.length = 0: must be at least 1"),
    ],
)
def test_a_value_out_of_range_is_refused(path, value, words):
    assert refused(changed(path, value)) == words


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("model.encoder.norm", "batch", 'model.encoder.norm = "batch": there is layer, rms'),
        ("training.precision", "fp16", 'training.precision = "fp16": there is auto, fp32, bf16'),
        ("training.precision", "\udc80", 'training.precision = "?": there is auto, fp32, bf16'),
        ("model.family", "decoder", 'model.family = "decoder": there is seq2seq'),
        ("training.schedule", {"kind": "foo"}, 'training.schedule.kind = "foo": there is paper, inverse_sqrt, cosine, constant'),
        ("training.schedule", {"kind": 3}, "training.schedule.kind = 3: there is paper, inverse_sqrt, cosine, constant"),
        ("training.schedule", {"peak": 0.1}, "training.schedule.kind: is missing; there is paper, inverse_sqrt, cosine, constant"),
        ("decoding", {"kind": "greedy"}, 'decoding.kind = "greedy": there is beam, sample'),
    ],
)
def test_what_is_none_of_several_is_refused_with_them_all(path, value, words):
    assert refused(changed(path, value)) == words


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("training.stepz", "training.stepz: no such setting; did you mean training.steps?"),
        ("trainig", "trainig: no such setting; did you mean training?"),
        ("model.encoder.attention.head", "model.encoder.attention.head: no such setting; did you mean model.encoder.attention.heads?"),
        ("model.layers", "model.layers: no such setting; did you mean model.encoder.layers or model.decoder.layers?"),
        ("warp", "warp: no such setting; see docs/config.md for those there are"),
    ],
)
def test_an_unknown_setting_is_refused_with_what_may_have_been_meant(path, words):
    assert refused(changed(path, 1)) == words


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (
            "training.schedule",
            {"kind": "cosine", "peek": 1.0},
            "training.schedule.peek: no such setting; did you mean training.schedule.peak?",
        ),
        (
            "training.schedule",
            {"kind": "paper", "peak": 1.0},
            "training.schedule.peak: no such setting; it needs training.schedule.kind = inverse_sqrt or cosine or constant",
        ),
        ("decoding", {"kind": "beam", "temperature": 0.7}, "decoding.temperature: no such setting; it needs decoding.kind = sample"),
        (
            "model.positions",
            {"kind": "sinusoidal", "length": 9},
            "model.positions.length: no such setting; it needs model.positions.kind = learned",
        ),
    ],
)
def test_a_setting_of_another_kind_is_refused_with_the_kind_it_needs(path, value, words):
    assert refused(changed(path, value)) == words


def test_a_missing_setting_is_named():
    assert refused({"model": {"source_vocab": 50}}) == "model.target_vocab: is missing; every configuration must give it"
    assert refused({}) == "model: is missing; every configuration must give it"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"d_model": 128, "encoder": {"attention": {"heads": 3}}},
            "model.encoder.attention.heads = 3: must divide d_model = 128; try 2, or set d_k and d_v",
        ),
        (
            {"d_model": 129, "decoder": {"attention": {"heads": 40}}, "encoder": {"attention": {"heads": 3}}},
            "model.decoder.attention.heads = 40: must divide d_model = 129; try 43, or set d_k and d_v",
        ),
        ({"encoder": {"attention": {"kv_heads": 3}}}, "model.encoder.attention.kv_heads = 3: must divide heads = 8"),
        ({"encoder": {"attention": {"kv_heads": 16}}}, "model.encoder.attention.kv_heads = 16: must divide heads = 8"),
        ({"specials": {"eos": 50}}, "model.specials = (0, 1, 2, 50): must be four different ids below 50"),
        ({"specials": {"eos": 2}}, "model.specials = (0, 1, 2, 2): must be four different ids below 50"),
        ({"target_vocab": 3, "tie": "decoder"}, "model.specials = (0, 1, 2, 3): must be four different ids below 3"),
        (
            {"target_vocab": 60},
            "model.tie = all: needs one vocabulary, but source_vocab = 50 and target_vocab = 60; "
            "set model.tie = decoder, or prepare the data with a joint vocabulary",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes, words):
    assert refused({"model": {"source_vocab": 50, "target_vocab": 50} | changes}) == words


def test_heads_that_do_not_divide_d_model_may_have_widths_of_their_own():
    model = {"source_vocab": 50, "target_vocab": 50, "d_model": 10}
    stack = {"attention": {"heads": 3, "d_k": 4, "d_v": 5}}
    assert from_mapping(Seq2SeqConfig, model | {"encoder": stack, "decoder": stack}).encoder.attention.d_k == 4
    half = {"attention": {"heads": 3, "d_k": 4}}
    assert "must divide d_model = 10" in refused(model | {"encoder": half, "decoder": half}, Seq2SeqConfig)


def test_the_place_comes_first():
    assert refused(changed("training.steps", 0), where="my.toml") == "my.toml: training.steps = 0: must be at least 1"


def test_paths_name_settings_and_not_the_kinds_in_unions():
    assert refused({"source": {"kind": "bpe", "size": 0}}, PrepareConfig) == "source.size = 0: must be at least 1"
    assert refused({"target": {"kind": "words", "size": 0}}, PrepareConfig) == "target.size = 0: must be at least 1"
    assert refused({"temperature": 0}, Sample) == "temperature = 0: must be above 0"


def test_an_integer_may_stand_for_a_number_and_a_list_for_a_tuple():
    run = from_mapping(RunConfig, changed("rules.suppress", [4, 5]) | {"training": {"clip": 1}})
    assert (run.rules.suppress, run.training.clip) == ((4, 5), 1.0)
    assert isinstance(run.training.clip, float)


RUNS = {
    **{name: preset(8000, None) for name, preset in PRESETS.items()},
    "two vocabularies": PRESETS["tiny"](8000, 6000),
    "cosine": RunConfig(model=PRESETS["tiny"](50, None).model, training=TrainingConfig(schedule=Cosine(floor=1e-5), clip=1.0)),
    "constant": RunConfig(model=PRESETS["tiny"](50, None).model, training=TrainingConfig(schedule=Constant()), decoding=Sample(top_k=3)),
    "learned": RunConfig(model=Seq2SeqConfig(source_vocab=9, target_vocab=9, positions=Learned(length=7))),
}


@pytest.mark.parametrize("name", RUNS)
def test_plain_values_there_and_back_are_the_same_run(name):
    run = RUNS[name]
    assert from_mapping(RunConfig, to_mapping(run)) == run
    assert checked(run) == run


def test_unset_settings_are_left_out_of_plain_values():
    values = to_mapping(RUNS["tiny"])
    assert "clip" not in values["training"]
    assert "kv_heads" not in values["model"]["encoder"]["attention"]
    assert values["training"]["schedule"] == {"kind": "inverse_sqrt", "peak": 5e-3, "warmup": 2000}


def test_a_configuration_made_in_python_is_checked_as_a_file_is():
    with pytest.raises(ConfigError, match=r"^width = 0: must be at least 1$"):
        checked(Beam(width=0))
    with pytest.raises(ConfigError, match=r"^training\.schedule\.warmup = 0: must be at least 1$"):
        checked(RunConfig(model=RUNS["tiny"].model, training=TrainingConfig(schedule=Paper(warmup=0))))


@pytest.mark.parametrize("schedule", [Paper, InverseSqrt, Cosine, Constant])
def test_a_union_is_told_apart_by_its_kind(schedule):
    assert from_mapping(RunConfig, changed("training.schedule", {"kind": schedule.kind})).training.schedule == schedule()


def test_every_setting_is_refused_in_words_of_ours():
    """pydantic's sentences all say "should"; whatever stands in a setting's place, none of them gets through."""
    refusals = 0
    for path, *_ in settings(RunConfig):
        for value in ({"a": 1}, "x", float("nan"), -1e9, []):
            try:
                from_mapping(RunConfig, changed(path, value))
            except ConfigError as error:
                refusals += 1
                assert "should" not in str(error)
    assert refusals > 4 * 50


def test_a_complaint_without_words_of_ours_keeps_pydantic_s():
    assert allowed({"type": "date_type", "msg": "Input should be a valid date"}) == "input should be a valid date"


def test_settings_lists_dotted_names_with_defaults():
    found = {name: default for name, _, default in settings(RunConfig)}
    assert found["model.encoder.attention.heads"] == 8
    assert found["training.optimiser.beta2"] == 0.98
    assert set(get_type_hints(TrainingConfig)) <= {name.split(".")[1] for name in found if name.startswith("training.")}
