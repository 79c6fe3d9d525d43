"""Every test session checks the shapes and types in the signatures of what computes with tensors; users pay nothing for them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

TENSOR_LAYERS = ["blocks", "models", "objectives", "decoding", "training", "explanation"]
SHARED = Path(__file__).resolve().parents[1] / "../shared"

for variable in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS", "NO_COLOR", "PY_COLORS"):
    os.environ.pop(variable, None)  # what the commands print must not depend on where the tests run
install_import_hook([f"hexapla.{layer}" for layer in TENSOR_LAYERS], "shape_checker.check")


def pytest_configure(config: pytest.Config) -> None:
    from every_message import MessageRecord

    config.pluginmanager.register(MessageRecord())


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Small tensors gain nothing from a second thread, and a busy machine's results must not depend on how many there are."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Each test draws the same random numbers whatever ran before it, and leaves the global generator as it found it."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and weights beside a checkout."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the checkout: this test needs its real data")
    return SHARED.resolve()
