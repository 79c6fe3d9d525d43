import hashlib
import json
import os
import shutil
from dataclasses import replace

import pytest
import torch

from hexapla.config.data import Characters
from hexapla.config.training import ValidationConfig
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.training import reading
from hexapla.training.checkpoint import replace_text, write_manifest
from hexapla.workflow.average import average
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from small_runs import small_config, small_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    """A run with checkpoints at 2, 4 and 6, of which 4 is made the best."""
    path = tmp_path_factory.mktemp("runs") / "run"
    train(data, small_config(steps=6, checkpoint_every=2, validation=ValidationConfig(every=2, translate=0)), into=path)
    replace_text(path / "checkpoints/best", "step_4")
    return path


@pytest.fixture
def new(data, tmp_path):
    return Run.create(tmp_path / "run", small_config(), data).path


@pytest.mark.parametrize(("name", "step"), [("best", 4), ("latest", 6), ("step_2", 2), ("step_6", 6)])
def test_a_checkpoint_is_found_by_its_name(path, name, step):
    run = Run.open(path, checkpoint=name)
    assert run.checkpoint_folder() == path / f"checkpoints/step_{step}"
    assert not run.model.training
    assert run.model is run.model


def test_unasked_it_is_the_best(path):
    assert Run.open(path).checkpoint_folder().name == "step_4"


def test_the_average_is_found_once_there_is_one(path):
    average(path, last=2)
    assert Run.open(str(path), checkpoint="average").checkpoint_folder() == path / "checkpoints/average"


def test_the_best_is_the_latest_where_training_named_none(path):
    (path / "checkpoints/best").unlink()
    assert Run.open(path).checkpoint_folder().name == "step_6"
    replace_text(path / "checkpoints/best", "step_4")


@pytest.mark.parametrize("name", ["step_3", "", ".", "..", "../checkpoints/step_4", "best.tmp", "/etc", "step_4/model.safetensors"])
def test_an_unknown_checkpoint_is_refused_with_those_there_are(path, name):
    average(path, last=2)
    with pytest.raises(CheckpointError) as caught:
        Run.open(path, checkpoint=name).checkpoint_folder()
    assert str(caught.value) == f"{path}: no checkpoint {name!r}; there is best, latest, average, step_2, step_4, step_6"


@pytest.mark.parametrize("name", ["best", "latest"])
def test_a_run_without_checkpoints_says_so(new, name):
    with pytest.raises(CheckpointError) as caught:
        _ = Run.open(new, checkpoint=name).model
    assert str(caught.value) == f"{new}: has no checkpoint yet; train it first"
    assert Run.open(new).step == 0


def test_the_model_is_that_of_the_checkpoint(path):
    first, last = (Run.open(path, checkpoint=name).model.output.weight for name in ("step_2", "step_6"))
    assert not torch.equal(first, last)


def test_what_is_damaged_is_not_loaded(data, tmp_path):
    train(data, small_config(steps=1, validation=ValidationConfig(translate=0)), into=tmp_path)
    file = tmp_path / "checkpoints/step_1/model.safetensors"
    file.write_bytes(file.read_bytes()[:-8] + bytes(8))
    with pytest.raises(CheckpointError, match=r"model\.safetensors: content differs from the manifest's SHA-256"):
        _ = Run.open(tmp_path).model


def test_a_new_run_has_all_but_weights_and_reads_back(new, data):
    run = Run.open(new)
    assert run.config == small_config()
    assert (run.about["format"], run.about["data"]) == (1, data.fingerprint)
    assert sorted(run.about["files"]) == ["subwords.json", "tokenizer.toml"]
    assert (run.source.vocab_size, run.target.vocab_size, run.joint) == (10, 10, True)
    assert sorted(file.name for file in new.iterdir())[:2] == ["checkpoints", "config.toml"]


def test_a_run_is_not_made_where_something_is(new, data):
    with pytest.raises(ConfigError, match="is there already"):
        Run.create(new, small_config(), data)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(CheckpointError) as caught:
        Run.open(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: not a run folder: it has no valid run.json; give the folder that `hexapla train --into` wrote"
    )
    assert caught.value.exit_code == 66


@pytest.mark.parametrize("version", [2, 10**30])
def test_a_newer_run_is_refused_and_not_taken_for_damage(new, version):
    (new / "run.json").write_text(json.dumps({"format": version, "what": "nobody knows yet"}))
    with pytest.raises(CheckpointError, match=rf"run: written in format {version}, this version reads up to 1; update hexapla$"):
        Run.open(new)


def test_a_part_that_is_missing_is_named(new):
    (new / "config.toml").unlink()
    with pytest.raises(CheckpointError, match=r"config\.toml: is missing; the folder is not whole$"):
        Run.open(new)


@pytest.mark.parametrize("name", ["tokenizer.toml", "subwords.json"])
def test_a_tokenizer_file_that_has_changed_or_is_gone_is_named(new, name):
    """A vocabulary in another order would load, and every text would be other ids."""
    file = new / name
    file.write_bytes(file.read_bytes().replace(b"a", b"b", 1))
    with pytest.raises(CheckpointError) as caught:
        Run.open(new)
    assert str(caught.value) == f"{file}: has changed since training began (another SHA-256); restore it from a copy of the run"
    file.unlink()
    with pytest.raises(CheckpointError) as caught:
        Run.open(new)
    assert str(caught.value) == f"{file}: is missing; the folder is not whole"


def test_a_setting_that_cannot_be_is_named(new):
    text = (new / "config.toml").read_text()
    (new / "config.toml").write_text(text.replace("d_model = 8", 'd_model = "eight"'))
    with pytest.raises(CheckpointError, match=r"config\.toml: model\.d_model"):
        Run.open(new)


def test_a_tokenizer_of_another_size_is_refused(new):
    text = (new / "config.toml").read_text()
    (new / "config.toml").write_text(text.replace("_vocab = 10", "_vocab = 12"))
    with pytest.raises(CheckpointError, match=r"run: the source tokenizer has 10 entries, config\.toml says 12$"):
        Run.open(new)


def test_other_settings_reach_the_file(new):
    other = small_config(steps=99)
    assert Run.open(new).configured(other).config == other
    assert Run.open(new).config == other
    assert not (new / "config.toml.tmp").exists()


@pytest.fixture
def copy(path, tmp_path):
    return shutil.copytree(path, tmp_path / "run")


def refused(path, checkpoint="best"):
    """The message of what is wrong with a run, of its weights too."""
    with pytest.raises(CheckpointError) as caught:
        _ = Run.open(path, checkpoint).model
    assert str(caught.value).isprintable()
    return str(caught.value)


def rehashed(path):
    """The run with every hash put right, as who changed a file on purpose would leave it."""
    for file in (path / "run.json", *path.glob("checkpoints/*/manifest.json")):
        about = json.loads(file.read_text())
        for name in about["files"]:
            content = (file.parent / name).read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            about["files"][name] = digest if file.name == "run.json" else {"bytes": len(content), "sha256": digest}
        file.write_text(json.dumps(about, indent=1))


ABOUT = {"format": 1, "data": "", "files": {}}
NOT_AS_WRITTEN = "not as it was written: it must have format, data and files; restore it from a copy of the run"


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ([], "must be a JSON object, begun by {"),
        ({}, NOT_AS_WRITTEN),
        (ABOUT | {"format": "1"}, NOT_AS_WRITTEN),
        (ABOUT | {"format": True}, NOT_AS_WRITTEN),
        (ABOUT | {"format": 0}, NOT_AS_WRITTEN),
        (ABOUT | {"data": 1}, NOT_AS_WRITTEN),
        (ABOUT | {"code": "x"}, NOT_AS_WRITTEN),
        (ABOUT | {"files": []}, "files: must be those of the tokenizers; restore it from a copy of the run"),
        *((ABOUT | {"files": {name: ""}}, "files: must be those of the tokenizers; restore it from a copy of the run") for name in
          ("../tokenizer.toml", "/etc/passwd", "a/b", "", ".", "..", "nul\0", "config.toml")),
        (ABOUT, "files: lacks subwords.json, tokenizer.toml; restore it from a copy of the run"),
    ],
)  # fmt: skip
def test_a_run_json_that_we_do_not_write_is_refused(new, about, words):
    (new / "run.json").write_text(json.dumps(about))
    assert refused(new) == f"{new}/run.json: {words}"


@pytest.mark.parametrize("name", ["run.json", "config.toml", "tokenizer.toml", "subwords.json"])
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_only_plain_files_of_a_run_are_read(new, name, kind):
    file, words = new / name, {"pipe": "a named pipe", "link": "a symbolic link", "folder": "a folder"}[kind]
    file.rename(new.parent / name)
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "link":
            file.symlink_to(new.parent / name)
        case "folder":
            file.mkdir()
    assert refused(new).startswith(f"{file}: {words}")


@pytest.mark.parametrize("name", ["manifest.json", "state.json", "model.safetensors", "optimiser.safetensors", "../best"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_only_plain_files_of_a_checkpoint_are_read(copy, name, kind):
    file = copy / "checkpoints/step_4" / name
    file.rename(copy.parent / "outside")
    os.mkfifo(file) if kind == "pipe" else file.symlink_to(copy.parent / "outside")
    assert f"{file.resolve().name if kind == 'pipe' else file.name}: a " in refused(copy)


@pytest.mark.parametrize("name", ["checkpoints", "checkpoints/step_4"])
def test_no_part_of_a_run_is_a_link_but_the_whole_may_be(copy, name):
    (copy.parent / "link").symlink_to(copy)
    assert Run.open(copy.parent / "link").model
    (copy / name).rename(copy.parent / "elsewhere")
    (copy / name).symlink_to(copy.parent / "elsewhere")
    assert refused(copy).startswith(f"{copy / name}: a symbolic link; put the folder itself there")


@pytest.mark.parametrize("kind", ["nothing", "pipe", "file", "a NUL"])
def test_what_is_no_folder_is_no_run_folder(tmp_path, kind):
    path = tmp_path / "run"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "file":
            path.write_text("")
        case "a NUL":
            path = tmp_path / "nul\0"
    assert ": not a run folder: it has no valid run.json; give the folder" in refused(path)


SETTINGS = {
    "heads = 2": ("heads = 3", "model.encoder.attention.heads = 3: must divide d_model = 8; try 2, or set d_k and d_v"),
    "layers = 1": ("layers = 1000000000", "model.encoder.layers = 1000000000: must be at most 64"),
    "d_model = 8": ("d_model = 1000000000", "model.d_model = 1000000000: must be at most 1,048,576"),
    "d_ff = 16": ("d_ff = -16", "model.encoder.feed_forward.d_ff = -16: must be at least 1"),
    "bias = true": ('bias = "yes"', 'model.encoder.attention.bias = "yes": must be true or false'),
    "norm_epsilon = 1e-05": ("norm_epsilon = nan", "model.encoder.norm_epsilon = NaN: must be a finite number"),
    "dropout = 0.1": ("dropout = 0.1\ndropout = 0.2", "not TOML: Cannot overwrite a value (at line 9, column 14)"),
    "output_bias = false": ("output_bias = false\ncode = 1", "model.code: no such setting; did you mean model.encoder?"),
}


@pytest.mark.parametrize("old", SETTINGS)
def test_a_model_that_cannot_be_is_refused_by_its_setting(new, old):
    text = (new / "config.toml").read_text()
    assert old in text
    (new / "config.toml").write_text(text.replace(old, SETTINGS[old][0], 1))
    assert refused(new) == f"{new}/config.toml: {SETTINGS[old][1]}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("d_model = 8", "d_model = 1048576", "norm.bias is (8,), config.toml makes it (1048576,) and 38 more"),
        ("layers = 1", "layers = 64", "norm.bias and 2643 more"),
        ("d_ff = 16", "d_ff = 1000000", "(16,), config.toml makes it (1000000,)"),
    ],
)
def test_a_model_of_another_size_is_refused_before_any_of_it_is_allocated(copy, monkeypatch, old, new, words):
    monkeypatch.setattr(reading, "read_values", lambda *_: pytest.fail("a tensor was read"))
    config = copy / "config.toml"
    config.write_text(config.read_text().replace(old, new))
    assert words in refused(copy) and refused(copy).endswith("; config.toml describes another model")


@pytest.mark.parametrize(
    ("old", "new", "setting"),
    [
        ('layout = "interleaved"', 'layout = "halves"', "model.positions.layout = 'halves', it was 'interleaved'"),
        ("heads = 2", "heads = 4", "model.decoder.attention.heads = 4, it was 2"),
        ('activation = "relu"', 'activation = "gelu"', "model.decoder.feed_forward.activation = 'gelu', it was 'relu'"),
        ("heads = 2", "heads = 2\nkv_heads = 2", "model.decoder.attention.kv_heads = 2, it was unset"),
    ],
)
def test_a_setting_that_no_shape_betrays_is_held_against_what_was_trained(copy, old, new, setting):
    config = copy / "config.toml"
    config.write_text(config.read_text().replace(old, new))
    assert refused(copy) == (
        f"{copy}/checkpoints/step_4: was trained with other settings of the model than config.toml has: {setting}; "
        "restore config.toml from a copy of the run"
    )


@pytest.mark.parametrize("model", [3, [], None, "x", {"d_model": {"x": 1}}, {"extra": {}}], ids=str)
def test_whatever_a_state_says_of_its_model_is_refused_in_a_line(copy, model):
    """With hashes that are right: somebody meant it."""
    folder = copy / "checkpoints/step_4"
    state = json.loads((folder / "state.json").read_text())
    state["model"] = state["model"] | model if model == {"extra": {}} else model
    (folder / "state.json").write_text(json.dumps(state, indent=1))
    (folder / "manifest.json").unlink()
    write_manifest(folder)
    assert refused(copy).startswith(f"{folder}: was trained with other settings of the model than config.toml has: ")


def test_a_checkpoint_of_another_run_is_refused_although_all_shapes_agree(copy, tmp_path):
    other = small_data(tmp_path / "other", seed=2)
    train(other, small_config(steps=2, checkpoint_every=2), into=tmp_path / "other run")
    shutil.copytree(tmp_path / "other run/checkpoints/step_2", copy / "checkpoints/step_2", dirs_exist_ok=True)
    assert refused(copy, "step_2") == (f"{copy}/checkpoints/step_2: was trained on other data than {copy}; it belongs to another run")


def test_the_average_remembers_what_it_is_of(copy):
    average(copy, last=2)
    config = copy / "config.toml"
    config.write_text(config.read_text().replace("heads = 2", "heads = 4"))
    assert "checkpoints/average: was trained with other settings" in refused(copy, "average")


def test_saving_over_what_is_loaded_leaves_both_as_they_are(copy):
    """Were the file mapped, the weights in memory would change with it."""
    average(copy, last=2)
    run = Run.open(copy, "average")
    before = [parameter.detach().clone() for parameter in run.model.parameters()]
    average(copy, last=1)
    with (copy / "checkpoints/average/model.safetensors").open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(bytes(len(content)))
        assert all(torch.equal(old, parameter) for old, parameter in zip(before, run.model.parameters(), strict=True))
        file.seek(0)
        file.write(content)
    last = Run.open(copy, "step_6").model
    assert all(torch.equal(new, its) for new, its in zip(Run.open(copy, "average").model.parameters(), last.parameters(), strict=True))


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors"])
def test_a_pickle_under_any_name_is_refused_and_not_run(copy, monkeypatch, name):
    monkeypatch.chdir(copy)
    (copy / "checkpoints/step_4" / name).write_bytes(b"cposix\nsystem\n(S'touch ran'\ntR.")
    rehashed(copy)
    if name == "model.safetensors":
        assert "step_4/model.safetensors: not a safetensors file of Hexapla's: its first 8 bytes say" in refused(copy)
    else:
        assert Run.open(copy).model  # moments are hashed, and parsed by training alone
    assert not (copy / "ran").exists()


def test_a_state_that_is_no_table_is_refused(copy):
    (copy / "checkpoints/step_4/state.json").write_text("[]")
    rehashed(copy)
    assert refused(copy) == f"{copy}/checkpoints/step_4/state.json: must be a JSON object"


def test_two_vocabularies_that_changed_places_are_refused(tmp_path):
    """Of equal sizes, so that nothing but the hash can tell."""
    lines = [f"{'ab'[n % 2] * n}\t{'xy'[n % 2] * n}" for n in range(1, 9)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    data = prepare(tmp_path / "pairs.tsv", into=tmp_path / "data", subwords=Characters(), joint=False)
    config = small_config(data.source_vocab)
    run = Run.create(tmp_path / "run", replace(config, model=replace(config.model, tie="decoder")), data).path
    source, target = run / "source.json", run / "target.json"
    first, second = source.read_bytes(), target.read_bytes()
    assert len(first) == len(second) and first != second
    source.write_bytes(second)
    target.write_bytes(first)
    assert refused(run) == f"{source}: has changed since training began (another SHA-256); restore it from a copy of the run"
