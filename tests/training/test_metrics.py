import json
import logging
import math
import os
from pathlib import Path

import pytest

from hexapla.training.metrics import MetricsLog, last_checkpoint


def record(step, loss=2.0, targets=10, steps=100, skipped=0):
    return {
        "step": step, "steps": steps, "epoch": 0, "loss": loss, "surprise": loss / 2, "targets": targets, "gradient_norm": loss,
        "learning_rate": 1e-3, "skipped": skipped, "update_seconds": 0.5, "tokens_per_second": targets / 0.5, "seconds": 1.0,
        "left_out": 7, "fault": "the loss is nan", "lines": [3, 9],
    }  # fmt: skip


def lines(file):
    return [json.loads(line, parse_constant=pytest.fail) for line in file.read_text().splitlines()]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "metrics.jsonl"


def test_a_line_is_the_mean_over_the_targets_of_its_updates(file):
    log = MetricsLog(file, 2)
    log.on_start({"run": "r", "step": 0})
    for step, (loss, targets) in enumerate([(4.0, 30), (2.0, 10), (1.0, 7)], 1):
        log.on_update(record(step, loss, targets))
    start, update = lines(file)
    assert start == {"event": "start", "run": "r", "step": 0}
    assert update == {
        "event": "update", "step": 2, "steps": 100, "epoch": 0, "gradient_norm": 2.0, "learning_rate": 1e-3, "seconds": 1.0,
        "loss": 3.5, "surprise": 1.75, "tokens_per_second": 40.0, "targets": 40, "left_out": 0,
        "highest_loss": 4.0, "highest_loss_step": 1, "highest_gradient_norm": 4.0,
    }  # fmt: skip


def test_a_spike_stands_beside_the_mean_that_hides_it(file):
    """Also where a stop cut the window in two; what was left out is no spike."""
    log = MetricsLog(file, 4)
    for step, loss in enumerate([2.0, 200.0], 1):
        log.on_update(record(step, loss, targets=1 if loss > 2 else 999))
    log = MetricsLog(file, 4, from_step=2, window=json.loads(json.dumps(log.window)))
    log.on_update(record(3, 2.0))
    log.on_update(record(4, math.inf, skipped=1))
    (update,) = (line for line in lines(file) if line["event"] == "update")
    assert update["loss"] < 3
    assert (update["highest_loss"], update["highest_loss_step"], update["highest_gradient_norm"]) == (200.0, 2, 200.0)


def test_the_last_update_has_a_line_whatever_the_window(file):
    log = MetricsLog(file, 50)
    log.on_update(record(1, steps=1))
    assert [line["step"] for line in lines(file)] == [1]


def test_an_update_that_was_left_out_is_counted_and_hides_no_loss(file):
    log = MetricsLog(file, 2)
    log.on_update(record(1, 3.0))
    log.on_update(record(2, math.nan, skipped=1))
    for step in (3, 4):
        log.on_update(record(step, math.inf, skipped=step - 1))
    means = [line for line in lines(file) if line["event"] == "update"]
    shown = [(line["loss"], line["gradient_norm"], line["targets"], line["left_out"]) for line in means]
    assert shown == [(3.0, None, 10, 1), (None, None, 0, 2)]
    told = [line for line in lines(file) if line["event"] == "left_out"]
    assert told == [
        {"event": "left_out", "step": step, "epoch": 0, "fault": "the loss is nan", "lines": [3, 9], "left_out": 7} for step in (2, 3, 4)
    ]


def test_other_events_are_lines_of_their_own(file):
    log = MetricsLog(file, 50)
    log.on_validation({"step": 5, "loss": math.nan, "best": False})
    log.on_checkpoint({"step": 5})
    log.on_end({"step": 5, "reason": "all steps made"})
    assert lines(file) == [
        {"event": "validation", "step": 5, "loss": None, "best": False},
        {"event": "checkpoint", "step": 5},
        {"event": "end", "step": 5, "reason": "all steps made"},
    ]


def test_a_process_with_nothing_to_do_writes_nothing(file):
    log = MetricsLog(file, 50)
    log.on_start({"step": 5})
    log.on_end({"step": 5})
    assert not file.exists()


def test_going_on_removes_what_is_done_again_and_a_line_cut_short(file):
    file.write_text('{"event": "update", "step": 3}\n{"event": "update", "step": 4}\n{"event": "update", "step": 5}\n{"event": "upd')
    MetricsLog(file, 1, from_step=4)
    assert [line["step"] for line in lines(file)] == [3, 4]


ODD = {
    "a list in a list in a list": b"[" * 100_000,
    "no text": b"\xff\xfe\x00",
    "an endless number": b'{"step": ' + b"9" * 5000 + b"}",
    "another kind of step": b'{"step": "4"}\n{"step": [4]}\n{"step": null}\n{"step": 4.5}\n{"step": 1e999}',
    "no event": b'{"event": ["checkpoint"], "step": 99}\n{"step": 99}\n"step"\n7',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_whatever_stands_in_the_file_training_goes_on_and_keeps_what_is_a_line(file, odd):
    whole = b'{"event": "checkpoint", "step": 4}\n{"event": "update", "step": 5}\n'
    file.write_bytes(whole + odd + b"\n")
    assert last_checkpoint(file) == 4
    MetricsLog(file, 1, from_step=5)
    assert file.read_bytes() == whole


@pytest.mark.parametrize("what", [os.mkfifo, Path.mkdir, lambda file: file.symlink_to("/dev/zero"), lambda file: file.symlink_to(file)])
def test_a_pipe_or_a_device_in_its_place_is_one_warning_and_is_not_waited_for(file, caplog, what):
    what(file)
    with caplog.at_level(logging.WARNING):
        log = MetricsLog(file, 1, from_step=4)
        log.on_update(record(5))
    assert len(caplog.records) == 1
    assert caplog.records[0].getMessage().endswith("; training goes on and measures are lost")


def test_a_window_cut_by_a_stop_goes_on(file, tmp_path):
    whole, before = MetricsLog(file, 4), MetricsLog(tmp_path / "other", 4)
    for step in range(1, 5):
        whole.on_update(record(step, 1 / step, 3 * step))
    for step in range(1, 3):
        before.on_update(record(step, 1 / step, 3 * step))
    after = MetricsLog(tmp_path / "other", 4, from_step=2, window=json.loads(json.dumps(before.window)))
    for step in range(3, 5):
        after.on_update(record(step, 1 / step, 3 * step))
    assert lines(tmp_path / "other") == lines(file)


def test_a_disk_that_refuses_stops_the_log_and_not_the_training(file, monkeypatch, caplog):
    log = MetricsLog(file, 1)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with caplog.at_level(logging.WARNING):
        log.on_update(record(1))
        log.on_update(record(2))
    assert [r.getMessage() for r in caplog.records] == [f"{file}: No space left on device; training goes on and measures are lost"]
