"""score: the probability of given targets."""

import math
from itertools import islice
from pathlib import Path

import pytest
import torch
from untrained import made

from hexapla.config.data import Characters
from hexapla.config.decoding import Beam, Rules
from hexapla.config.model import Learned
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.runs import Run
from hexapla.workflow.score import Score, refuse_unscorable, score, score_stream
from hexapla.workflow.translate import translate

SOURCES = ["abc def", "", "a", "fed fed fed fed", "cab"]
TARGETS = ["f", "abc", "", "abc def", "a b c d e f"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("characters"), Characters())


def by_hand(run: Run, source: str, target: str) -> float:
    """The sum over the target, one forward pass for each of its tokens."""
    eos, bos = run.model.specials.eos, run.model.specials.bos
    read, written, total = torch.tensor([[*run.source.encode(source), eos]]), [bos], 0.0
    for token in [*run.target.encode(target), eos]:
        with torch.inference_mode():
            total += run.model(read, torch.tensor([written]))[0, -1].double().log_softmax(dim=0)[token].item()
        written.append(token)
    return total


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_each_pair_has_its_own_probability_in_its_own_place(batch_size, run):
    scores = score(run, SOURCES, TARGETS, batch_size=batch_size)
    expected = [by_hand(run, source, target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    assert [each.log_prob for each in scores] == pytest.approx(expected, abs=1e-4)
    assert [each.length for each in scores] == [len(target) + 1 for target in TARGETS]


def test_what_translate_writes_has_the_probability_it_says(run):
    translations = translate(run, SOURCES, Beam(width=3), rules=Rules(max_extra=3))
    pairs = [(source, each) for source, each in zip(SOURCES, translations, strict=True) if not each.blank]
    scores = score(run, [source for source, _ in pairs], [each.text for _, each in pairs])
    assert [each.log_prob for each in scores] == pytest.approx([each.log_prob for _, each in pairs], abs=1e-4)
    assert [each.length for each in scores] == [each.length for _, each in pairs]


def test_a_batch_has_no_more_logits_than_a_machine_can_hold(run, monkeypatch):
    whole, sizes = score(run, SOURCES, TARGETS), []
    monkeypatch.setattr("hexapla.workflow.score.MOST_LOGITS", 40 * run.config.model.target_vocab)
    hidden = run.model.hidden
    monkeypatch.setattr(run.model, "hidden", lambda source, target: sizes.append(target.shape) or hidden(source, target))
    assert [each.log_prob for each in score(run, SOURCES, TARGETS)] == pytest.approx([each.log_prob for each in whole], abs=1e-5)
    assert len(sizes) > 1
    assert all(count * width <= 40 for count, width in sizes)


def test_a_text_longer_than_is_read_is_named(run):
    long = "abc" * 5
    assert len(score(run, [long, "a"], ["a", long], max_source=15)) == 2
    said = "15 tokens, but at most 14 of a source are scored; shorten it, or raise max_source"
    assert refused(DataError, run, ["a", long], ["a", "a"], max_source=14) == f"source 2: {said}"
    most = 14 + run.config.rules.max_extra
    message = refused(DataError, run, ["a"], ["a" * (most + 1)], max_source=14)
    assert message == f"target 1: {most + 1} tokens, but at most {most} of a target are scored; shorten it, or raise max_source"
    assert refused(ConfigError, run, ["a"], ["a"], max_source=0) == "max_source = 0: must be at least 1"


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_a_stream_gives_what_all_at_once_gives_and_reads_no_more_than_a_chunk_ahead(chunk, run):
    read, whole = [], score(run, SOURCES * 2, TARGETS * 2, deterministic=True)
    pairs = (read.append(pair) or pair for pair in zip(SOURCES * 2, TARGETS * 2, strict=True))
    for count, each in enumerate(score_stream(run, pairs, chunk=chunk, deterministic=True)):
        assert each == whole[count]
        assert len(read) == min(10, (count // chunk + 1) * chunk)
    assert len(read) == 10
    assert list(score_stream(str(run.path), iter([]))) == []


def test_a_stream_numbers_its_pairs_from_its_first(run):
    pairs, said = [("a", "a"), ("a", "b"), ("a", "c" * 5), ("abcd", "a")], "source 4: 4 tokens, but at most 3 of a source are scored"
    stream = score_stream(run, pairs, chunk=3, max_source=3)
    assert [each.length for each in islice(stream, 3)] == [2, 2, 6]
    for refusal in (lambda: next(stream), lambda: refuse_unscorable(run, pairs, max_source=3)):
        with pytest.raises(DataError, match=said):
            refusal()
    with pytest.raises(ConfigError, match="chunk = 0: must be at least 1"):
        next(score_stream(run, pairs, chunk=0))


def test_a_text_that_is_none_is_named(run):
    assert refused(DataError, run, ["a", "\ud800"], ["a", "a"]).startswith("source 2, character 1: U+D800 is half of a surrogate pair")
    assert refused(DataError, run, ["a"], ["b\udfff"]).startswith("target 1, character 2: U+DFFF")


def test_perplexity_is_that_of_a_token():
    assert Score(log_prob=-6.0, length=3).perplexity == pytest.approx(math.exp(2))
    assert Score(log_prob=0.0, length=1).perplexity == 1.0
    assert Score(log_prob=-1e6, length=2).perplexity == math.inf
    assert Score(log_prob=-math.inf, length=2).perplexity == math.inf


def test_no_pairs_have_no_scores(run):
    assert score(run, [], []) == []


def refused(kind, run, sources, targets, **settings):
    with pytest.raises(kind) as caught:
        score(run, sources, targets, **settings)
    return str(caught.value)


def test_counts_that_differ_are_refused_before_the_run_is_opened():
    message = "2 sources, but 1 targets; target i must belong to source i"
    assert refused(DataError, Path("nowhere"), ["a", "b"], ["a"]) == message


def test_a_batch_has_a_pair_at_least(run):
    assert refused(ConfigError, run, ["a"], ["a"], batch_size=0) == "batch_size = 0: must be at least 1"


def test_a_text_longer_than_learned_positions_is_named(tmp_path):
    learned = made(tmp_path, Characters(), positions=Learned(length=8))
    assert len(score(learned, ["abcdefa"], ["fedcbaf"])) == 1
    said = "9 tokens, the end token included, but the model's learned positions serve up to 8; "
    assert refused(DataError, learned, ["a", "abcdefab"], ["a", "a"]).startswith(f"source 2: {said}")
    assert refused(DataError, learned, ["a", "a"], ["abcdefab", "a"]).startswith(f"target 1: {said}")


def test_weights_that_are_no_numbers_are_an_error_of_the_run(tmp_path):
    broken = made(tmp_path, Characters())
    with torch.no_grad():
        broken.model.output.weight.fill_(float("nan"))
    assert refused(CheckpointError, broken, ["a"], ["a"]).startswith(f"{broken.path}: the model's output at token 1 is not a number")
