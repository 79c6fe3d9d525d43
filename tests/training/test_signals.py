import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from hexapla.training.signals import STOPPING, Interrupted, StopOnSignal


def stoppable() -> Any:
    """What the handler sees of a Trainer."""
    reasons = []
    return SimpleNamespace(interruptible=False, reasons=reasons, stop=reasons.append)


@pytest.fixture(autouse=True)
def handlers_come_back():
    """The usual ones are set first: a test run in the background may have been told to ignore Ctrl-C."""
    before = {number: signal.getsignal(number) for number in STOPPING}
    usual = {signal.SIGTERM: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    for number in STOPPING:
        signal.signal(number, usual[number])
    yield
    after = {number: signal.getsignal(number) for number in STOPPING}
    for number in STOPPING:
        signal.signal(number, before[number])
    assert after == usual


@pytest.mark.parametrize(("number", "ending"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_the_first_signal_asks_to_stop_and_training_leaves_as_the_signal_would(number, ending):
    trainer = stoppable()
    with StopOnSignal(trainer) as signals:
        signal.raise_signal(number)
        assert trainer.reasons == [f"{number.name}; the same call or command goes on from here"]
    with pytest.raises(ending) as caught:
        signals.leave_if_asked()
    assert getattr(caught.value, "code", 143) == 143


@pytest.mark.parametrize(("number", "ending"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_second_signal_ends_it_on_the_spot(number, ending):
    with pytest.raises(ending), StopOnSignal(stoppable()):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(number)
        pytest.fail("went on")


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


def test_an_ignored_signal_stays_ignored():
    """As nohup and a shell's background jobs have it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with StopOnSignal(stoppable()) as signals:
            signal.raise_signal(signal.SIGINT)
        signals.leave_if_asked()
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_sets_no_handlers():
    found = []

    def train():
        with StopOnSignal(stoppable()):
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
