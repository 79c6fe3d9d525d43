"""C++ that takes long, beside a Python that still listens."""

import threading
from collections.abc import Callable


def while_listening(work: Callable[[], None]) -> None:
    """Do `work` in a thread of its own, and raise here what it raises.

    A signal's handler runs in the main thread between two lines of Python, so not while that thread is in C++ for minutes. Here it only
    waits: what a handler raises leaves at once, and `work` to itself.
    """
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    while thread.is_alive():  # a signal in the instant before the waiting begins is noticed when it ends
        thread.join(0.2)
    if failures:
        raise failures[0]
