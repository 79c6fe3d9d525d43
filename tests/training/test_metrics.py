import json
import logging
import math
from pathlib import Path

import pytest

from hexapla.training.metrics import MetricsLog


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
    }  # fmt: skip


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
