"""What becomes of a sentence depends on it alone: on a trained model, whose doubts a change of rounding would turn."""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from forgetful import Forgetful
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.runs import Run
from hexapla.workflow.score import score
from hexapla.workflow.translate import Translation, translate, translate_stream
from sentences import sentences

MODEL = Path(__file__).parents[1] / "formats" / "1"
GAP = 1e-4
"""two outputs whose scores are closer than this are equally good"""
GIANT = " ".join(["We would like to book a double room with a balcony ."] * 25)
STRATEGIES = {"greedy": ["--greedy"], "beam": ["--beam", "4"], "sample": ["--sample", "--temperature", "0.7", "--seed", "3"]}


class Told(NamedTuple):
    """What became of a line."""

    text: str
    score: float
    log_prob: float
    length: int
    truncated: bool


@cache
def model() -> Run:
    return Run.open(MODEL)


def told(translations: Sequence[Translation]) -> list[Told]:
    return [Told(each.text, each.score or 0.0, each.log_prob or 0.0, each.length, each.truncated) for each in translations]


def shuffled(lines: Sequence[str], **options: Any) -> list[Told]:
    order = random.Random(5).sample(range(len(lines)), len(lines))
    found = told(translate(model(), [lines[i] for i in order], **options))
    return [found[order.index(i)] for i in range(len(lines))]


def assert_alike(expected: Sequence[Told], found: Sequence[Told], *, differing: int = 0, ranked: bool = True) -> None:
    """As many texts differ at most. All scores are close; those of other texts too if they are `ranked`, since then either is the best."""
    assert len(found) == len(expected)
    for one, other in zip(expected, found, strict=True):
        if ranked or one.text == other.text:
            assert other.score == pytest.approx(one.score, abs=GAP), one.text
    assert sum(one.text != other.text for one, other in zip(expected, found, strict=True)) <= differing


def test_neighbours_and_their_order_change_no_text_and_no_score():
    lines, rules = sentences(50), Rules(max_length=40)
    expected = told(translate(model(), lines, rules=rules))
    assert len({each.text for each in expected}) >= 45
    assert_alike(expected, shuffled([*lines, GIANT], rules=rules, batch_size=7)[:50])


def test_deterministic_is_the_same_to_the_last_bit_and_but_for_those_what_batches_give():
    lines = sentences(30)[18:]
    exact = told(translate(model(), lines, deterministic=True))
    torch.set_num_threads(2)
    try:
        assert shuffled(lines, n_best=4, batch_size=5, deterministic=True) == exact
        assert torch.get_num_threads() == 2, "it is put back"
    finally:
        torch.set_num_threads(1)
    assert_alike(told(translate(model(), lines)), exact)


def by_command(lines: Sequence[str], folder: Path, *options: str) -> list[Told]:
    """What `hexapla translate` says of each line: in a process of its own, its floats exact to the last bit."""
    (folder / "lines").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = "from hexapla.cli.main import main; main()"
    arguments = ["translate", str(MODEL), str(folder / "lines"), "--json", *options]
    out = subprocess.run([sys.executable, "-c", command, *arguments], capture_output=True, check=True, encoding="utf-8").stdout
    rows = [json.loads(row) for row in out.split("\n")[:-1]]
    return [Told(*(row[name] for name in Told._fields)) for row in rows]


def shuffled_by_command(lines: Sequence[str], folder: Path, *options: str) -> list[Told]:
    order = random.Random(5).sample(range(len(lines)), len(lines))
    found = by_command([lines[i] for i in order], folder, *options)
    return [found[order.index(i)] for i in range(len(lines))]


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_of_500_sentences_one_differs_at_most_where_two_outputs_are_equally_good(strategy, tmp_path):
    lines, options, ranked = sentences(500), STRATEGIES[strategy], strategy != "sample"
    expected = by_command(lines, tmp_path, *options)
    others = [["--batch-size", "7"], ["--threads", "2"]]
    if strategy == "beam":
        others += [["--batch-size", "1"], ["--n-best", "4"]]
    for other in others:
        assert_alike(expected, shuffled_by_command([*lines, GIANT], tmp_path, *options, *other)[:500], differing=1, ranked=ranked)


@pytest.mark.thorough
@pytest.mark.parametrize(("strategy", "count"), [("beam", 500), ("greedy", 100), ("sample", 100)])
def test_of_500_sentences_deterministic_changes_no_bit(strategy, count, tmp_path):
    lines, options = sentences(count), [*STRATEGIES[strategy], "--deterministic"]
    other = ["--threads", "2", "--batch-size", "7", *(["--n-best", "4"] if strategy == "beam" else [])]
    assert shuffled_by_command(lines, tmp_path, *options, *other) == by_command(lines, tmp_path, *options)


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", [Beam(), Beam(width=1), Sample(seed=3)], ids=str)
def test_a_giant_beside_each_and_no_cache_change_nothing(strategy):
    lines, ranked = sentences(100), isinstance(strategy, Beam)
    expected = told(translate(model(), lines, strategy))
    beside = [line for start in range(0, 100, 10) for line in (GIANT, *lines[start : start + 10])]
    found = told(list(translate_stream(model(), beside, strategy, chunk=11)))
    assert_alike(expected, [each for number, each in enumerate(found) if number % 11], ranked=ranked)
    forgetful = Run.open(MODEL)
    forgetful.__dict__["model"] = Forgetful(model().model)
    assert_alike(expected, told(translate(forgetful, lines, strategy)), ranked=ranked)


@pytest.mark.thorough
def test_the_same_batches_on_the_same_threads_give_the_same_bits_20_times():
    torch.set_num_threads(2)
    try:
        found = [told(translate(model(), sentences(60)[20:])) for _ in range(20)]
    finally:
        torch.set_num_threads(1)
    assert found == [found[0]] * 20


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.thorough)])
def test_a_score_depends_on_its_pair_alone(count):
    sources, targets = sentences(count), list(reversed(sentences(count)))
    exact = score(model(), sources, targets, deterministic=True)
    for size in (7, 64):
        near = score(model(), sources, targets, batch_size=size)
        assert [each.log_prob for each in near] == pytest.approx([each.log_prob for each in exact], abs=GAP, rel=1e-6)
    order = random.Random(5).sample(range(count), count)
    again = score(model(), [sources[i] for i in order], [targets[i] for i in order], deterministic=True)
    assert [again[order.index(i)] for i in range(count)] == exact


@pytest.mark.parametrize("exact", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["", "deterministic"])
def test_two_translations_at_once_give_what_each_gives_alone(exact):
    """On a run that neither has used: its weights are not read yet, and its table of positions is short."""
    parts = [sentences(38)[24:], [*sentences(30)[26:], GIANT]]
    alone = [told(translate(model(), part, deterministic=exact)) for part in parts]
    together: dict[int, list[Told]] = {}
    fresh, start = Run.open(MODEL), threading.Barrier(2)

    def work(number: int) -> None:
        start.wait()
        together[number] = told(translate(fresh, parts[number], deterministic=exact))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(2)] == alone
