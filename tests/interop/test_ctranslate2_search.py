"""CTranslate2 searches as decoding.search does: the same ids, scores and flags."""

import warnings
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from hexapla.config.attention import AttentionConfig
from hexapla.config.data import Characters
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.data.batches import collate
from hexapla.data.tokenizer import EntryTokenizer
from hexapla.data.vocabulary import Vocabulary
from hexapla.decoding.search import search
from hexapla.errors import CheckpointError, ConfigError
from hexapla.interop import ctranslate2_search
from hexapla.interop.ctranslate2_model import write_model
from hexapla.interop.ctranslate2_search import CTranslate2
from hexapla.models.build import build
from hexapla.models.seq2seq import Seq2Seq

VOCAB = 24
TOKENIZER = EntryTokenizer(Vocabulary([chr(ord("a") + i) for i in range(VOCAB - 4)]), Characters())
GREEDY = Beam(width=1)
CLOSE = 1e-3
"""nats of an output of up to 40 tokens, by weights so large that rounding grows; tests/models/test_ctranslate2.py is stricter"""


@dataclass
class Both:
    """A model of ours and the same in CTranslate2."""

    model: Seq2Seq
    theirs: CTranslate2

    def outputs(self, sources, beam, rules, *, n_best=1, prefix=()):
        batch = collate(sources, [[] for _ in sources], self.model.specials)
        ours = search(self.model, batch.source, beam, rules, n_best=n_best, prefixes=[prefix] * len(sources))
        asked = dict(enumerate(sources))
        theirs = dict(self.theirs.searched(asked, beam, rules, n_best=n_best, prefix=prefix, batch_size=3))
        return ours, [theirs[i] for i in range(len(sources))]


def both(folder, *, seed=3, eos=1.5, unk=-30.0) -> Both:
    """A random model; `eos` and `unk` are how much it likes to end, and to write the unknown token."""
    stack = StackConfig(layers=2, attention=AttentionConfig(heads=2), feed_forward=FeedForwardConfig(d_ff=16), norm_position="pre")
    config = Seq2SeqConfig(source_vocab=VOCAB, target_vocab=VOCAB, d_model=8, encoder=stack, decoder=stack, tie="none", output_bias=True)
    torch.manual_seed(seed)
    model = build(config).eval()
    assert model.output.bias is not None
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("decoder.layers") or name == "output.weight":
                parameter.mul_(3)
        model.output.bias[:4] = torch.tensor([-30.0, unk, -30.0, eos])
    return Both(model, engine(model, folder))


def engine(model, folder, *, positions=2048, type: Any = "float32"):
    pieces = TOKENIZER.pieces(range(VOCAB))
    write_model(model, folder, source=pieces, target=pieces, type=type, positions=positions)
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CTranslate2("here", files, model.config, TOKENIZER, TOKENIZER, type=type, positions=positions, threads=1)


def sources(count=40, seed=3):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (count,), generator=generator).tolist()
    return [torch.randint(4, VOCAB, (length,), generator=generator).tolist() for length in lengths]


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert [(h.ids, h.truncated) for h in other] == [(h.ids, h.truncated) for h in one]
        for mine, yours in zip(one, other, strict=True):
            assert yours.log_prob == pytest.approx(mine.log_prob, abs=CLOSE)
            assert yours.score == pytest.approx(mine.score, abs=CLOSE, rel=CLOSE)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Outputs of many lengths: some end at once, some at the limit."""
    return both(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "penalty",
    [{}, {"length_penalty": 1.5}, {"penalty": "power", "length_penalty": 1.0}, {"penalty": "none"}, {"length_penalty": -2.0}],
    ids=str,
)
def test_beams_of_every_penalty_are_ours(penalty, width, pair):
    ours, theirs = pair.outputs(sources(), Beam(width=width, **penalty), Rules(max_extra=30))
    assert len({h.length for (h,) in ours}) > 1
    assert not all(h.truncated for (h,) in ours)
    assert_same(ours, theirs)


@pytest.mark.parametrize("n_best", [2, 4])
def test_n_best_outputs_are_ours(n_best, pair):
    assert_same(*pair.outputs(sources(), Beam(width=4, length_penalty=1.5), Rules(max_extra=30), n_best=n_best))


@pytest.mark.parametrize("seed", range(6))
def test_beams_of_other_models_are_ours(seed, tmp_path):
    assert_same(*both(tmp_path, seed=seed).outputs(sources(), Beam(width=4), Rules(max_extra=30), n_best=4))


@pytest.mark.parametrize("limits", [{"max_extra": 0}, {"max_extra": 3}, {"max_length": 1}, {"max_length": 4}], ids=str)
@pytest.mark.parametrize("width", [1, 4])
def test_what_the_limit_ends_is_ours(width, limits, tmp_path):
    pair = both(tmp_path, eos=-2.0)
    ours, theirs = pair.outputs(sources(), Beam(width=width), Rules(**limits), n_best=width)
    assert sum(found[0].truncated for found in ours) > 20
    assert_same(ours, theirs)


def test_what_ends_at_the_limit_by_itself_is_not_truncated(tmp_path):
    pair = both(tmp_path, eos=2.0)
    for width in (1, 4):
        ours, theirs = pair.outputs(sources(200), Beam(width=width), Rules(max_length=2))
        at_limit = [found[0] for found in ours if len(found[0].ids) == 2]
        assert {h.truncated for h in at_limit} == {True, False}
        assert_same(ours, theirs)


RULES = [
    {"min_length": 4}, {"no_repeat": 1}, {"no_repeat": 2}, {"no_repeat": 3}, {"suppress": (4, 5, 6, 7, 8)}, {"suppress": (3,)},
    {"min_length": 3, "no_repeat": 1, "suppress": (9, 10)}, {"min_length": 12, "max_length": 12},
]  # fmt: skip


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_greedy_search_keeps_rules_as_ours_does(rules, pair):
    assert_same(*pair.outputs(sources(), GREEDY, Rules(max_extra=6, **rules)))


@pytest.mark.parametrize("prefix", [[7], [7, 7, 9, 20, 11, 5, 6, 8]], ids=len)
@pytest.mark.parametrize("rules", [{}, {"no_repeat": 1}, {"min_length": 4}, {"suppress": (7, 8)}, {"max_length": 2}], ids=str)
def test_greedy_search_keeps_a_prefix_as_ours_does(rules, prefix, pair):
    ours, theirs = pair.outputs(sources(), GREEDY, Rules(max_extra=6, **rules), prefix=prefix)
    assert all(list(h.ids[: len(prefix)]) == prefix for (h,) in ours)
    assert_same(ours, theirs)


def test_greedy_search_never_writes_the_unknown_token(tmp_path):
    pair = both(tmp_path, unk=3.0)
    assert_same(*pair.outputs(sources(), GREEDY, Rules(max_extra=6)))


def test_a_beam_never_writes_the_unknown_token_and_its_scores_are_true(tmp_path):
    """What CTranslate2 forbids it forbids before the softmax; the outputs may be others than ours, their probabilities are not."""
    pair = both(tmp_path, unk=3.0)
    _, theirs = pair.outputs(sources(), Beam(width=4), Rules(max_extra=6), n_best=4)
    for source, found in zip(sources(), theirs, strict=True):
        assert found
        assert all(1 not in h.ids for h in found)
        for h in found:
            target = torch.tensor([[2, *h.ids, 3]])
            log_probs = pair.model(torch.tensor([[*source, 3]]), target[:, :-1]).log_softmax(dim=-1)
            wanted = log_probs.gather(2, target[:, 1:, None]).sum().item()
            assert h.log_prob == pytest.approx(wanted, abs=CLOSE)


def test_an_output_that_ctranslate2_would_leave_out_is_asked_for(tmp_path, monkeypatch):
    """Where several hypotheses end in the last step, it hands out the likeliest four, and the fourth best by our score may be another."""
    pair, beam = both(tmp_path, seed=1, eos=2.5), Beam(width=4, penalty="power", length_penalty=1.0)
    assert_same(*pair.outputs(sources(), beam, Rules(max_extra=30), n_best=4))
    monkeypatch.setattr(ctranslate2_search, "PATIENCE", ())
    ours, theirs = pair.outputs(sources(), beam, Rules(max_extra=30), n_best=4)
    assert [[h.ids for h in found] for found in ours] != [[h.ids for h in found] for found in theirs]


def test_rules_that_leave_nothing_to_write_give_no_output(pair):
    everything = tuple(range(3, VOCAB))
    for rules in (Rules(suppress=everything), Rules(no_repeat=1, min_length=30, max_extra=40)):
        ours, theirs = pair.outputs([[5, 6]], GREEDY, rules)
        assert ours == theirs == [[]]


def test_no_source_asks_nothing(pair):
    assert dict(pair.theirs.searched({}, GREEDY, Rules(), n_best=1, prefix=(), batch_size=4)) == {}


@pytest.mark.parametrize(
    ("strategy", "rules", "prefix", "words"),
    [
        (Sample(), {}, (), "--sample: CTranslate2 draws other samples than we do; leave it out, or use --engine own"),
        *(
            (Beam(), rules, prefix, f"{name}: with a beam CTranslate2 would search otherwise than we do; add --greedy, or use --engine own")
            for name, rules, prefix in [
                ("no_repeat", {"no_repeat": 2}, ()), ("min_length", {"min_length": 2}, ()), ("suppress", {"suppress": (5,)}, ()),
                ("prefix", {}, (5,)),
            ]
        ),
        (
            Beam(width=11),
            {},
            (),
            "beam = 11: for 24 target tokens CTranslate2 searches as we do up to a beam of 10; give a narrower one, or use --engine own",
        ),
        (
            Beam(),
            {"max_source": 3000},
            (),
            "rules.max_source = 3000: allows outputs of 3,050 tokens, but here has 2,048 positions; "
            "give a smaller --max-source, --max-extra or --min-length, or use --engine own",
        ),
    ],
)  # fmt: skip
def test_what_it_cannot_do_as_we_do_is_refused(strategy, rules, prefix, words, pair):
    with pytest.raises(ConfigError) as caught:
        list(pair.theirs.searched({0: [5]}, strategy, Rules(**rules), n_best=1, prefix=prefix, batch_size=4))
    assert str(caught.value) == words


def test_files_that_ctranslate2_cannot_read_are_refused_in_a_line():
    config = Seq2SeqConfig(source_vocab=VOCAB, target_vocab=VOCAB)
    with pytest.raises(CheckpointError, match=r"^here: CTranslate2 cannot load it: .*; export again$"):
        CTranslate2("here", {"model.bin": b"nothing"}, config, TOKENIZER, TOKENIZER, type="float32", positions=1)
