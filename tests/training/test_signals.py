import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hexapla.training import signals as module
from hexapla.training.signals import ENDING, Interrupted, StopOnSignal

ENDINGS = [(signal.SIGTERM, SystemExit, 143), (signal.SIGINT, KeyboardInterrupt, None), (signal.SIGHUP, SystemExit, 129)]


def stoppable() -> Any:
    """What the handler sees of a Trainer."""
    reasons = []
    return SimpleNamespace(interruptible=False, reasons=reasons, stop=reasons.append)


@pytest.fixture(autouse=True)
def handlers_come_back():
    """The usual ones are set first: a test run in the background may have been told to ignore some."""
    before = {number: signal.getsignal(number) for number in ENDING}
    usual = dict.fromkeys(ENDING, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    for number in ENDING:
        signal.signal(number, usual[number])
    yield
    after = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, before[number])
    assert after == usual


@pytest.fixture
def no_burst(monkeypatch):
    """A second signal is a second one, however soon it comes."""
    monkeypatch.setattr(module, "BURST_SECONDS", -1.0)


@pytest.mark.parametrize(("number", "error", "code"), ENDINGS)
def test_the_first_signal_asks_to_stop_and_training_leaves_as_the_signal_would(number, error, code):
    trainer = stoppable()
    with StopOnSignal(trainer) as signals:
        signal.raise_signal(number)
        assert trainer.reasons == [f"{number.name}; the same call or command goes on from here"]
    with pytest.raises(error) as caught:
        signals.leave_if_asked()
    assert getattr(caught.value, "code", None) == code


@pytest.mark.parametrize(("number", "error", "code"), ENDINGS)
def test_a_second_signal_ends_it_on_the_spot(number, error, code, no_burst):
    with pytest.raises(error) as caught, StopOnSignal(stoppable()):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(number)
        pytest.fail("went on")
    assert getattr(caught.value, "code", None) == code


def test_a_second_signal_goes_to_whoever_handled_it_before(no_burst):
    heard = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    with StopOnSignal(stoppable()):
        signal.raise_signal(signal.SIGTERM)
        assert heard == []
        signal.raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGTERM]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_signals_in_one_burst_are_one():
    """`timeout` signals its child and then the group; a terminal that closes sends SIGHUP, and its shell another."""
    trainer = stoppable()
    with StopOnSignal(trainer):
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(number)
    assert trainer.reasons == ["SIGTERM; the same call or command goes on from here"]


def test_what_may_be_abandoned_is_abandoned():
    trainer = stoppable()
    with StopOnSignal(trainer):
        trainer.interruptible = True
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGTERM)
    assert len(trainer.reasons) == 1


def test_without_a_signal_nothing_happens():
    with StopOnSignal(stoppable()) as signals:
        pass
    signals.leave_if_asked()


@pytest.mark.parametrize("number", ENDING)
def test_an_ignored_signal_stays_ignored(number):
    """As nohup and a shell's background jobs have it."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with StopOnSignal(stoppable()) as signals:
            signal.raise_signal(number)
        signals.leave_if_asked()
    finally:
        signal.signal(number, before)


def test_another_thread_sets_no_handlers():
    found = []

    def train():
        with StopOnSignal(stoppable()):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
