"""A session that runs all tests must have made every error that the source can make: tests/conftest.py plugs this in.

Only what is raised in the test processes counts, not in children that a test starts or forks.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hexapla.cli.messages import Message, messages
from hexapla.errors import HexaplaError

Place = tuple[str, int]
"""a file and a line in it"""


class MessageRecord:
    """A pytest plugin. Under pytest-xdist each worker sends its places to the process that started them."""

    def __init__(self) -> None:
        self.places: set[Place] = set()
        self.missing: list[Message] = []

    def pytest_sessionstart(self) -> None:
        HexaplaError.__init__ = recording(HexaplaError.__init__, self.places)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.places |= {(file, line) for file, line in getattr(node, "workeroutput", {}).get("places", [])}

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        to_starter = getattr(session.config, "workeroutput", None)
        if to_starter is not None:
            to_starter["places"] = sorted(self.places)  # before xdist sends it
        yield
        if to_starter is not None:
            return
        if session.exitstatus == 0 and runs_everything(session.config):
            self.missing = never_made(messages(), self.places)
            session.exitstatus = 1 if self.missing else 0

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for message in self.missing:
            place = f"{message.file}:{message.first_line}"
            terminalreporter.write_line(f"{place}: no test makes this {message.error}: {message.text}", red=True)


def recording(real: Callable[..., None], places: set[Place]) -> Callable[..., None]:
    """`HexaplaError.__init__` that notes where it was called."""

    def init(self: HexaplaError, *arguments: object) -> None:
        frame = sys._getframe(1)
        places.add((frame.f_code.co_filename, frame.f_lineno))
        real(self, *arguments)

    return init


def runs_everything(config: pytest.Config) -> bool:
    """No file, keyword or mark was chosen, nor only what failed before."""
    default_marks = config.getini("addopts")[-1]
    chosen = config.option.keyword or config.option.deselect or getattr(config.option, "lf", False)
    return config.args_source == pytest.Config.ArgsSource.TESTPATHS and not chosen and config.option.markexpr == default_marks


def never_made(wanted: Iterable[Message], places: set[Place]) -> list[Message]:
    made = {(str(Path(file).resolve()), line) for file, line in places}
    return [m for m in wanted if not any((str(m.file), line) in made for line in range(m.first_line, m.last_line + 1))]
