import io
import json
import lzma
import os
import subprocess
import sys
import tomllib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapla.config.data import Bpe, Bytes, Characters, Cleaning, Unigram, Words
from hexapla.data import texts as spooling
from hexapla.data.folder import sha256_of
from hexapla.data.hold_out import choose, usual_hold_out
from hexapla.data.prepared import Prepared
from hexapla.errors import ConfigError, DataError
from hexapla.workflow import prepare as module
from hexapla.workflow.prepare import prepare

PAIRS = [(f"the dog number {n} barks", f"der hund nummer {n} bellt") for n in range(40)]


def tsv(file, pairs):
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return file


def texts_of(prepared, split=None):
    split = prepared.train if split is None else split
    pairs = [split.pair(i) for i in range(len(split))]
    return [(prepared.source.decode(source.tolist()), prepared.target.decode(target.tolist())) for source, target in pairs]


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def corpus(tmp_path):
    return tsv(tmp_path / "train.tsv", PAIRS)


@pytest.mark.parametrize("subwords", [Bpe(330), Unigram(330), Characters(), Words(), Bytes()], ids=lambda config: config.kind)
@pytest.mark.parametrize("joint", [True, False])
def test_the_ids_are_the_corpus(tmp_path, corpus, subwords, joint):
    prepared = prepare(corpus, into=tmp_path / "data", subwords=subwords, joint=joint)
    assert texts_of(prepared) == PAIRS
    assert [prepared.train.line(i) for i in range(40)] == list(range(1, 41))
    assert (prepared.joint, prepared.dev) == (joint, None)


def test_two_files_give_what_one_with_tabs_gives(tmp_path, corpus):
    for side, name in enumerate(("de", "en")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    one, two = (
        prepare(corpus, into=tmp_path / "1", subwords=Words()),
        prepare(tmp_path / "de", tmp_path / "en", into=tmp_path / "2", subwords=Words()),
    )
    assert one.fingerprint == two.fingerprint


def test_the_folder_holds_all_that_training_needs_and_no_more(tmp_path, corpus):
    prepare(corpus, into=tmp_path / "data", subwords=Bpe(330))
    assert names(tmp_path / "data") == [
        "dev-00000.arrow",
        "dropped.jsonl",
        "prepared.toml",
        "report.json",
        "subwords.model",
        "tokenizer.toml",
        "train-00000.arrow",
    ]
    assert names(tmp_path) == ["data", "train.tsv"]
    Prepared.open(tmp_path / "data", verify=True)


def test_the_same_corpus_gives_the_same_folder(tmp_path, corpus):
    for name in ("one", "two"):
        prepare(corpus, into=tmp_path / name, subwords=Bpe(330), hold_out=5)
    assert {file.name: sha256_of(file) for file in (tmp_path / "one").iterdir()} == {
        file.name: sha256_of(file) for file in (tmp_path / "two").iterdir()
    }


def test_chunks_do_not_show(tmp_path, corpus, monkeypatch):
    whole = prepare(corpus, into=tmp_path / "whole", subwords=Bpe(330), hold_out=5)
    monkeypatch.setattr(spooling, "CHUNK", 3)
    parts = prepare(corpus, into=tmp_path / "parts", subwords=Bpe(330), hold_out=5)
    assert texts_of(parts) == texts_of(whole) and parts.dev is not None and whole.dev is not None
    assert parts.dev.source_text == whole.dev.source_text
    assert sha256_of(tmp_path / "parts" / "subwords.model") == sha256_of(tmp_path / "whole" / "subwords.model")


def test_a_chunk_has_so_many_pairs_or_so_much_text_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(spooling, "CHUNK_CHARACTERS", 20)
    pairs = [("a" * 8, "b" * 3), ("c" * 8, "d" * 3), ("e", "f"), ("g" * 30, "h"), ("i", "j")]
    prepared = prepare(tsv(tmp_path / "t.tsv", pairs), into=tmp_path / "data", subwords=Characters())
    assert texts_of(prepared) == pairs
    with pa.ipc.open_file(str(tmp_path / "data" / "train-00000.arrow")) as shard:
        assert [shard.get_batch(n).num_rows for n in range(shard.num_record_batches)] == [2, 2, 1]


DIRTY = [
    ("a b", "c d"),
    ("", "lonely"),
    ("a b", "c d"),
    ("same", "same"),
    ("a\u00a0b", "\u3000"),
    ("one two three four five six seven", "x"),
    ("w " * 9, "w " * 11),
    ("last", "one"),
]


def test_every_pair_that_is_not_kept_has_its_reason_and_line(tmp_path):
    cleaning = Cleaning(max_tokens=10, max_ratio=1.0, duplicates="drop", copies="drop")
    prepared = prepare(tsv(tmp_path / "dirty.tsv", DIRTY), into=tmp_path / "data", subwords=Words(), cleaning=cleaning, max_dropped=0.9)
    assert texts_of(prepared) == [("a b", "c d"), ("last", "one")]
    assert [json.loads(line) for line in (tmp_path / "data" / "dropped.jsonl").read_text().splitlines()] == [
        {"split": "train", "line": 2, "reason": "empty", "source": 0, "target": 6},
        {"split": "train", "line": 3, "reason": "duplicate", "source": 3, "target": 3},
        {"split": "train", "line": 4, "reason": "copy", "source": 4, "target": 4},
        {"split": "train", "line": 5, "reason": "empty", "source": 3, "target": 1},
        {"split": "train", "line": 7, "reason": "too_long", "source": 9, "target": 11},
        {"split": "train", "line": 6, "reason": "ratio", "source": 7, "target": 1},
    ]
    report = prepared.report["corpus"]["train"]
    assert report == {
        "read": 8,
        "kept": 2,
        "held_out": 0,
        "cut": 0,
        "dropped": {"bad_bytes": 0, "empty": 2, "duplicate": 1, "copy": 1, "too_long": 1, "ratio": 1},
    }
    assert prepared.report["splits"]["train"] == {
        "pairs": 2,
        "source": {"tokens": 3, "longest": 2, "unknown": 0},
        "target": {"tokens": 3, "longest": 2, "unknown": 0},
    }


def test_a_longer_side_is_cut_where_that_is_asked(tmp_path):
    file = tsv(tmp_path / "t.tsv", [("a b c d", "x"), ("a", "x y z"), ("a b", "x y")])
    prepared = prepare(file, into=tmp_path / "data", subwords=Words(), cleaning=Cleaning(max_tokens=2, too_long="cut"))
    assert texts_of(prepared) == [("a b", "x"), ("a", "x y"), ("a b", "x y")]
    assert (prepared.report["corpus"]["train"]["kept"], prepared.report["corpus"]["train"]["cut"]) == (3, 2)
    assert [json.loads(line) for line in (tmp_path / "data" / "dropped.jsonl").read_text().splitlines()] == [
        {"split": "train", "line": 1, "reason": "cut", "source": 4, "target": 1},
        {"split": "train", "line": 2, "reason": "cut", "source": 1, "target": 3},
    ]


def test_a_text_that_normalisation_empties_is_empty(tmp_path, corpus):
    file = tsv(tmp_path / "t.tsv", [*PAIRS, ("\u200b", "b")])
    prepared = prepare(file, into=tmp_path / "data", subwords=Bpe(330, normalise="nmt_nfkc"))
    assert (len(prepared.train), prepared.report["corpus"]["train"]["dropped"]["empty"]) == (40, 1)


@pytest.mark.parametrize("ratio", [None, 1.0])
def test_a_dev_set_keeps_every_pair_with_a_text(tmp_path, corpus, ratio):
    """Else its BLEU would not be that of the file the user has."""
    dev = [("same", "same"), ("same", "same"), ("", "x"), ("w " * 30 + "w", "x"), ("dog", "hund")]
    cleaning = Cleaning(max_tokens=30, max_ratio=ratio, duplicates="drop", copies="drop", too_long="cut")
    prepared = prepare(corpus, into=tmp_path / "data", subwords=Characters(), cleaning=cleaning, dev=tsv(tmp_path / "dev.tsv", dev))
    assert prepared.dev is not None and len(prepared.train) == 40
    assert list(zip(prepared.dev.source_text, prepared.dev.target_text, strict=True)) == [pair for pair in dev if pair[0]]
    assert [prepared.dev.line(i) for i in range(4)] == [1, 2, 4, 5]
    assert prepared.dev.lengths[2].tolist() == [61, 1]
    account = prepared.report["corpus"]["dev"]
    assert (account["read"], account["kept"], account["dropped"]["empty"], account["held_out"]) == (5, 4, 1, 0)
    assert json.loads((tmp_path / "data" / "dropped.jsonl").read_text())["split"] == "dev"


def test_a_dev_set_may_be_two_files(tmp_path, corpus):
    (tmp_path / "d.en").write_text("dog\n")
    (tmp_path / "d.de").write_text("hund\n")
    prepared = prepare(corpus, into=tmp_path / "data", subwords=Words(), dev=(tmp_path / "d.en", tmp_path / "d.de"))
    assert prepared.dev is not None and (prepared.dev.source_text, prepared.dev.target_text) == (["dog"], ["hund"])


@pytest.mark.parametrize("subwords", [Words(), Characters(), Bpe(330, byte_fallback=False)], ids=lambda config: config.kind)
def test_only_training_text_decides_the_vocabulary(tmp_path, corpus, subwords):
    without = prepare(corpus, into=tmp_path / "without", subwords=subwords)
    dev = prepare(corpus, into=tmp_path / "with", subwords=subwords, dev=tsv(tmp_path / "dev.tsv", [("ж", "щ")] * 50))
    assert dev.vocab_size == without.vocab_size and dev.dev is not None
    assert dev.source.decode(dev.dev.pair(0)[0].tolist()) == "⁇"
    assert dev.report["splits"]["dev"]["source"]["unknown"] == 50


def test_what_is_held_out_decides_no_vocabulary(tmp_path):
    pairs = [(f"s{n}", f"t{n}") for n in range(50)]
    prepared = prepare(tsv(tmp_path / "t.tsv", pairs), into=tmp_path / "data", subwords=Words(), hold_out=10)
    assert prepared.vocab_size == 4 + 2 * 40 and prepared.dev is not None
    assert prepared.report["splits"]["dev"]["source"] == {"tokens": 10, "longest": 1, "unknown": 10}


def test_one_vocabulary_is_learned_from_both_sides_and_two_from_one_each(tmp_path):
    file = tsv(tmp_path / "t.tsv", [("a b", "c"), ("a", "c d e")])
    joint = prepare(file, into=tmp_path / "joint", subwords=Words())
    apart = prepare(file, into=tmp_path / "apart", subwords=Words(), joint=False)
    other = prepare(file, into=tmp_path / "other", subwords=Words(), target_subwords=Bytes(), joint=False)
    assert (joint.source_vocab, joint.target_vocab) == (9, 9)
    assert (apart.source_vocab, apart.target_vocab) == (6, 7)
    assert (other.source_vocab, other.target_vocab) == (6, 260)
    assert joint.source.pieces(range(4, 9)) == ["a", "c", "b", "d", "e"]


def test_held_out_pairs_are_set_aside_whole(tmp_path):
    pairs = PAIRS * 3
    prepared = prepare(
        tsv(tmp_path / "t.tsv", pairs), into=tmp_path / "data", subwords=Words(), hold_out=20, cleaning=Cleaning(duplicates="keep")
    )
    assert prepared.dev is not None
    held = list(zip(prepared.dev.source_text, prepared.dev.target_text, strict=True))
    assert len(held) == 18, "six groups of three equal pairs; a seventh would be too many"
    assert sorted(held + texts_of(prepared)) == sorted(pairs)
    assert not {source for source, _ in held} & {source for source, _ in texts_of(prepared)}
    account = prepared.report["corpus"]["train"]
    assert (account["read"], account["kept"], account["held_out"]) == (120, 102, 18)
    assert [pairs[prepared.dev.line(i) - 1] for i in range(18)] == held


def test_the_seed_chooses_what_is_held_out():
    sources = [f"sentence {n}" for n in range(500)]
    masks = {seed: choose(sources, 500, 50, seed) for seed in (1, 2)}
    assert [mask.sum() for mask in masks.values()] == [50, 50]
    assert (choose(sources, 500, 50, 1) == masks[1]).all()
    assert 0 < (masks[1] & masks[2]).sum() < 20, "two independent draws share 5 of 50"


def test_a_larger_corpus_holds_out_some_of_the_same_pairs():
    sources = [f"sentence {n}" for n in range(1100)]
    before, after = choose(sources[:1000], 1000, 50, 1), choose(sources, 1100, 50, 1)
    assert (before & after[:1000]).sum() >= 35, "a draw anew would share 2"


@pytest.mark.parametrize(
    ("pairs", "held"), [(1, 0), (199, 0), (200, 10), (1000, 10), (1100, 11), (29_000, 290), (100_000, 1000), (10**8, 1000)]
)
def test_how_many_are_held_out_unasked(pairs, held):
    assert usual_hold_out(pairs) == held


def test_a_corpus_without_dev_set_holds_out_some(tmp_path):
    pairs = [(f"s{n}", f"t{n}") for n in range(250)]
    file, dev = tsv(tmp_path / "t.tsv", pairs), tsv(tmp_path / "d.tsv", [("a", "b")])
    prepared = prepare(file, into=tmp_path / "data", subwords=Characters())
    assert prepared.dev is not None and (len(prepared.dev), len(prepared.train)) == (10, 240)
    assert prepare(file, into=tmp_path / "none", subwords=Characters(), hold_out=0).dev is None
    assert len(prepare(file, into=tmp_path / "dev", subwords=Characters(), dev=dev).train) == 250


def test_a_large_corpus_is_learned_from_in_even_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEARN_FROM", 8)
    seen = []
    learn = module.learn_tokenizer

    def watched(config, texts):
        seen.extend(texts)
        return learn(config, seen)

    monkeypatch.setattr(module, "learn_tokenizer", watched)
    pairs = [(f"s{n}", f"t{n}") for n in range(20)]
    prepare(tsv(tmp_path / "t.tsv", pairs), into=tmp_path / "data", subwords=Bpe(300))
    assert seen == ["s0", "s5", "s10", "s15", "t0", "t5", "t10", "t15"]
    seen.clear()
    prepare(tsv(tmp_path / "t.tsv", pairs), into=tmp_path / "words", subwords=Words())
    assert len(seen) == 40, "words are counted in the whole corpus"


@given(of=st.integers(0, 60), most=st.integers(1, 60), chunk=st.integers(1, 20))
def test_what_is_taken_evenly_does_not_depend_on_chunks(of, most, chunk):
    taken = [n + at for at in range(0, of, chunk) for n in module.evenly(at, min(chunk, of - at), of, most).tolist()]
    assert taken == ([n * of // most for n in range(most)] if of > most else list(range(of)))


def test_a_smaller_vocabulary_than_asked_is_noted(tmp_path, corpus):
    prepared = prepare(corpus, into=tmp_path / "data", subwords=Bpe(8000))
    (notice,) = prepared.report["notices"]
    assert notice == f"subwords: {prepared.vocab_size} vocabulary entries instead of 8000; the text holds no more different pieces"
    assert prepare(corpus, into=tmp_path / "fits", subwords=Bpe(300)).report["notices"] == []


def test_the_folder_names_the_corpus_and_the_settings(tmp_path, corpus):
    dev = tsv(tmp_path / "dev.tsv", PAIRS[:2])
    prepare(corpus, into=tmp_path / "data", subwords=Words(7), dev=dev, seed=5)
    about = tomllib.loads((tmp_path / "data" / "prepared.toml").read_text())
    assert about["corpus"] == [
        {"split": split, "file": str(file), "bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for split, file in (("train", corpus), ("dev", dev))
    ]
    assert about["settings"]["source"] == {"kind": "words", "size": 7} and about["settings"]["seed"] == 5
    assert about["sizes"] == {"train": 40, "dev": 2, "source_vocab": 11, "target_vocab": 11}


def test_progress_tells_stage_and_count(tmp_path, corpus):
    seen = []
    prepare(corpus, into=tmp_path / "data", subwords=Words(), progress=lambda stage, count: seen.append((stage, count)))
    assert seen == [("read", 40), ("learn", 40), ("encode", 40)]


def test_a_compressed_corpus_is_read(tmp_path):
    file = tmp_path / "t.tsv.xz"
    file.write_bytes(lzma.compress("".join(f"{s}\t{t}\n" for s, t in PAIRS).encode()))
    assert texts_of(prepare(file, into=tmp_path / "data", subwords=Words())) == PAIRS


STREAM = """
import sys
from hexapla.config.data import Words
from hexapla.workflow.prepare import prepare
prepare("-", into=sys.argv[1], subwords=Words(), hold_out=2)
print("torch" in sys.modules)
"""


def test_a_stream_is_enough_and_torch_is_not_needed(tmp_path, corpus):
    command = [sys.executable, "-c", STREAM, str(tmp_path / "data")]
    done = subprocess.run(command, input=corpus.read_bytes(), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"False\n", b"")
    prepared = Prepared.open(tmp_path / "data")
    assert len(prepared.train) == 38
    assert prepared.about["corpus"] == [{"split": "train", "file": "-"}]


def test_sentencepiece_says_nothing(tmp_path, corpus, capfd):
    prepare(corpus, into=tmp_path / "data", subwords=Unigram(8000))
    assert capfd.readouterr() == ("", "")


def refused(kind, tmp_path, *arguments, **options):
    """The message of a refusal, which leaves the place as it was."""
    before = names(tmp_path)
    with pytest.raises(kind) as error:
        prepare(*arguments, into=tmp_path / "data", **{"subwords": Words(), **options})
    assert names(tmp_path) == before and "\n" not in str(error.value)
    return str(error.value)


def test_too_many_dropped_leaves_nothing(tmp_path):
    file = tsv(tmp_path / "t.tsv", [("a", "b"), ("", "b"), ("c", "d")])
    assert refused(DataError, tmp_path, file) == (
        f"{file}: 1 of 3 pairs dropped (33%), more than max_dropped = 0.2 allows: empty 1 (first at line 2);"
        " give those lines a text on both sides or remove them from both, or set a larger max_dropped"
    )
    assert len(prepare(file, into=tmp_path / "data", subwords=Words(), max_dropped=0.5).train) == 2


def test_too_many_dropped_by_size_leaves_nothing(tmp_path):
    file = tsv(tmp_path / "t.tsv", [("a", "b"), ("c", "d e f")])
    assert refused(DataError, tmp_path, file, cleaning=Cleaning(max_tokens=2)) == (
        f"{file}: 1 of 2 pairs dropped (50%), more than max_dropped = 0.2 allows: too_long 1 (first at line 2; subwords: 2-3 1);"
        ' set a larger cleaning.max_tokens, or cleaning.too_long = "cut", or set a larger max_dropped'
    )


def test_no_pair_left_says_why(tmp_path):
    file = tsv(tmp_path / "t.tsv", [("", "b"), ("c c c", "d"), ("e", "f f f")])
    assert refused(DataError, tmp_path, file, cleaning=Cleaning(max_tokens=2), max_dropped=1.0) == (
        f"{file}: no pair of 3 is left: too_long 2 (first at line 2; subwords: 2-3 2), empty 1 (first at line 1);"
        ' set a larger cleaning.max_tokens, or cleaning.too_long = "cut"'
    )


@pytest.mark.parametrize("subwords", [Words(), Bpe(330)], ids=["words", "bpe"])
def test_an_empty_corpus_is_refused(tmp_path, subwords):
    file = tsv(tmp_path / "t.tsv", [])
    assert refused(DataError, tmp_path, file, subwords=subwords).startswith(f"{file}: ")


def test_an_empty_dev_set_is_refused(tmp_path, corpus):
    dev = tsv(tmp_path / "dev.tsv", [("", "x")])
    assert refused(DataError, tmp_path, corpus, dev=dev) == (
        f"{dev}: no pair of 1 is left: empty 1 (first at line 1); give those lines a text on both sides or remove them from both"
    )


def test_different_line_counts_leave_nothing(tmp_path):
    (tmp_path / "a").write_text("x\ny\n")
    (tmp_path / "b").write_text("x\n")
    said = refused(DataError, tmp_path, tmp_path / "a", tmp_path / "b")
    assert f"{tmp_path / 'b'}: 1 lines, but {tmp_path / 'a'} has 2" in said


def test_a_bad_last_line_leaves_nothing(tmp_path, corpus):
    corpus.write_text(corpus.read_text() + "no tab\n")
    assert refused(DataError, tmp_path, corpus).startswith(f"{corpus}:41: ")


def test_a_shared_vocabulary_has_one_kind(tmp_path, corpus):
    assert refused(ConfigError, tmp_path, corpus, target_subwords=Bytes()) == (
        "joint = true: one vocabulary for both sides needs target_subwords unset; unset it, or set joint = false"
    )


def test_a_dev_set_and_a_hold_out_contradict(tmp_path, corpus):
    assert (
        refused(ConfigError, tmp_path, corpus, dev=corpus, hold_out=3) == "hold_out = 3: a dev set is given already; give one or the other"
    )


def test_holding_out_everything_is_refused(tmp_path, corpus):
    assert (
        refused(DataError, tmp_path, corpus, hold_out=40)
        == f"{corpus}: hold_out = 40, but there are 40 pairs; some must be left to train on"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [({"hold_out": -1}, "hold_out = -1: "), ({"subwords": Bpe(0)}, "size = 0: "), ({"max_dropped": 2.0}, "max_dropped = 2.0: ")],
)
def test_settings_out_of_range_are_refused_by_name(tmp_path, corpus, options, words):
    assert words in refused(ConfigError, tmp_path, corpus, **options)


def test_what_is_there_stays_unless_it_may_be_overwritten(tmp_path, corpus):
    into = tmp_path / "data"
    first = prepare(corpus, into=into, subwords=Words())
    other = tsv(tmp_path / "other.tsv", PAIRS[:7])
    assert (
        refused(ConfigError, tmp_path, other)
        == f"{into}: is there already; give another folder, or overwrite it with --overwrite (overwrite=True)"
    )
    assert Prepared.open(into).fingerprint == first.fingerprint
    assert len(prepare(other, into=into, subwords=Words(), overwrite=True).train) == 7


def test_a_real_corpus_of_29000_pairs_is_kept_whole(tmp_path, shared):
    folder = shared / "data" / "multi30k" / "tok"
    files = [folder / f"train.lc.norm.tok.{side}.xz" for side in ("en", "de")]
    prepared = prepare(*files, into=tmp_path / "data", subwords=Bpe(10_000), hold_out=0)
    assert (len(prepared.train), prepared.vocab_size, prepared.report["splits"]["train"]["source"]["unknown"]) == (29_000, 10_000, 0)
    sources = [lzma.decompress(file.read_bytes()).decode().removesuffix("\n").split("\n") for file in files]
    for i in range(0, 29_000, 97):
        source, target = prepared.train.pair(i)
        assert [prepared.source.decode(source.tolist()), prepared.target.decode(target.tolist())] == [side[i] for side in sources]


def test_pairs_with_bad_bytes_are_dropped_only_when_asked_and_counted(tmp_path):
    (tmp_path / "s").write_bytes(b"a b\r\nc \xff d\n\ne\0 f\ng\nlast")
    (tmp_path / "t").write_bytes("A B\nC D\nX\nY\nsch\xf6n\nend\n".encode("latin-1"))
    files = tmp_path / "s", tmp_path / "t"
    assert refused(DataError, tmp_path, *files).startswith(f"{files[0]}:2: byte 7 (0xff) is not UTF-8; ")
    prepared = prepare(*files, into=tmp_path / "data", subwords=Words(), cleaning=Cleaning(bad_bytes="drop"), max_dropped=1.0)
    assert texts_of(prepared) == [("a b", "A B"), ("last", "end")]
    dropped = [json.loads(line) for line in (tmp_path / "data" / "dropped.jsonl").read_text().splitlines()]
    assert [(row["line"], row["reason"]) for row in dropped] == [(2, "bad_bytes"), (3, "empty"), (4, "bad_bytes"), (5, "bad_bytes")]
    assert prepared.report["corpus"]["train"]["dropped"]["bad_bytes"] == 3


def test_a_tsv_line_with_bad_bytes_is_one_pair_however_many_tabs_are_left(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"a\tA\nb\xff B\nc\t\xff\tC\nd\tD\n")
    cleaning = Cleaning(bad_bytes="drop")
    prepared = prepare(tmp_path / "t.tsv", into=tmp_path / "data", subwords=Words(), cleaning=cleaning, max_dropped=0.5)
    assert ([prepared.train.line(i) for i in range(2)], texts_of(prepared)) == ([1, 4], [("a", "A"), ("d", "D")])


def test_a_dev_set_is_never_cleaned_of_bad_bytes(tmp_path, corpus):
    (tmp_path / "dev.tsv").write_bytes(b"a\t\xff\n")
    said = refused(DataError, tmp_path, corpus, dev=tmp_path / "dev.tsv", cleaning=Cleaning(bad_bytes="drop"))
    assert said.startswith(f"{tmp_path / 'dev.tsv'}:1: byte 2 (0xff)")


def test_what_the_dev_set_shares_with_the_training_text_is_noted(tmp_path, corpus):
    dev = tsv(tmp_path / "dev.tsv", [("new", "neu"), PAIRS[3], ("", "x"), (PAIRS[7][0], "anders"), PAIRS[3]])
    (notice,) = prepare(corpus, into=tmp_path / "data", subwords=Words(), dev=dev).report["notices"]
    assert notice == (
        "dev: 3 of 4 sources are in the training text, 2 with the same target (first at line 2); scores on them say little about new text"
    )


@pytest.mark.parametrize("change", ["grows", "vanishes", "is replaced"])
def test_a_corpus_that_changes_before_it_is_recorded_leaves_nothing(tmp_path, corpus, change):
    def meddle(stage, count):
        if stage == "encode":
            text = corpus.read_bytes()
            match change:
                case "grows":
                    corpus.write_bytes(text + b"a\tb\n")
                case "vanishes":
                    corpus.unlink()
                case "is replaced":
                    (tmp_path / "other").write_bytes(text)
                    (tmp_path / "other").rename(corpus)

    with pytest.raises(DataError, match=rf"{corpus}: (changed|vanished) while it was prepared; "):
        prepare(corpus, into=tmp_path / "data", subwords=Words(), progress=meddle)
    assert not [name for name in names(tmp_path) if name != corpus.name]


def test_a_name_that_is_not_utf_8_is_read_recorded_and_no_name_for_a_folder(tmp_path):
    file = tmp_path / os.fsdecode(b"n\xffm.tsv")
    try:
        tsv(file, PAIRS)
    except OSError:
        pytest.skip("this file system has no such names")
    prepared = prepare(file, into=tmp_path / "data", subwords=Words())
    assert prepared.about["corpus"][0]["file"] == f"{tmp_path}/n\\xffm.tsv"
    with pytest.raises(ConfigError, match=r"into = .*n\\udcffm: Arrow writes only to names that are UTF-8; give another folder"):
        prepare(file, into=tmp_path / os.fsdecode(b"n\xffm"), subwords=Words())


def test_a_file_named_like_standard_input_is_not_taken_for_it(tmp_path, corpus, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus.rename("-")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n")))
    prepared = prepare("-", into="data", subwords=Words())
    assert (texts_of(prepared), prepared.about["corpus"]) == ([("a", "b")], [{"split": "train", "file": "-"}])


def test_one_pair_and_one_character_are_enough(tmp_path):
    """A vocabulary larger than the data allows is made smaller, and said to be."""
    for number, subwords in enumerate((Bpe(8000), Unigram(8000), Characters(), Words(8000), Bytes())):
        prepared = prepare(tsv(tmp_path / "t.tsv", [("a", "a")]), into=tmp_path / f"data{number}", subwords=subwords)
        assert texts_of(prepared) == [("a", "a")]
        smaller = [notice for notice in prepared.report["notices"] if "vocabulary entries instead of 8000" in notice]
        assert bool(smaller) == isinstance(subwords, Bpe | Unigram)
