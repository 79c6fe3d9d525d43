import signal
import threading

import pytest

from hexapla.data.listening import while_listening


def test_what_the_work_raises_is_raised_here():
    def fail():
        raise ValueError("no text")

    with pytest.raises(ValueError, match="no text"):
        while_listening(fail)


def test_a_signal_leaves_at_once_while_the_work_goes_on():
    """As sentencepiece does, which holds no Python lock while it learns."""
    until, began = threading.Event(), threading.Event()

    def work():
        began.set()
        until.wait()

    def raise_signal():
        began.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    class Asked(Exception): ...

    def handler(number, frame):
        raise Asked

    before = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Thread(target=raise_signal)
    sender.start()
    try:
        with pytest.raises(Asked):
            while_listening(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
        until.set()
        sender.join()
