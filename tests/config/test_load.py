"""config.toml: merged, changed from the command line, read and written."""

import pytest

from hexapla.config.load import merge, parse_change, read_run_config, read_toml, run_config, write_toml
from hexapla.config.presets import PRESETS, small, tiny
from hexapla.config.training import Cosine, InverseSqrt
from hexapla.errors import ConfigError


@pytest.fixture
def toml(tmp_path):
    def write(text):
        file = tmp_path / "my.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


def wanted(*changes, file=None, preset=None, joint=True):
    return run_config(50, 50 if joint else 60, joint=joint, preset=preset, file=file, changes=changes)


def refused(call, *arguments, **options):
    with pytest.raises(ConfigError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_alone_is_itself(name):
    assert wanted(preset=name) == PRESETS[name](50, None)
    assert wanted(preset=name, joint=False) == PRESETS[name](50, 60)


def test_the_file_wins_over_the_preset_and_changes_over_both(toml):
    assert wanted() == small(50)
    file = toml('preset = "tiny"\n[training]\nsteps = 5\nseed = 7\n[model.encoder]\nlayers = 1\n')
    run = wanted("training.steps=6", "training.steps=8", "model.decoder.layers=2", file=file)
    assert (run.training.steps, run.training.seed) == (8, 7)
    assert (run.model.encoder.layers, run.model.decoder.layers) == (1, 2)
    assert run.model.d_model == tiny(50).model.d_model, "the file names its preset"
    assert wanted(file=file, preset="small").model.d_model == small(50).model.d_model, "an argument wins over the file"


def test_a_table_of_another_kind_replaces_the_old_one_whole(toml):
    assert wanted("training.schedule.kind=cosine", preset="tiny").training.schedule == Cosine()
    assert wanted("training.schedule={kind='cosine', warmup=3}", preset="tiny").training.schedule == Cosine(warmup=3)
    same = wanted("training.schedule.kind=inverse_sqrt", "training.schedule.warmup=3", preset="tiny").training.schedule
    assert same == InverseSqrt(peak=5e-3, warmup=3)
    file = toml("[training.schedule]\nkind = 'cosine'\nfloor = 0.1\n")
    assert wanted("training.schedule.warmup=3", file=file).training.schedule == Cosine(floor=0.1, warmup=3)


def test_merging_leaves_what_was_merged_as_it_was():
    file = {"a": {"b": {"c": 1}}}
    whole: dict = {}
    merge(whole, file)
    merge(whole, {"a": {"b": {"c": 2, "d": [3]}}})
    assert (whole, file) == ({"a": {"b": {"c": 2, "d": [3]}}}, {"a": {"b": {"c": 1}}})


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ("training.steps=20000", {"training": {"steps": 20000}}),
        ("a=1_000", {"a": 1000}),
        ("a=-0.5", {"a": -0.5}),
        ("a=2e-3", {"a": 0.002}),
        ("a=true", {"a": True}),
        ("a='1'", {"a": "1"}),
        ('a="x = y"', {"a": "x = y"}),
        ("a=cosine", {"a": "cosine"}),
        ("a=", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a=[1, 2]", {"a": [1, 2]}),
        ("a.b={kind='cosine', peak=1.0}", {"a": {"b": {"kind": "cosine", "peak": 1.0}}}),
        ("a=inf", {"a": float("inf")}),
        (" a . b = 3", {"a": {"b": 3}}),
    ],
)
def test_a_change_is_a_dotted_name_and_a_toml_value(change, values):
    assert parse_change(change) == values


@pytest.mark.parametrize("change", ["training.steps", "", "=3", ".a=3", "a.=3", "a..b=3", " =3"])
def test_a_change_without_name_or_value_is_refused(change):
    assert refused(parse_change, change) == f"--set {change}: must read name=value, as in --set training.steps=20000"


@pytest.mark.parametrize(
    ("file", "changes", "words"),
    [
        ("", ["training.steps=0"], "--set training.steps = 0: must be at least 1"),
        ("", ["training.seed=3", "training.stepz=0"], "--set training.stepz: no such setting; did you mean training.steps?"),
        ("", ["training = 3"], "--set training = 3: must be a table"),
        (
            "",
            ["model.d_model=99"],
            "--set model.d_model=99: model.encoder.attention.heads = 4: must divide d_model = 99; try 3, or set d_k and d_v",
        ),
        ("[training]\nsteps = 0\n", ["training.seed=3"], "{file}: training.steps = 0: must be at least 1"),
        ("[training]\nsteps = 0\n", [], "{file}: training.steps = 0: must be at least 1"),
        (
            "[model]\nd_model = 99\n",
            ["model.dropout=0"],
            "{file}: model.encoder.attention.heads = 4: must divide d_model = 99; try 3, or set d_k and d_v",
        ),
    ],
)
def test_who_asked_for_what_cannot_be_is_named(file, changes, words, toml):
    path = toml(file)
    assert refused(wanted, *changes, file=path) == words.format(file=path)


def test_a_change_may_mend_what_the_file_alone_would_break(toml):
    file = toml("[model]\nd_model = 96\n[model.encoder.attention]\nheads = 7\n")
    assert wanted("model.encoder.attention.heads=6", file=file).model.encoder.attention.heads == 6


def test_a_vocabulary_too_small_is_nobody_s_wish():
    assert refused(run_config, 3, 3, joint=True) == "model.specials = (0, 1, 2, 3): must be four different ids below 3"


@pytest.mark.parametrize(("text", "shown"), [("'huge'", '"huge"'), ("[]", "[]"), ("''", '""'), ("3", "3")])
def test_an_unknown_preset_is_refused_with_those_there_are(text, shown, toml):
    file = toml(f"preset = {text}\n")
    assert refused(wanted, file=file) == f"{file}: preset = {shown}: there is tiny, small, paper_base, paper_big"
    assert refused(wanted, preset="huge") == 'preset = "huge": there is tiny, small, paper_base, paper_big'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\nb =\n", "{file}:2:4: not TOML: invalid value; see docs/config.md for an example"),
        ("[training\n", "{file}:1:10: not TOML: expected ']' at the end of a table declaration; see docs/config.md for an example"),
        ("\n\na = [1,", "{file}:end: not TOML: invalid value; see docs/config.md for an example"),
        (b"a = '\xff'", "{file}: byte 5 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_what_is_not_toml_is_refused_with_its_place(text, words, toml):
    file = toml(text)
    assert refused(read_toml, file) == words.format(file=file)


def test_a_file_that_is_not_there_is_named(tmp_path):
    file = tmp_path / "none.toml"
    assert refused(wanted, file=file) == f"{file}: No such file or directory; give a TOML file of settings, see docs/config.md"


@pytest.mark.parametrize("name", PRESETS)
def test_a_written_run_is_read_back_the_same(name, tmp_path):
    run = PRESETS[name](50, 60)
    write_toml(tmp_path / "config.toml", run)
    assert read_run_config(tmp_path / "config.toml") == run


def test_a_run_s_own_file_is_complete_or_refused(toml):
    file = toml("[model]\nsource_vocab = 9\n")
    assert refused(read_run_config, file) == f"{file}: model.target_vocab: is missing; every configuration must give it"


@pytest.mark.parametrize("text", ["a." * 3000 + "b = 1", f"a = {'[' * 3000}", f"a = {'{ a = ' * 3000}"], ids=["names", "lists", "tables"])
def test_settings_without_a_bottom_are_refused(toml, text):
    file = toml(text)
    assert refused(wanted, file=file).startswith((f"{file}: tables in tables, more than 16 deep; ", f"{file}:end: not TOML: "))
    assert refused(wanted, text).startswith("--set a")


@pytest.mark.parametrize("name", ["steps", "log_every", "seed", "accumulate"])
@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_an_integer_that_no_counter_holds_is_refused(toml, name, digits):
    number = "9" * digits + "9"
    for said in (
        refused(wanted, file=toml(f"[training]\n{name} = {number}\n")),
        refused(wanted, f"training.{name}={number}"),
    ):
        assert "must be at most 9,223,372,036,854,775,807" in said or "must be an integer" in said or ": not TOML: " in said
    assert getattr(wanted(f"training.{name}={2**63 - 1}").training, name) == 2**63 - 1
