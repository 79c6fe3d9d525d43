"""Models written for CTranslate2: its engine gives our probabilities, whatever the variant."""

import json
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch
from small_models import VARIANTS, VOCAB, config, ids, model, stack

from hexapla.blocks.positions import LearnedPositions, sinusoids
from hexapla.config.model import Learned, Sinusoidal
from hexapla.decoding.score import forced_log_probs
from hexapla.errors import ConfigError
from hexapla.interop.ctranslate2_model import refuse_unsupported, write_model
from hexapla.interop.exported import needs_ctranslate2
from hexapla.interop.pieces import MARK, told_apart

SPECIALS = ["<pad>", "<unk>", "<s>", "</s>"]
CANNOT = {"no layers", "head widths"}
MORE = {
    "relu": {"both": stack(feed_forward={"activation": "relu"})},
    "gelu": {"both": stack(feed_forward={"activation": "gelu"})},
    "silu": {"both": stack(feed_forward={"activation": "silu"})},
    "gated gelu": {"both": stack(feed_forward={"activation": "gelu", "gated": True})},
    "rms after": {"both": stack(norm="rms", norm_position="post")},
    "heads": {"encoder": stack(), "decoder": stack(layers=1, attention={"kv_heads": 2, "bias": False})},
    "one vocabulary untied": {"tie": "none"},
    "decoder tied, one vocabulary": {"tie": "decoder"},
    "bias": {"output_bias": True},
}
ABLE = {**{name: changes for name, changes in VARIANTS.items() if name not in CANNOT}, **MORE}


def pieces(size):
    return [*SPECIALS, *(f"{i}" for i in range(4, size))]


def written(made, folder, type: Any = "float32"):
    """The model in CTranslate2, and the pieces of its ids."""
    source, target = pieces(made.config.source_vocab), pieces(made.config.target_vocab)
    write_model(made, folder, source=source, target=target, type=type, positions=32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        translator = needs_ctranslate2().Translator(str(folder), intra_threads=1, compute_type="int8" if type == "int8" else "float32")
    return translator, source, target


def scores(translator, source, target, sentences):
    found = translator.score_batch([[source[i] for i in s] for s, _ in sentences], [[target[i] for i in t] for _, t in sentences])
    return [torch.tensor(each.log_probs) for each in found]


def ours(made, sentences):
    eos, bos = made.specials.eos, made.specials.bos
    return [forced_log_probs(made, torch.tensor([[*s, eos]]), torch.tensor([[bos, *t, eos]]))[0] for s, t in sentences]


SENTENCES = [([5, 6, 7], [4, 5]), ([8, 9, 10, 4, 6, 1], [6, 7, 1, 9, 10, 4]), ([4], [])]


@pytest.mark.parametrize("variant", ABLE)
def test_a_given_target_has_the_same_probability(variant, tmp_path):
    made = model("paper", **ABLE[variant])
    expected = ours(made, SENTENCES)
    assert torch.cat(expected).std() > 0.15, "random enough to tell models apart"
    for found, wanted in zip(scores(*written(made, tmp_path), SENTENCES), expected, strict=True):
        torch.testing.assert_close(found.double(), wanted.double(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("variant", ["paper", "rms", "grouped heads", "one key head", "gated", "unequal stacks", "learned positions"])
def test_step_by_step_it_writes_what_ours_writes(variant, tmp_path):
    """Score reads all of the target at once; a search reads a token at a time, from a cache."""
    made = model("paper", **ABLE[variant])
    translator, source, target = written(made, tmp_path)
    sentence = ids(1, 5)
    prefix: list[int] = []
    for step in range(6):
        tokens = [source[i] for i in sentence[0].tolist()]
        result = translator.translate_batch([tokens], beam_size=1, max_decoding_length=step + 1, min_decoding_length=step + 1)
        wanted = made(torch.cat([sentence, torch.tensor([[3]])], dim=1), torch.tensor([[2, *prefix]]))[0, -1]
        wanted[3] = -torch.inf
        prefix.append(int(wanted.argmax()))
        assert result[0].hypotheses[0] == [target[i] for i in prefix]


def test_positions_are_a_table_of_ours_and_no_longer(tmp_path):
    made = model("paper")
    translator, source, target = written(made, tmp_path)
    content = (tmp_path / "model.bin").read_bytes()
    assert sinusoids(32, 8).numpy().tobytes() in content
    assert sinusoids(33, 8).numpy().tobytes() not in content
    with pytest.raises(RuntimeError, match="position"):
        scores(translator, source, target, [([5] * 40, [5])])


def test_a_layout_of_halves_is_another_table(tmp_path):
    made = model("paper", positions=Sinusoidal(layout="halves"))
    written(made, tmp_path)
    assert sinusoids(32, 8, layout="halves").numpy().tobytes() in (tmp_path / "model.bin").read_bytes()


def test_its_files_say_which_tokens_are_special(tmp_path):
    written(model("paper"), tmp_path)
    about = json.loads((tmp_path / "config.json").read_text())
    assert (about["unk_token"], about["bos_token"], about["eos_token"], about["decoder_start_token"]) == ("<unk>", "<s>", "</s>", "<s>")
    assert (about["add_source_eos"], about["add_source_bos"], about["layer_norm_epsilon"]) == (True, False, 1e-5)
    assert json.loads((tmp_path / "shared_vocabulary.json").read_text()) == pieces(VOCAB)


def test_two_vocabularies_are_two_files(tmp_path):
    written(model("untied"), tmp_path)
    assert len(json.loads((tmp_path / "source_vocabulary.json").read_text())) == VOCAB
    assert len(json.loads((tmp_path / "target_vocabulary.json").read_text())) == VOCAB + 2


def test_a_tied_matrix_is_stored_once(tmp_path):
    sizes = {}
    for tie in ("all", "none"):
        folder = tmp_path / tie
        folder.mkdir()
        written(model("paper", tie=tie), folder)
        sizes[tie] = (folder / "model.bin").stat().st_size
    assert sizes["none"] - sizes["all"] > 2 * VOCAB * 8 * 4 - 200


@pytest.mark.parametrize(("type", "tolerance"), [("int8", 0.6), ("bf16", 0.3)])
def test_smaller_types_are_smaller_and_near(type, tolerance, tmp_path):
    made = model("paper", d_model=64, both=stack(attention={}))
    for name in ("float32", type):
        (tmp_path / name).mkdir()
    written(made, tmp_path / "float32")
    found = scores(*written(made, tmp_path / type, type), SENTENCES)
    assert (tmp_path / type / "model.bin").stat().st_size < 0.6 * (tmp_path / "float32/model.bin").stat().st_size
    for near, exact in zip(found, ours(made, SENTENCES), strict=True):
        torch.testing.assert_close(near.double(), exact.double(), atol=tolerance, rtol=0.1)
    assert any((near - exact).abs().max() > 1e-4 for near, exact in zip(found, ours(made, SENTENCES), strict=True))


@pytest.mark.parametrize("type", ["float32", "int8", "bf16"])
def test_writing_changes_no_weight_of_ours(type, tmp_path):
    made = model("paper").float()
    before = {name: parameter.clone() for name, parameter in made.named_parameters()}
    written(made, tmp_path, type)
    assert all(torch.equal(parameter, before[name]) for name, parameter in made.named_parameters())


REFUSED = [
    ({"both": stack(layers=0)}, "model.encoder.layers = 0: CTranslate2 needs a layer; such a model cannot be exported to it"),
    (
        {"encoder": stack(), "decoder": stack(attention={"d_k": 3})},
        "model.decoder.attention.d_k = 3: CTranslate2 has d_model / heads = 2 alone; such a model cannot be exported to it",
    ),
    (
        {"both": stack(attention={"d_v": 5})},
        "model.encoder.attention.d_v = 5: CTranslate2 has d_model / heads = 2 alone; such a model cannot be exported to it",
    ),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_ctranslate2_has_not_is_refused_by_name(changes, words):
    with pytest.raises(ConfigError) as caught:
        refuse_unsupported(config(**changes))
    assert str(caught.value) == words


def test_two_norm_epsilons_are_refused():
    both = stack()
    with pytest.raises(ConfigError) as caught:
        refuse_unsupported(config(encoder=both, decoder=replace(both, norm_epsilon=1e-6)))
    assert str(caught.value) == (
        "model.decoder.norm_epsilon = 1e-06: CTranslate2 has one for both stacks, and the encoder's is 1e-05; "
        "such a model cannot be exported to it"
    )


def test_learned_positions_are_written_as_they_are(tmp_path):
    made = model("paper", positions=Learned(length=20))
    written(made, tmp_path)
    assert isinstance(made.positions, LearnedPositions)
    assert made.positions.weight.detach().float().numpy().tobytes() in (tmp_path / "model.bin").read_bytes()


def test_a_word_that_reads_as_a_special_token_is_told_apart():
    found = told_apart([*SPECIALS, "a", "<s>", f"<s>{MARK}", "</s>"], (0, 1, 2, 3))
    assert found[:5] == [*SPECIALS, "a"]
    assert len(set(found)) == len(found)
    assert found[5] == f"<s>{MARK}"
