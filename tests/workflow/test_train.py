import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from hexapla import hardware
from hexapla.config.decoding import Beam
from hexapla.config.model import Learned
from hexapla.config.training import Constant, Cosine, ValidationConfig
from hexapla.data.batches import Batches, collate
from hexapla.errors import CheckpointError, ConfigError, DataError, DivergenceError, StorageError
from hexapla.evaluation import corpus
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.runs import Run
from hexapla.training.checkpoint import write_manifest
from hexapla.training.hooks import Hook
from hexapla.training.trainer import Trainer
from hexapla.workflow import train as module
from hexapla.workflow.train import alone_in, train
from hexapla.workflow.translate import translate
from reference.loss import cross_entropy
from small_runs import StopAt, Told, files_of, metrics_of, small_config, small_data, state_of, tensors_of

NO_TRANSLATIONS = ValidationConfig(every=5, translate=0)
EPOCH = 7
"""updates in an epoch of the data below, a batch each"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("train"))


def times_of(folder: Path):
    return {path: path.stat().st_mtime_ns for path in (folder, *folder.rglob("*"))}


def notices(data, config, into, **more):
    told = Told()
    train(data, config, into=into, listeners=[told], **more)
    return told.start["complaints"]


def test_a_killed_run_goes_on_from_its_last_checkpoint(data, tmp_path):
    """Later lines of metrics.jsonl and a half-written checkpoint are removed, and the rest is as if nothing had happened."""
    config = small_config(steps=10)
    train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "killed", hooks=[StopAt(6)])
    checkpoints = tmp_path / "killed/checkpoints"
    shutil.rmtree(checkpoints / "step_6")
    (checkpoints / "step_6.partial-1f").mkdir()
    (checkpoints / "best").unlink()
    train(data, config, into=tmp_path / "killed")
    assert tensors_of(tmp_path / "killed", 10) == tensors_of(tmp_path / "straight", 10)
    assert metrics_of(tmp_path / "killed", "update", "validation") == metrics_of(tmp_path / "straight", "update", "validation")
    assert {f.name for f in checkpoints.iterdir()} == {f.name for f in (tmp_path / "straight/checkpoints").iterdir()}


class Killed(BaseException):
    """Nothing answers it."""


class KillAt(Hook):
    def __init__(self, step):
        self.step = step

    def updated(self, trainer, record):
        if trainer.position.step == self.step:
            raise Killed


def test_a_run_killed_before_its_first_checkpoint_begins_anew_and_says_so(data, tmp_path):
    config = small_config(steps=4, log_every=1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "straight")
    with pytest.raises(Killed):
        train(data, config, into=tmp_path / "run", hooks=[KillAt(2)])
    assert notices(data, config, tmp_path / "run") == [f"{tmp_path / 'run'}: was stopped before its first checkpoint; training begins anew"]
    assert tensors_of(tmp_path / "run", 4) == tensors_of(tmp_path / "straight", 4)
    assert notices(data, config, tmp_path / "other") == []


def test_a_damaged_checkpoint_is_made_again_from_an_older_one_and_named(data, tmp_path):
    config = small_config(steps=10, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    whole = tensors_of(tmp_path, 10)
    (tmp_path / "checkpoints/step_10/model.safetensors").write_bytes(b"")
    first, second = notices(data, config, tmp_path)
    assert first.startswith(f"{tmp_path}/checkpoints/step_10/model.safetensors: 0 bytes, the manifest says ")
    assert second == f"{tmp_path}/checkpoints: going on from step_8; what is newer is set aside as step_N.damaged"
    assert tensors_of(tmp_path, 10) == whole


def test_where_every_checkpoint_is_damaged_training_is_refused(data, tmp_path):
    config = small_config(steps=5, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    for file in tmp_path.glob("checkpoints/step_*/state.json"):
        file.unlink()
    before = files_of(tmp_path)
    with pytest.raises(CheckpointError, match="no checkpoint is whole"):
        train(data, config, into=tmp_path)
    assert files_of(tmp_path) == before


def removed(checkpoints: Path) -> None:
    for folder in checkpoints.glob("step_*"):
        shutil.rmtree(folder)


def called_damaged(checkpoints: Path) -> None:
    for folder in checkpoints.glob("step_*"):
        folder.rename(f"{folder}.damaged")


@pytest.mark.parametrize("how", [removed, called_damaged, shutil.rmtree])
def test_where_every_checkpoint_is_gone_training_does_not_begin_anew(data, tmp_path, how):
    config = small_config(steps=5, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    how(tmp_path / "checkpoints")
    before = files_of(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        train(data, config, into=tmp_path, steps=9)
    assert str(caught.value) == (
        f"{tmp_path}/checkpoints: holds no checkpoint, but metrics.jsonl tells of that of step 5; put it back. "
        "To begin anew, train into another folder"
    )
    assert files_of(tmp_path) == before


def test_a_checkpoint_that_was_being_replaced_is_put_back_first(data, tmp_path):
    """Killed between two renames: it is not lost, it has another name."""
    config = small_config(steps=4, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    whole = tensors_of(tmp_path, 4)
    (tmp_path / "checkpoints/step_4").rename(tmp_path / f"checkpoints/step_4.old-{'0' * 16}")
    assert notices(data, config, tmp_path) == []
    assert tensors_of(tmp_path, 4) == whole


def test_a_file_where_the_checkpoints_should_be_is_refused(data, tmp_path):
    train(data, small_config(steps=1, validation=NO_TRANSLATIONS), into=tmp_path)
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").touch()
    with pytest.raises(CheckpointError, match=r"/checkpoints: no folder; move it away, and put the folder of the run there$"):
        train(data, into=tmp_path)


@pytest.mark.parametrize("what", [Path.touch, Path.mkdir, lambda place: place.symlink_to("nowhere")])
def test_what_is_in_the_way_of_a_checkpoint_is_set_aside(data, tmp_path, what):
    """Found when the checkpoint is written, and whatever is in the way of that name in turn."""
    config = small_config(steps=8, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "run", steps=4)
    checkpoints = tmp_path / "run/checkpoints"
    (checkpoints / "step_8.damaged").touch()
    what(checkpoints / "step_8")
    train(data, config, into=tmp_path / "run")
    assert tensors_of(tmp_path / "run", 8) == tensors_of(tmp_path / "straight", 8)
    assert os.path.lexists(checkpoints / "step_8.damaged")


@pytest.mark.parametrize("start", [{}, {"threads": 2}, {"config": None}], ids=["again", "other threads", "its own settings"])
def test_a_finished_run_is_left_as_it_is(data, tmp_path, start):
    """To the byte and the time of change, of files and folders."""
    config = small_config(steps=5)
    train(data, config, into=tmp_path / "run")
    before = files_of(tmp_path / "run"), times_of(tmp_path / "run")
    told = Told()
    train(data, into=tmp_path / "run", listeners=[told], **({"config": config} | start))
    assert (files_of(tmp_path / "run"), times_of(tmp_path / "run")) == before
    assert (told.end["step"], told.end["reason"]) == (5, "all steps made")


def test_without_a_configuration_a_run_goes_on_with_its_own(data, tmp_path):
    config = small_config(steps=4, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "run", hooks=[StopAt(2)])
    run = train(data.path, into=str(tmp_path / "run"))
    assert (run.step, run.config) == (4, config)


def test_without_a_configuration_a_new_run_is_the_preset_small(data, tmp_path, monkeypatch):
    monkeypatch.setattr(module.Training, "work", lambda self: None)
    run = train(data, into=tmp_path / "run", steps=7)
    assert run.config.model.d_model == 256
    assert run.config.model.source_vocab == data.vocab_size
    assert run.config.training.steps == 7


def test_more_steps_go_on_where_a_finished_run_ended_and_stay_in_its_settings(data, tmp_path):
    config = small_config(steps=8, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "run", steps=4)
    assert Run.open(tmp_path / "run").config.training.steps == 4
    train(data, into=tmp_path / "run", steps=8)
    assert tensors_of(tmp_path / "run", 8) == tensors_of(tmp_path / "straight", 8)
    assert Run.open(tmp_path / "run").config == config


def test_another_length_of_a_cosine_is_told(data, tmp_path):
    config = small_config(steps=2, schedule=Cosine(warmup=1), validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    words = ["training.steps: 2 -> 3: from here on the cosine is that of the new number"]
    assert notices(data, config, tmp_path, steps=3) == words


def test_settings_that_reach_no_update_may_change(data, tmp_path):
    config = small_config(steps=4)
    train(data, config, into=tmp_path / "straight", steps=6)
    train(data, config, into=tmp_path / "run")
    other = replace(
        small_config(
            steps=6, checkpoint_every=1, keep_last=2, log_every=1, validation=ValidationConfig(every=2, patience=9, metric="bleu")
        ),
        decoding=Beam(width=2),
        rules=replace(config.rules, min_length=1),
    )
    assert notices(data, other, tmp_path / "run") == ["training.validation.metric: loss -> bleu: the best is sought anew"]
    assert Run.open(tmp_path / "run").config == other
    assert tensors_of(tmp_path / "run", 6) == tensors_of(tmp_path / "straight", 6)
    assert state_of(tmp_path / "run", 6)["best"]["metric"] == "bleu"


def test_changed_settings_are_refused_one_by_one_and_nothing_is_written(data, tmp_path):
    config = small_config(steps=2, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    before = files_of(tmp_path)
    other = replace(config, training=replace(config.training, batch_tokens=100, seed=2, clip=1.0, schedule=Cosine(peak=3e-3)))
    with pytest.raises(ConfigError) as caught:
        train(data, other, into=tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: a run cannot go on with other settings (training.clip: unset -> 1.0; "
        "training.schedule.floor: unset -> 0.0; training.schedule.kind: constant -> cosine; training.schedule.warmup: 0 -> 1000; "
        "training.seed: 1 -> 2; these may change: training.batch_tokens: 90 -> 100); "
        "give the old ones, in config.toml too if it was edited, or train into another folder"
    )
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("checkpoints", ["whole", "newest damaged", "of the first version"])
def test_a_config_toml_edited_between_two_starts_is_noticed(data, tmp_path, checkpoints):
    """The checkpoint says what it was trained with; the edited file is what a start without settings would take."""
    config = small_config(steps=2, checkpoint_every=1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    file = tmp_path / "config.toml"
    file.write_text(file.read_text().replace("label_smoothing = 0.1", "label_smoothing = 0.2").replace("keep_last = 5", "keep_last = 7"))
    if checkpoints == "newest damaged":
        (tmp_path / "checkpoints/step_2/state.json").write_text("{}")
    if checkpoints == "of the first version":
        for folder in tmp_path.glob("checkpoints/step_*"):
            state = json.loads((folder / "state.json").read_text())
            (folder / "state.json").write_text(json.dumps({name: state[name] for name in ("position", "best", "window", "threads")}))
            (folder / "manifest.json").unlink()
            write_manifest(folder)
        assert train(data, into=tmp_path, steps=3).config.training.label_smoothing == 0.2
        return
    before = files_of(tmp_path)
    with pytest.raises(ConfigError) as caught:
        train(data, into=tmp_path, steps=3)
    assert str(caught.value) == (
        f"{tmp_path}: a run cannot go on with other settings (training.label_smoothing: 0.1 -> 0.2; these may change: "
        "training.keep_last: 5 -> 7; training.steps: 2 -> 3); "
        "give the old ones, in config.toml too if it was edited, or train into another folder"
    )
    assert files_of(tmp_path) == before
    with pytest.raises(ConfigError, match=r"training\.label_smoothing: 0\.1 -> 0\.2"):
        train(data, Run.open(tmp_path).config, into=tmp_path)
    assert train(data, config, into=tmp_path, steps=3).config.training.label_smoothing == 0.1


def test_settings_of_a_checkpoint_that_this_version_has_not_are_refused(data, tmp_path):
    train(data, small_config(steps=1, validation=NO_TRANSLATIONS), into=tmp_path)
    folder = tmp_path / "checkpoints/step_1"
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | {"training": state["training"] | {"momentum": 0.9}}))
    (folder / "manifest.json").unlink()
    write_manifest(folder)
    with pytest.raises(CheckpointError, match=r"trained with settings that this version has not: training\.momentum: no such setting"):
        train(data, into=tmp_path)


def test_before_its_first_checkpoint_a_run_takes_other_settings(data, tmp_path):
    config = small_config(steps=1, validation=NO_TRANSLATIONS)
    Run.create(tmp_path / "run", small_config(steps=1, seed=2), data)
    assert train(data, config, into=tmp_path / "run").config == config


def test_other_data_is_refused(data, tmp_path):
    config = small_config(steps=1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "run")
    other = small_data(tmp_path / "other", seed=2)
    with pytest.raises(DataError) as caught:
        train(other, config, into=tmp_path / "run")
    assert str(caught.value) == (
        f"{other.path}: not the data that {tmp_path / 'run'} was trained on: its fingerprint is {other.fingerprint}, the run's is "
        f"{data.fingerprint}; give the folder of that fingerprint, wherever it is now, or train into another run folder"
    )


def test_the_same_data_in_another_place_is_the_same_data(data, tmp_path):
    config = small_config(steps=1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "run")
    shutil.copytree(data.path, tmp_path / "moved")
    assert train(tmp_path / "moved", config, into=tmp_path / "run", steps=2).step == 2


def model_with(config, **changes):
    return replace(config, model=replace(config.model, **changes))


REFUSALS = {
    "vocabulary": (
        model_with(small_config(), source_vocab=11, target_vocab=11),
        r"^model\.source_vocab, target_vocab = 11, 11: the vocabularies of .*data have 10 and 10 entries$",
    ),
    "metric": (
        small_config(validation=ValidationConfig(metric="chrf", translate=0)),
        r"^training\.validation\.metric = chrf: needs translations, but training\.validation\.translate = 0; set it to how many "
        r"sentences, or metric = loss$",
    ),
    "batch": (small_config(batch_tokens=15), r"^training\.batch_tokens = 15: the pair of line \d+ alone takes 16; give at least 16"),
    "steps": (small_config(steps=0), r"training\.steps = 0"),
    "width": (small_config(validation=ValidationConfig(width=1025)), r"^training\.validation\.width = 1025: must be at most 1,024$"),
    "positions": (
        model_with(small_config(), positions=Learned(length=7)),
        r"^model\.positions\.length = 7: the pair of line \d+ takes 8 positions; give at least 8, prepare with a smaller "
        r"cleaning\.max_tokens, or set model\.positions\.kind = sinusoidal$",
    ),
}


@pytest.mark.parametrize(("config", "words"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_trained_is_refused_before_a_folder_is_made(data, tmp_path, config, words):
    with pytest.raises(ConfigError, match=words):
        train(data, config, into=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_learned_positions_that_are_just_enough_are_enough(data, tmp_path):
    config = model_with(small_config(steps=EPOCH, validation=NO_TRANSLATIONS), positions=Learned(length=8))
    assert train(data, config, into=tmp_path / "run").step == EPOCH


def test_patience_without_a_dev_set_is_refused(tmp_path):
    alone = small_data(tmp_path, hold_out=0)
    config = small_config(validation=ValidationConfig(patience=2))
    with pytest.raises(ConfigError) as caught:
        train(alone, config, into=tmp_path / "run")
    assert str(caught.value) == (
        f"training.validation.patience = 2: {alone.path} has no dev pairs to validate on; leave it unset, or prepare with a dev set"
    )
    run = train(alone, small_config(steps=2), into=tmp_path / "run")
    assert metrics_of(run.path, "validation") == []
    assert run.model


def test_a_tokenizer_that_is_not_installed_is_refused_before_the_first_update(data, tmp_path, monkeypatch):
    def missing(**_):
        raise RuntimeError("no MeCab")

    monkeypatch.setattr(corpus, "BLEU", missing)
    config = small_config(validation=ValidationConfig(tokenize="ja-mecab"))
    with pytest.raises(ConfigError, match=r"^training\.validation\.tokenize = ja-mecab: needs packages that are not installed; "):
        train(data, config, into=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_vocabularies_of_their_own_cannot_be_tied(data, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "joint", False)
    with pytest.raises(ConfigError, match=r"^model\.tie = all: the two sides .* set model\.tie = decoder$"):
        train(data, small_config(), into=tmp_path / "run")


def test_a_second_trainer_in_the_folder_is_refused(data, tmp_path):
    """Whatever it is called by: a link, and a path with detours, lead to the same lock."""
    run = tmp_path / "run"
    Run.create(run, small_config(), data)
    (tmp_path / "link").symlink_to(run)
    before = files_of(run)
    with alone_in(run):
        for name in (run, tmp_path / "link", tmp_path / "../" / tmp_path.name / "link", Path(os.path.relpath(run))):
            with pytest.raises(CheckpointError) as caught:
                train(data, small_config(), into=name)
            assert str(caught.value) == f"{name}: another process trains in this folder; wait for it, or train into another"
    assert files_of(run).keys() == before.keys() | {Path(".lock")}
    assert (tmp_path / "link").is_symlink()


def test_a_run_that_another_process_makes_first_is_gone_on_with(data, tmp_path, monkeypatch):
    real = Run.create

    def slower(path, config, prepared):
        monkeypatch.setattr(Run, "create", real)
        Run.create(path, config, prepared)
        return Run.create(path, config, prepared)

    monkeypatch.setattr(Run, "create", slower)
    assert train(data, small_config(steps=1, validation=NO_TRANSLATIONS), into=tmp_path / "run").step == 1


def test_a_lock_that_is_a_link_is_not_followed(data, tmp_path):
    Run.create(tmp_path / "run", small_config(), data)
    (tmp_path / "thesis").write_text("mine")
    (tmp_path / "run/.lock").symlink_to(tmp_path / "thesis")
    with pytest.raises(StorageError, match=r"run/\.lock: .*; cannot write there$"):
        train(data, small_config(), into=tmp_path / "run")
    assert (tmp_path / "thesis").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_an_error_of_storage(data, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file.*; cannot write there$"):
        train(data, small_config(), into=tmp_path / "file/run")


def test_a_folder_of_something_else_is_refused(data, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.tex").write_text("")
    with pytest.raises(ConfigError, match=r"run: holds other files and no run\.json; give a new folder$"):
        train(data, small_config(), into=tmp_path / "run")


def test_the_best_checkpoint_is_kept_and_used(data, tmp_path):
    """The rate explodes after the first validation, which therefore stays the best."""
    config = small_config(steps=12, schedule=Constant(peak=3.0, warmup=1000), checkpoint_every=1, keep_last=2, validation=NO_TRANSLATIONS)
    run = train(data, config, into=tmp_path)
    judged = metrics_of(tmp_path, "validation")
    best = min(judged, key=lambda line: line["loss"])["step"]
    kept = {f.name for f in tmp_path.glob("checkpoints/step_*")}
    assert kept == {"step_11", "step_12", f"step_{best}"}
    assert run.checkpoint_folder().name == f"step_{best}"
    assert [line["step"] for line in judged if line["best"]][-1] == best


def test_validation_measures_what_the_other_verbs_would(data, tmp_path):
    validation = ValidationConfig(every=8, translate=4, width=2)
    run = train(data, small_config(steps=8, schedule=Constant(peak=2e-2), validation=validation), into=tmp_path)
    (judged,) = metrics_of(tmp_path, "validation")
    run = Run.open(tmp_path, checkpoint="latest")
    total = count = 0
    for i in range(len(data.dev)):
        source, target = data.dev.pair(i)
        batch = collate([source], [target], run.model.specials)
        logits = run.model(batch.source, batch.target[:, :-1])
        _, nats, targets = cross_entropy(logits[0].detach().numpy(), batch.target[0, 1:].numpy(), 0.1, 0, ())
        total, count = total + nats, count + targets
    assert judged["loss"] == pytest.approx(total / count, rel=1e-5)
    texts = [each.text for each in translate(run, data.dev.source_text[:4], Beam(width=2))]
    scores = score_hypotheses(texts, [data.dev.target_text[:4]], Scoring(metrics=("bleu", "chrf", "exact")))
    assert {name: judged[name] for name in ("bleu", "chrf", "exact")} == {name: scores[name] for name in ("bleu", "chrf", "exact")}
    assert judged["signature"] == scores.scores["bleu"].signature


def test_the_costliest_batch_is_tried_before_the_first_update(data, tmp_path, monkeypatch):
    """That which has the most logits and attention weights; at each start that has something to do."""
    tried = []
    real = Trainer.try_out

    def noting(self, batch):
        tried.append((self.position.step, batch))
        return real(self, batch)

    monkeypatch.setattr(Trainer, "try_out", noting)
    config = small_config(steps=4, validation=NO_TRANSLATIONS)
    for steps in (2, 4, 4):
        train(data, config, into=tmp_path, steps=steps)
    assert [step for step, _ in tried] == [0, 2]
    costs = {}
    for batch in Batches(data.train, specials=config.model.specials, batch_tokens=90, seed=1).iterate(0):
        (count, source), (_, target) = batch.source.shape, batch.target[:, 1:].shape
        logits, encoder, decoder = 10 * target, 2 * source * source, 2 * target * (source + target)
        costs[tuple(batch.rows)] = count * (logits + encoder + decoder)
    assert costs[tuple(tried[0][1].rows)] == max(costs.values()) > min(costs.values())
    starts = metrics_of(tmp_path, "start")
    assert len(starts) == 2 and all(start["memory"] > 10**7 for start in starts)


def test_validation_changes_nothing_in_the_updates_after_it(data, tmp_path):
    train(data, small_config(steps=9, validation=ValidationConfig(every=2)), into=tmp_path / "often")
    train(data, small_config(steps=9, validation=NO_TRANSLATIONS), into=tmp_path / "rarely")
    assert tensors_of(tmp_path / "often", 9) == tensors_of(tmp_path / "rarely", 9)


def test_a_validation_that_fails_loses_no_update(data, tmp_path, monkeypatch):
    config = small_config(steps=6)
    train(data, config, into=tmp_path / "straight")

    def broken(*_):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr("hexapla.workflow.validation.score_hypotheses", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            train(data, config, into=tmp_path / "run")
    assert Run.open(tmp_path / "run").step == 5
    train(data, config, into=tmp_path / "run")
    assert tensors_of(tmp_path / "run", 6) == tensors_of(tmp_path / "straight", 6)
    assert metrics_of(tmp_path / "run", "validation") == metrics_of(tmp_path / "straight", "validation")


def test_a_diverging_run_stops_with_its_last_checkpoint_whole(data, tmp_path, monkeypatch):
    class Poison(Hook):
        def updated(self, trainer, record):
            if trainer.position.step == 5:
                with torch.no_grad():
                    next(trainer.model.parameters())[4] = math.nan

    config = small_config(steps=20, checkpoint_every=3, validation=NO_TRANSLATIONS)
    with pytest.raises(DivergenceError, match=r"^step 10: 5 updates in a row were left out, .* goes on from the last checkpoint$"):
        train(data, config, into=tmp_path, hooks=[Poison()])
    for folder in tmp_path.glob("checkpoints/step_*"):
        assert int(folder.name[5:]) <= 5
    assert all(p.isfinite().all() for p in Run.open(tmp_path, checkpoint="latest").model.parameters())


def test_the_thread_count_is_the_runs_unless_another_is_asked_for(data, tmp_path, monkeypatch):
    """Sums are rounded differently by another number of threads; torch is only told here, since one thread is what tests have."""
    asked = [1]
    monkeypatch.setattr(torch, "get_num_threads", lambda: asked[-1])
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    monkeypatch.setattr(hardware, "workers", lambda device, threads: 1)
    config = small_config(steps=1, validation=NO_TRANSLATIONS)
    go_on = partial(notices, data, config, tmp_path)
    assert go_on(threads=3) == []
    assert asked == [1, 3, 1]
    assert go_on(steps=2) == ["threads: 3, as the run had so far, so that it goes on exactly"]
    assert asked[3:] == [1, 3, 1]
    assert state_of(tmp_path, 2)["threads"] == 3
    assert go_on(steps=3, threads=2) == ["threads: 3 -> 2: later updates are rounded differently"]
    assert asked[6:] == [2, 1]


@pytest.mark.parametrize("what", ["torch", "device"])
def test_another_torch_or_machine_is_told(data, tmp_path, monkeypatch, what):
    config = small_config(steps=1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path)
    plain = module.surroundings
    monkeypatch.setattr(module, "surroundings", lambda device: plain(device) | {what: "another"})
    here = plain(torch.device("cpu"))[what]
    assert notices(data, config, tmp_path, steps=2) == [f"{what}: {here} -> another: later updates may be rounded differently"]
    assert notices(data, config, tmp_path, steps=3) == []


TRAIN = """
import signal, sys, time
from hexapla.training.hooks import Hook
from hexapla.workflow.train import train
import torch
torch.set_num_threads(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's is ignored
class Kill(Hook):
    def updated(self, trainer, record):
        if trainer.position.step == 6:
            for _ in range(int(sys.argv[4])):
                signal.raise_signal(int(sys.argv[3]))
                time.sleep(0.4)  # what comes sooner is the same wish
try:
    train(sys.argv[1], into=sys.argv[2], hooks=[Kill()])
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    ("number", "times", "code", "step"), [(signal.SIGTERM, 1, 143, 6), (signal.SIGINT, 1, 130, 6), (signal.SIGTERM, 2, 143, 5)]
)
def test_a_signal_saves_and_leaves_and_a_second_one_leaves_at_once(data, tmp_path, number, times, code, step):
    config = small_config(steps=10)
    train(data, config, into=tmp_path / "straight")
    Run.create(tmp_path / "run", config, data)
    command = [sys.executable, "-c", TRAIN, str(data.path), str(tmp_path / "run"), str(int(number)), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (code, "")
    assert Run.open(tmp_path / "run").step == step
    if times == 1:
        assert metrics_of(tmp_path / "run", "end")[-1]["reason"] == f"{number.name}; the same call or command goes on from here"
    train(data, config, into=tmp_path / "run")
    assert tensors_of(tmp_path / "run", 10) == tensors_of(tmp_path / "straight", 10)
    assert metrics_of(tmp_path / "run", "update") == metrics_of(tmp_path / "straight", "update")
