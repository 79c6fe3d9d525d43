import json

import pytest
import torch

from hexapla.config.training import ValidationConfig
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.training.checkpoint import replace_text
from hexapla.workflow.average import average
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
