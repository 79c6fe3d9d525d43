"""Processes that translate beside each other, and what becomes of them."""

import os
import signal
import time
from itertools import islice

import pytest
import torch
from untrained import made

from hexapla.config.data import Characters
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.errors import ConfigError, DataError, OutOfMemoryError
from hexapla.workflow import own_engine
from hexapla.workflow.own_engine import worth_workers
from hexapla.workflow.translate import translate_stream
from hexapla.workflow.workers import Workers

LINES = ["ab cd", "", "cd ab ab", "ef", "ab cd ef", "ab", "  ", "cd cd cd cd", "ef a"] * 3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("run"), Characters())


def gone(process: int) -> bool:
    """Whether it has ended and was waited for, or ends within ten seconds."""
    for _ in range(1000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("strategy", [Beam(width=1), Beam(width=3), Sample(seed=4)], ids=["greedy", "beam", "sample"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_workers_change_no_text_no_score_and_no_order(run, strategy, deterministic):
    options = {
        "rules": Rules(max_extra=4),
        "batch_size": 2,
        "chunk": 10,
        "n_best": 2 if isinstance(strategy, Sample) else strategy.width,
        "deterministic": deterministic,
    }
    alone = list(translate_stream(run, LINES, strategy, **options))
    assert list(translate_stream(run, LINES, strategy, workers=3, **options)) == alone


def test_answers_come_in_the_order_of_the_jobs_however_long_each_takes():
    def work(job):
        time.sleep(job / 50)
        return [job, os.getpid()]

    with Workers(2, work) as workers:
        ids = {worker.id for worker in workers.workers}
        answers = list(workers.map([5, 1, 1, 2, 0, 3]))
        assert list(workers.map([])) == []
    assert [job for job, _ in answers] == [5, 1, 1, 2, 0, 3]
    assert {process for _, process in answers} == ids
    assert all(gone(process) for process in ids)


def test_what_a_worker_raises_is_raised_here_in_its_turn():
    def work(job):
        if job == "data":
            raise DataError("line 3: bad")
        if job == "memory":
            raise MemoryError
        if job == "bug":
            raise KeyError("x")
        return job

    with Workers(2, work) as workers:
        answers = workers.map(["good", "data", "bug"])
        assert next(answers) == "good"
        with pytest.raises(DataError, match="line 3: bad"):
            next(answers)
    with Workers(2, work) as workers, pytest.raises(OutOfMemoryError, match="ran out; lower --batch-size, or give fewer --workers"):
        list(workers.map(["memory"]))
    with Workers(2, work) as workers, pytest.raises(RuntimeError, match=r"(?s)in a worker:.*KeyError: 'x'"):
        list(workers.map(["bug"]))


def test_a_worker_that_is_killed_is_an_error_and_the_others_end():
    with Workers(2, lambda job: os.kill(os.getpid(), signal.SIGKILL) if job else time.sleep(60)) as workers:
        ids = [worker.id for worker in workers.workers]
        with pytest.raises(OutOfMemoryError, match=r"a worker process was ended from outside .SIGKILL.*give fewer --workers"):
            list(workers.map([0, 1]))
    assert all(gone(process) for process in ids)


def test_a_worker_that_leaves_is_an_error():
    with Workers(1, lambda job: os._exit(3)) as workers, pytest.raises(OutOfMemoryError, match=r"ended from outside .exit code 3"):
        list(workers.map([1]))


def test_workers_leave_signals_to_the_process_they_come_from():
    def work(job):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)
        return "alive"

    with Workers(1, work) as workers:
        assert list(workers.map([1])) == ["alive"]


def test_workers_end_with_a_process_that_is_killed():
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with Workers(2, lambda job: time.sleep(60)) as workers:
            os.write(writing, " ".join(str(worker.id) for worker in workers.workers).encode())
            list(workers.map([1, 2]))
    ids = [int(word) for word in os.read(reading, 100).split()]
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert all(gone(process) for process in ids)


def test_a_stream_with_workers_reads_no_more_than_a_chunk_ahead(run):
    read = []
    stream = translate_stream(
        run, rules=Rules(max_extra=4), lines=(read.append(line) or line for line in LINES), workers=2, chunk=4, batch_size=1
    )
    list(islice(stream, 4))
    assert len(read) == 4
    del stream


def test_workers_are_worth_it_for_much_text(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert (worth_workers(255, 64), worth_workers(256, 64)) == (1, 2)
    monkeypatch.delattr(os, "fork")
    assert worth_workers(256, 64) == 1


def test_workers_are_refused_where_there_can_be_none(run, monkeypatch):
    with pytest.raises(ConfigError, match="workers = 0"):
        list(translate_stream(run, LINES, workers=0))
    monkeypatch.setattr(own_engine, "device_of", lambda run: torch.device("cuda"))
    with pytest.raises(ConfigError, match="workers = 2: processes that share a model need fork and a CPU, which are not here; give 1"):
        list(translate_stream(run, LINES, workers=2))


def test_settings_are_refused_before_a_worker_starts(run, monkeypatch):
    monkeypatch.setattr(own_engine, "Workers", None)
    with pytest.raises(ConfigError, match="n-best = 9"):
        list(translate_stream(run, LINES, Beam(width=2), n_best=9, workers=2))
