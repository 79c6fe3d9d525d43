"""Processes that work beside each other: copies of this one, so that they share what it has loaded."""

import ctypes
import json
import os
import signal
import socket
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from select import select
from types import TracebackType
from typing import Any, Self

import torch

from hexapla.errors import CheckpointError, ConfigError, DataError, HexaplaError, OutOfMemoryError, StorageError
from hexapla.training.memory import ran_out, wanted
from hexapla.training.signals import ENDING

Work = Callable[[Any], Any]
"""from what JSON can say to what JSON can say"""
TOLD = {each.__name__: each for each in (ConfigError, DataError, CheckpointError, OutOfMemoryError, StorageError)}
"""the errors that a worker's end of a pipe tells by name"""
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
LENGTH_BYTES = 8


@dataclass
class Worker:
    id: int
    line: socket.socket
    job: int | None = None
    """the number of what it is at"""


class Workers:
    """`count` forked processes that do `work`, each on `threads` threads.

    They leave signals to the process they come from and end with it, however it ends. torch must not have used several threads in this
    process before, unless `threads` is 1: a fork does not take them along.
    """

    def __init__(self, count: int, work: Work, *, threads: int = 1):
        self.workers: list[Worker] = []
        try:
            for _ in range(count):
                self.workers.append(self.start(work, threads))
        except BaseException:
            self.end()
            raise

    def start(self, work: Work, threads: int) -> Worker:
        ours, its = socket.socketpair()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads; ours only compute
            child = os.fork()
        if not child:
            try:
                ours.close()
                for other in self.workers:
                    other.line.close()
                serve(its, work, threads, parent)
            finally:
                os._exit(0)
        its.close()
        return Worker(child, ours)

    def map(self, jobs: Sequence[Any]) -> Iterator[Any]:
        """What `work` makes of each job, in their order. Where it raises, or is not read to its end, all workers end.

        Raises what `work` raised; OutOfMemoryError: something else ended a worker.
        """
        try:
            yield from self.mapped(jobs)
        except BaseException:
            self.end()
            raise

    def mapped(self, jobs: Sequence[Any]) -> Iterator[Any]:
        waiting, answers = deque(enumerate(jobs)), dict[int, dict[str, Any]]()
        for number in range(len(jobs)):
            while number not in answers:
                for worker in self.workers:
                    if worker.job is None and waiting:
                        worker.job, job = waiting.popleft()
                        self.tell(worker, job)
                busy = {worker.line: worker for worker in self.workers if worker.job is not None}
                for line in select(list(busy), [], [])[0]:
                    worker = busy[line]
                    assert worker.job is not None
                    answers[worker.job] = self.answer_of(worker)
                    worker.job = None
            yield result_of(answers.pop(number))

    def tell(self, worker: Worker, job: Any) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # that it is gone shows where its answer is read
            send(worker.line, job)

    def answer_of(self, worker: Worker) -> dict[str, Any]:
        try:
            return receive(worker.line)
        except (EOFError, ConnectionResetError):
            self.workers.remove(worker)
            worker.line.close()
            code = os.waitstatus_to_exitcode(os.waitpid(worker.id, 0)[1])
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise OutOfMemoryError(
                f"a worker process was ended from outside ({how}), as a system does where memory runs out; "
                "give fewer --workers or lower --batch-size"
            ) from None

    def end(self) -> None:
        """They hold nothing that would be lost."""
        for worker in self.workers:
            worker.line.close()
            with suppress(ProcessLookupError):
                os.kill(worker.id, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(worker.id, 0)
        self.workers = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()


def serve(line: socket.socket, work: Work, threads: int, parent: int) -> None:
    """A worker's life: job after job, until nobody gives it one."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    torch.set_num_threads(threads)
    with suppress(EOFError, OSError):
        while os.getppid() == parent:
            job = receive(line)
            send(line, answer(work, job))


def answer(work: Work, job: Any) -> dict[str, Any]:
    try:
        return {"made": work(job)}
    except HexaplaError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except Exception as error:
        if ran_out(error):
            return {"error": OutOfMemoryError.__name__, "message": f"{wanted(error)}; lower --batch-size, or give fewer --workers"}
        return {"bug": traceback.format_exc()}


def result_of(answer: dict[str, Any]) -> Any:
    if "bug" in answer:
        raise RuntimeError(f"in a worker:\n{answer['bug']}")
    if "error" in answer:
        raise TOLD[answer["error"]](answer["message"])
    return answer["made"]


def send(line: socket.socket, message: Any) -> None:
    content = json.dumps(message).encode()
    line.sendall(len(content).to_bytes(LENGTH_BYTES) + content)


def receive(line: socket.socket) -> Any:
    """Raises EOFError: nobody is there any more."""
    return json.loads(whole(line, int.from_bytes(whole(line, LENGTH_BYTES))))


def whole(line: socket.socket, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        some = line.recv(min(size - len(content), 2**20))
        if not some:
            raise EOFError
        content += some
    return bytes(content)
