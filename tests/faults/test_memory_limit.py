"""A limit on memory, met by one huge batch (BAR T25): named with what to lower, and the run goes on from there."""

import re
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from command_child import Child
from hexapla.config.data import Characters, Cleaning
from hexapla.config.load import write_toml
from hexapla.config.stack import FeedForwardConfig
from hexapla.config.training import ValidationConfig
from hexapla.workflow.prepare import prepare
from small_runs import small_config

LONG = 6000
"""characters of the one long pair, on line 31"""
WIDE = FeedForwardConfig(d_ff=8192)
"""197 MB each time for the long pair, 15 MB for all others together"""
STATM = Path("/proc/self/statm")

pytestmark = pytest.mark.skipif(not STATM.exists(), reason="no /proc here, to know how much memory is in use")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Data and the settings of a model for which they are too large."""
    folder = tmp_path_factory.mktemp("limit")
    short = [f"{'abc'[i % 3]}{'def'[i % 2]}" * (1 + i % 4) for i in range(30)]
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line[::-1]}\n" for line in [*short, "ab" * (LONG // 2)]))
    cleaning = Cleaning(max_tokens=LONG + 1)
    data = prepare(folder / "pairs.tsv", into=folder / "data", subwords=Characters(), cleaning=cleaning, hold_out=0)
    config = small_config(vocab=data.vocab_size, steps=8, batch_tokens=2 * LONG + 10, validation=ValidationConfig(translate=0))
    wide = replace(config.model, encoder=replace(config.model.encoder, feed_forward=WIDE))
    write_toml(folder / "config.toml", replace(config, model=wide))
    return folder


def refused(command: list[object], errors: Path) -> str:
    """The last line of a command that may have no more than 300 MB beyond what is in use."""

    def limited() -> None:
        used = int(STATM.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 2**20, resource.RLIM_INFINITY))

    child = Child([*command, "--threads", "1"], errors, limited)
    code, said = child.ended(), errors.read_text()
    assert code == 71, said
    assert "Traceback" not in said
    return said.splitlines()[-1]


@pytest.mark.thorough
def test_training_and_translating_name_what_is_too_large_and_what_to_lower(folder, tmp_path):
    """Training before its first update; with more memory the same command goes on."""
    train = ["train", folder / "data", "--into", tmp_path / "run", "--config", folder / "config.toml"]
    assert re.fullmatch(
        rf"hexapla: before step 1: a batch of 1 pairs padded to {LONG + 2:,} source and {LONG + 2:,} target positions, "
        r"the longest that of line 31: memory ran out(, \d+ bytes more were wanted)?; "
        rf"lower training\.batch_tokens = {2 * LONG + 10} and raise .*",
        refused(train, tmp_path / "errors"),
    )
    child = Child([*train, "--set", "training.steps=1", "--threads", "1"], tmp_path / "errors")
    assert child.ended() == 0, (tmp_path / "errors").read_text()
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in ["abd", "ab" * 500, *["ba" * 500] * 62]))
    translate = ["translate", tmp_path / "run", tmp_path / "lines", "--checkpoint", "latest", "--beam", "2"]
    assert re.fullmatch(
        r"hexapla: \d+ lines at once, the longest line 2 with 1,000 tokens: memory ran out(, \d+ bytes more were wanted)?; lower"
        r" --batch-size, or the width of the beam \(in training: training\.validation\.width\)",
        refused(translate, tmp_path / "errors"),
    )
