import pytest
import torch
from safetensors.torch import load_file

from hexapla.config.training import ValidationConfig
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.workflow.average import average
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate
from small_runs import small_config, small_data


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """With checkpoints at 2, 4, 6, 8; those at 4, 6 and 8 are kept."""
    folder = tmp_path_factory.mktemp("average")
    data = small_data(folder)
    config = small_config(steps=8, checkpoint_every=2, keep_last=3, validation=ValidationConfig(every=8, translate=0))
    return train(data, config, into=folder / "run")


def weights(run, name):
    return {key: tensor.double() for key, tensor in load_file(run.path / f"checkpoints/{name}/model.safetensors").items()}


def test_the_average_is_the_mean_of_the_last_checkpoints_and_translates(run):
    path = average(run, last=2)
    assert path == run.path / "checkpoints/average"
    found, six, eight = (weights(run, name) for name in ("average", "step_6", "step_8"))
    assert found.keys() == six.keys()
    for name, tensor in found.items():
        assert torch.equal(tensor, ((six[name] + eight[name]) / 2).float().double())
    averaged = Run.open(run.path, checkpoint="average")
    assert torch.equal(averaged.model.output.weight.double(), found["source_embedding.weight"])
    assert len(translate(averaged, ["abc", ""])) == 2


def test_an_average_replaces_the_one_before(run):
    average(str(run.path), last=3)
    three = weights(run, "average")
    average(run.path, last=1)
    assert torch.equal(weights(run, "average")["source_embedding.weight"], weights(run, "step_8")["source_embedding.weight"])
    assert not torch.equal(three["source_embedding.weight"], weights(run, "average")["source_embedding.weight"])


def test_more_than_are_kept_is_refused(run):
    with pytest.raises(CheckpointError) as caught:
        average(run, last=4)
    assert str(caught.value) == (
        f"{run.path}: keeps 3 checkpoints, fewer than the 4 asked for; average fewer, or train with a larger training.keep_last"
    )


def test_none_is_refused(run):
    with pytest.raises(ConfigError, match=r"^--last 0: must be at least 1$"):
        average(run, last=0)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="not a run folder"):
        average(tmp_path)


def test_training_goes_on_beside_an_average(run):
    average(run, last=3)
    data = small_data(run.path.parent / "again")
    train(data, into=run.path, steps=9)
    assert Run.open(run.path).step == 9
    assert Run.open(run.path, checkpoint="average").model
