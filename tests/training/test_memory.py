import errno
import weakref

import pytest
import torch

from hexapla.errors import OutOfMemoryError
from hexapla.objectives.sequence import transduction
from hexapla.training.memory import enough_memory_for, ran_out
from hexapla.workflow import train as module
from hexapla.workflow.train import train
from small_runs import metrics_of, small_config, small_data

WORDS = {
    "Python": MemoryError(),
    "a system call": OSError(errno.ENOMEM, "Cannot allocate memory"),
    "torch on a CPU": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000 bytes."
    ),
    "torch on Windows and macOS": RuntimeError(
        "[enforce fail] data. DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."
    ),
    "torch on a GPU": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB"),
    "a GPU's library": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "C++": RuntimeError("std::bad_alloc"),
}


@pytest.mark.parametrize("error", WORDS.values(), ids=WORDS)
def test_memory_that_runs_out_is_one_error_whoever_says_so(error):
    assert ran_out(error)
    said = pytest.raises(OutOfMemoryError, match=r"^step 7: memory ran out(, [\w. ]+ more were wanted)?; take less$")
    with said, enough_memory_for(lambda: "step 7", "take less"):
        raise error


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), OSError(errno.ENOSPC, "No space left"), ValueError("out of memory")])
def test_other_errors_are_not_taken_for_it(error):
    with pytest.raises(type(error)) as caught, enough_memory_for(lambda: "step 7", "take less"):
        raise error
    assert caught.value is error


def test_torch_s_own_words_are_known():
    said = pytest.raises(OutOfMemoryError, match=rf"^x: memory ran out, {2**50} bytes more were wanted; y$")
    with said, enough_memory_for(lambda: "x", "y"):
        torch.empty(2**50, dtype=torch.uint8)


def test_what_the_block_held_is_let_go():
    held = []

    class Large: ...

    def work():
        large = Large()
        held.append(weakref.ref(large))
        raise MemoryError

    with pytest.raises(OutOfMemoryError), enough_memory_for(lambda: "x", "y"):
        work()
    assert held[0]() is None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("memory"))


def failing_once(at_call: int, times: list[int]):
    """An objective whose `at_call`-th call finds no memory, after it has held some."""

    def make(smoothing: float):
        plain = transduction(smoothing)

        def objective(model, batch):
            loss = plain(model, batch)
            times.append(len(times) + 1)
            if len(times) == at_call:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes. Error code 12")
            return loss

        return objective

    return make


@pytest.mark.parametrize(
    ("call", "when"),
    [(1, "before step 1"), (2, "step 1"), (12, "step 6"), (13, "step 7")],
    ids=["the one that is tried", "the first", "an update's second", "a later one's first"],
)
def test_a_batch_too_large_for_the_memory_is_named_and_loses_no_update(data, tmp_path, monkeypatch, call, when):
    """An epoch has 7 batches, so 4 updates."""
    config = small_config(steps=9, accumulate=2)
    train(data, config, into=tmp_path / "straight")
    with monkeypatch.context() as patch:
        patch.setattr(module, "transduction", failing_once(call, []))
        with pytest.raises(OutOfMemoryError) as caught:
            train(data, config, into=tmp_path / "run")
    caught.match(
        rf"^{when}: a batch of \d+ pairs padded to \d+ source and \d+ target positions, the longest that of line \d+: memory ran out,"
        r" 99 bytes more were wanted; lower training\.batch_tokens = 90 and raise training\.accumulate = 2 as much, which keeps the size of"
        " an update$"
    )
    done = int(when.split()[-1]) - 1
    assert [file.name for file in (tmp_path / "run/checkpoints").glob("step_*")][-1:] == ([f"step_{done}"] if call > 1 else [])
    run = train(data, config, into=tmp_path / "run")
    assert metrics_of(run.path, "update", "validation") == metrics_of(tmp_path / "straight", "update", "validation")
    for file in ("model.safetensors", "optimiser.safetensors"):
        assert (run.path / "checkpoints/step_9" / file).read_bytes() == (tmp_path / "straight/checkpoints/step_9" / file).read_bytes()
