"""export: a run in CTranslate2's form, which says what our own engine says, or is refused."""

import hashlib
import json
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import ANY

import pytest
import torch
from untrained import made

from hexapla.config.attention import AttentionConfig
from hexapla.config.data import Bpe, Bytes, Characters, Words
from hexapla.config.decoding import Beam, Rules, Sample
from hexapla.config.model import Learned
from hexapla.data.lines import read_lines
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.interop import ctranslate2_search, exported
from hexapla.interop.exported import Export, open_export
from hexapla.models.build import build
from hexapla.runs import Run
from hexapla.training.checkpoint import write_folder
from hexapla.training.manifest import WEIGHTS
from hexapla.workflow import export as exporting
from hexapla.workflow.export import export
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate, translate_stream
from small_runs import files_of, small_config, small_data

LINES = ["abc def", "", "fed cab fed abc", "\u3000", "a", "<s> b </s>", "f e d c b a", "ab é ▁ 1,50 €"]
GREEDY = Beam(width=1)
SHORT = Rules(max_extra=4)


def save(run, step=1):
    """A checkpoint of a model that nobody trained."""
    with torch.no_grad():
        run.model.output.weight[:3] = 0.0  # so that what is no text is not likelier than all text
    state = {"position": {"step": step}, **run.origin()}
    write_folder(run.path / f"checkpoints/step_{step}", {WEIGHTS: dict(run.model.named_parameters())}, state)
    return Run.open(run.path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return save(made(tmp_path_factory.mktemp("run"), Bytes()))


@pytest.fixture(scope="module")
def ready(run, tmp_path_factory):
    return export(run, into=tmp_path_factory.mktemp("export") / "here", probe=LINES).export


def shown(translations):
    return [(each.text, each.truncated, each.blank, each.left_out, each.length) for each in translations]


@pytest.mark.parametrize("kind", [Bytes(), Characters(), Words(), Bpe(size=280)], ids=lambda kind: kind.kind)
def test_text_of_every_tokenizer_is_translated_as_ours(kind, tmp_path):
    run = save(made(tmp_path, kind))
    made_of = export(run, probe=LINES)
    assert (made_of.probed.lines, made_of.probed.changed, made_of.first) == (len(LINES), 0, None)
    assert made_of.export.path == run.path / "export/ctranslate2-float32"
    for rules in (SHORT, Rules(max_source=3, max_extra=2), Rules(no_repeat=1, max_extra=3)):
        ours = translate(run, LINES, GREEDY, rules=rules)
        theirs = translate(run.path, LINES, GREEDY, rules=rules, engine="ctranslate2")
        assert shown(theirs) == shown(ours)
        assert [each.log_prob for each in theirs] == pytest.approx([each.log_prob for each in ours], abs=1e-3)


@pytest.mark.parametrize("joint", [True, False], ids=["joint", "separate"])
def test_a_run_that_was_trained_is_exported(joint, tmp_path):
    data = small_data(tmp_path)
    if not joint:
        data = prepare(
            tmp_path / "pairs.tsv", into=tmp_path / "two", subwords=Characters(), target_subwords=Bytes(), joint=False, hold_out=0
        )
    config = small_config()
    model = replace(config.model, source_vocab=data.source.vocab_size, target_vocab=data.target.vocab_size, tie="all" if joint else "none")
    run = train(data, replace(config, model=model, decoding=GREEDY), into=tmp_path / "run", steps=4)
    lines = ["abc", "", "fe", "a"]
    found = export(run, probe=lines).export
    assert shown(translate(found, lines, GREEDY)) == shown(translate(run, lines, GREEDY))


def test_beams_n_best_streams_and_chunks_are_ours(run, ready):
    for n_best in (3, 1):
        ours = translate(run, LINES, Beam(width=3), rules=SHORT, n_best=n_best)
        theirs = translate(ready, LINES, Beam(width=3), rules=SHORT, n_best=n_best)
        assert shown(theirs) == shown(ours)
        assert [shown(each.alternatives) for each in theirs] == [shown(each.alternatives) for each in ours]
        assert shown(translate_stream(ready, iter(LINES), Beam(width=3), rules=SHORT, chunk=3, batch_size=2)) == shown(ours)


def test_learned_positions_cut_what_they_cut_for_us(tmp_path):
    run = save(made(tmp_path, Characters(), positions=Learned(length=6)))
    found = export(run, probe=LINES).export
    lines = ["abc def abc", "a"]
    ours = translate(run, lines, GREEDY)
    assert ours[0].left_out
    assert shown(translate(found, lines, GREEDY)) == shown(ours)


def test_a_run_that_is_open_is_exported_and_its_export_found(run):
    export(run, probe=LINES, overwrite=True)
    assert shown(translate(run, LINES, GREEDY, rules=SHORT, engine="ctranslate2")) == shown(translate(run, LINES, GREEDY, rules=SHORT))


def test_no_engine_but_two(run):
    with pytest.raises(ConfigError, match=r"^engine = 'marian': no such engine; own or ctranslate2$"):
        translate(run, LINES, engine="marian")  # type: ignore[arg-type]


def test_the_folder_says_what_it_was_made_from(run, ready):
    about = json.loads((ready.path / "export.json").read_text())
    assert (about["format"], about["program"], about["type"], about["positions"]) == (1, "ctranslate2", "float32", 2048)
    weights = hashlib.sha256((run.path / "checkpoints/step_1/model.safetensors").read_bytes()).hexdigest()
    assert about["origin"] == {"data": run.about["data"], "checkpoint": "step_1", "weights": weights}
    assert about["versions"].keys() == {"hexapla", "ctranslate2"}
    assert about["probed"] == {"lines": 8, "changed": 0, "near_ties": 0, "chrf": pytest.approx(100), "bleu": ANY}
    assert {name: entry["sha256"] for name, entry in about["files"].items()} == {
        str(name): digest for name, digest in files_of(ready.path).items() if str(name) != "export.json"
    }


def test_the_same_run_gives_the_same_model(run, ready, tmp_path):
    again = export(run, into=tmp_path / "again", probe=LINES).export
    assert files_of(again.path) == files_of(ready.path)


def test_unasked_it_probes_in_the_language_that_the_model_is_surest_of(run, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "sureness", lambda run, lines: sum("ä" in line for line in lines))
    monkeypatch.setattr(exporting, "PROBE", 20)
    seen, compare = [], exporting.compare
    monkeypatch.setattr(exporting, "compare", lambda run, export, probe, _: seen.extend(probe) or compare(run, export, ["a"], None))
    export(run, into=tmp_path / "here")
    assert len(seen) == 20
    assert any("ä" in line for line in seen)


def test_the_model_is_surer_of_what_it_has_learned(run):
    assert exporting.sureness(run, ["abc", ""]) < 0


def test_smaller_types_are_judged_by_our_own_texts_or_by_references(run, tmp_path):
    ours = [each.text for each in translate(run, LINES)]
    made_of = export(run, type="int8", into=tmp_path / "int8", probe=LINES, references=ours, most_lost=100)
    assert made_of.probed.lost == pytest.approx(100 - made_of.probed.chrf)
    assert export(run, type="bf16", into=tmp_path / "bf16", probe=LINES, most_lost=100).probed.lost is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"to": "onnx"}, r"to = 'onnx': no such program; there is ctranslate2"),
        ({"type": "int4"}, r"type = 'int4': must be float32, int8 or bf16"),
    ],
)
def test_what_is_not_known_is_refused(changes, words, run):
    with pytest.raises(ConfigError, match=f"^{words}$"):
        export(run, **changes)


def test_a_probe_without_text_and_references_of_other_lines_are_refused(run):
    with pytest.raises(DataError, match=r"^the probe has no line to translate; give some sentences, or leave it out$"):
        export(run, probe=["", " "])
    with pytest.raises(DataError, match=r"^1 references, but 2 lines to translate; reference i must belong to line i$"):
        export(run, probe=["a", "b"], references=["a"])


@pytest.fixture
def unlike(monkeypatch):
    """An export whose weights are not the run's, as a mistake in the writing would make it."""
    write, noise = exporting.write_model, torch.randn(260, 8, generator=torch.Generator().manual_seed(1))

    def wrong(model, folder, **options):
        other = deepcopy(model)
        with torch.no_grad():
            other.output.weight[4:].add_(noise[4:], alpha=3.0)
        write(other, folder, **options)

    monkeypatch.setattr(exporting, "write_model", wrong)


def test_an_export_that_says_something_else_is_refused_and_leaves_nothing(run, tmp_path, unlike):
    place = tmp_path / "here"
    words = rf"{place}: 6 of 8 lines are translated otherwise than by our own engine, float32 must change none; line 1: .* became .*; "
    with pytest.raises(ConfigError, match=rf"^{words}allow it by --most-lost$"):
        export(run, into=place, probe=LINES)
    words = rf"{place}: int8 loses \d\d\.\d\d chrF by our own engine's texts \(6 of 8 lines changed\), more than 10; "
    with pytest.raises(ConfigError, match=rf"^{words}use float32, or allow it by --most-lost$"):
        export(run, type="int8", into=place, probe=LINES)
    references = [each.text for each in translate(run, LINES)]
    with pytest.raises(ConfigError, match=r"chrF by the references \(6 of 8 lines changed\), more than 1;"):
        export(run, type="bf16", into=place, probe=LINES, references=references)
    assert not list(tmp_path.iterdir())
    assert export(run, into=place, probe=LINES, most_lost=100).probed.changed == 6


def test_two_texts_that_score_alike_are_a_near_tie(run, ready, monkeypatch):
    """Asked of a pair of which ours is worse or better by a hair, then by more."""
    line = "abc"
    (theirs,) = translate(ready, [line], GREEDY)
    for gap, tie in ((0.0, True), (9e-5, True), (-9e-5, True), (3e-3, False)):
        assert exporting.is_tie(run, ready, line, replace(theirs, text="other", score=(theirs.score or 0) + gap), GREEDY) is tie
    monkeypatch.setattr(exporting, "is_tie", lambda *_: True)
    probed = exporting.Probed(lines=3, changed=2, near_ties=2, chrf=50.0, bleu=50.0)
    exporting.refuse_unlike("here", "float32", probed, (1, "a", "b"), None)


def test_an_export_is_replaced_only_when_asked(run, tmp_path):
    place = tmp_path / "here"
    export(run, into=place, probe=LINES)
    with pytest.raises(ConfigError, match="is there already"):
        export(run, into=place, probe=LINES)
    export(run, into=place, probe=LINES, overwrite=True)


def test_without_ctranslate2_it_says_which_extra_brings_it(run, ready, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    words = r"^CTranslate2 cannot be used \(.*\); install it: pip install 'hexapla\[ctranslate2\]'$"
    with pytest.raises(ConfigError, match=words):
        export(run, probe=LINES)
    with pytest.raises(ConfigError, match=words):
        translate(run, LINES, engine="ctranslate2")
    with pytest.raises(ConfigError, match=words):
        translate(Export.open(ready.path), LINES)


def test_an_export_is_of_the_checkpoint_that_is_asked_for(tmp_path):
    run = save(made(tmp_path, Bytes()))
    with pytest.raises(CheckpointError) as caught:
        open_export(run.path)
    assert str(caught.value) == f"{run.path}: has no export to CTranslate2; make one: hexapla export {run.path} --to ctranslate2"
    first = export(run, probe=LINES).export
    assert open_export(run.path, "step_1").path == first.path
    with torch.no_grad():
        run.model.output.weight.add_(0.1)
    save(run, step=2)
    with pytest.raises(CheckpointError) as caught:
        open_export(run.path)
    assert str(caught.value) == (
        f"{first.path}: was made of step_1, whose weights are not those of best now; "
        "export again with --overwrite, or give that folder in place of the run"
    )
    assert open_export(run.path, "step_1").checkpoint == open_export(first.path).checkpoint == "step_1"
    with pytest.raises(CheckpointError) as caught:
        open_export(first.path, "step_2")
    assert str(caught.value) == f"{first.path}: was made of step_1, and step_2 is asked for; export that one"
    export(run.path, type="int8", probe=LINES, most_lost=100)
    with pytest.raises(ConfigError) as caught:
        open_export(run.path)
    places = f"{run.path}/export/ctranslate2-float32, {run.path}/export/ctranslate2-int8"
    assert str(caught.value) == f"{run.path}: has 2 exports; give one in place of the run: {places}"


def test_deterministic_is_refused(ready):
    with pytest.raises(
        ConfigError, match=r"^--deterministic: CTranslate2 does not promise the last bit; leave it out, or use --engine own$"
    ):
        translate(ready, ["a"], deterministic=True)


def test_what_the_run_searches_by_is_probed_greedily_where_ctranslate2_has_not_the_like(tmp_path):
    run = save(made(tmp_path, Bytes()))
    run = run.configured(replace(run.config, decoding=Sample()))
    assert export(run, probe=LINES).probed.changed == 0


def test_another_number_of_heads_for_keys_is_translated_alike(tmp_path):
    run = made(tmp_path, Bytes())
    stack = replace(run.config.model.decoder, attention=AttentionConfig(heads=4, kv_heads=2))
    config = replace(run.config, model=replace(run.config.model, encoder=stack, decoder=stack))
    run = run.configured(config)
    run.model = build(config).eval()
    assert export(save(run), probe=LINES).probed.changed == 0


DAMAGE = {
    "not JSON": (lambda about: "{", "not JSON"),
    "a newer format": (
        lambda about: json.dumps(about | {"format": 10}),
        "written in format 10, this version reads up to 1; update hexapla",
    ),
    "an older format": (lambda about: json.dumps(about | {"format": 0}), "not as it was written; export again"),
    "a strange name": (
        lambda about: json.dumps(about | {"files": about["files"] | {"../x": {"bytes": 1, "sha256": ""}}}),
        "not as it was written; export again",
    ),
    "no positions": (lambda about: json.dumps({k: v for k, v in about.items() if k != "positions"}), "positions"),
    "no settings": (
        lambda about: json.dumps(about | {"files": {k: v for k, v in about["files"].items() if k != "config.toml"}}),
        "files: lacks config.toml; export again",
    ),
}


@pytest.fixture
def copy(ready, tmp_path):
    return shutil.copytree(ready.path, tmp_path / "copy")


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_export_json_is_refused(damage, copy):
    change, words = DAMAGE[damage]
    file = copy / "export.json"
    file.write_text(change(json.loads(file.read_text())))
    with pytest.raises(CheckpointError) as caught:
        translate(copy, ["a"], engine="ctranslate2")
    assert str(caught.value).startswith(str(copy))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json", "config.toml", "tokenizer.toml"])
@pytest.mark.parametrize("damage", ["a byte", "cut", "gone", "a link"])
def test_a_damaged_file_never_reaches_ctranslate2(name, damage, copy, monkeypatch):
    file, content = copy / name, (copy / name).read_bytes()
    match damage:
        case "a byte":
            file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        case "cut":
            file.write_bytes(content[:-1])
        case "gone":
            file.unlink()
        case "a link":
            file.rename(copy / "elsewhere")
            file.symlink_to(copy / "elsewhere")
    monkeypatch.setattr("ctranslate2.Translator", lambda *_, **__: pytest.fail("CTranslate2 was given the files"))
    with pytest.raises(CheckpointError) as caught:
        translate(copy, ["a"], engine="ctranslate2")
    assert str(caught.value).startswith(str(file))


def test_settings_that_cannot_be_are_refused_although_their_hash_is_right(copy):
    about, text = json.loads((copy / "export.json").read_text()), "[model]\nfamily = 1\n"
    (copy / "config.toml").write_text(text)
    about["files"]["config.toml"] = {"bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    (copy / "export.json").write_text(json.dumps(about))
    with pytest.raises(CheckpointError, match=r"config\.toml: model"):
        Export.open(copy)


def test_no_torch_is_loaded_to_translate_with_an_export(ready, tmp_path):
    """PyTorch's threads and CTranslate2's would slow each other down."""
    (tmp_path / "lines").write_text("abc\n\nfed\n")
    code = (
        f"import sys; from hexapla.cli.main import run; export, lines = {str(ready.path)!r}, {str(tmp_path / 'lines')!r}\n"
        "code = run(['translate', export, lines, '--engine', 'ctranslate2', '--greedy', '--max-extra', '4'])\n"
        "assert 'ctranslate2' in sys.modules and 'torch' not in sys.modules\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    wanted = [each.text for each in translate(ready, ["abc", "", "fed"], GREEDY, rules=SHORT)]
    assert done.stdout.split("\n") == [*wanted, ""]


def test_ctranslate2_is_loaded_only_when_it_is_asked_for():
    code = "import sys, hexapla.workflow.translate, hexapla.workflow.export, hexapla.cli.commands; assert 'ctranslate2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({"workers": 3}, (3, 1)),
        ({"threads": 3}, (1, 3)),
        ({"workers": 3, "threads": 2}, (3, 2)),
        ({}, (ctranslate2_search.processors(), 1)),
    ],
    ids=str,
)
def test_workers_and_threads_are_as_asked(asked, given, ready, monkeypatch):
    import ctranslate2

    seen, translator = {}, ctranslate2.Translator
    monkeypatch.setattr("ctranslate2.Translator", lambda *names, **options: seen.update(options) or translator(*names, **options))
    assert translate(open_export(ready.path, **asked), ["a"], GREEDY)[0].text
    assert (seen["inter_threads"], seen["intra_threads"]) == given


def test_the_command_writes_and_tells(run, tmp_path, capsys):
    from hexapla.cli.main import run as command

    (tmp_path / "probe").write_text("abc\nfed\n")
    (tmp_path / "references").write_text("abc\nfed\n")
    place = f"{tmp_path}/here"
    options = ["--to", "ctranslate2", "--probe", f"{tmp_path}/probe"]
    assert command(["export", str(run.path), *options, "--into", place, "--references", f"{tmp_path}/references"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{place}\n"
    assert "step_1 as float32: 2 of 2 lines say the same" in err
    assert "against the references: +0.00 chrF lost" in err
    assert command(["translate", place, f"{tmp_path}/probe", "--engine", "ctranslate2", "--json", "--greedy"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["text"] for row in rows] == [each.text for each in translate(run, list(read_lines(tmp_path / "probe")), GREEDY)]
    assert command(["export", str(run.path), "--to", "ctranslate2", "--references", "x"]) == 2
    assert "--references x: translations of what --probe gives; give both" in capsys.readouterr().err


def test_the_command_shows_the_first_line_that_changed(capsys):
    from hexapla.cli.export import told

    export = SimpleNamespace(checkpoint="step_1", about=SimpleNamespace(type="int8"))
    probed = exported.Probed(lines=1200, changed=3, near_ties=1, chrf=99.5, bleu=98.25, lost=-0.5)
    assert told(SimpleNamespace(export=export, probed=probed, first=(7, "so", "thus"))) == [  # type: ignore[arg-type]
        "step_1 as int8: 1,197 of 1,200 lines say the same",
        "1 of the others are near ties: both texts score alike",
        "against our own engine: chrF 99.50, BLEU 98.25",
        "against the references: -0.50 chrF lost",
        "line 7 was: so",
        "line 7 is:  thus",
    ]
