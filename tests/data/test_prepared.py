import math
import os
import random
import shutil
import tomllib

import numpy as np
import pyarrow as pa
import pytest

from hexapla.config.data import Bytes, Characters
from hexapla.data.folder import sha256_of
from hexapla.data.listing import fingerprint_of, read_listing, seal, write_listing
from hexapla.data.prepared import Prepared, Split
from hexapla.data.shards import IDS, IDS_AND_TEXT, ShardWriter, list_column, shortened
from hexapla.data.tokenizer import learn_tokenizer, save_tokenizers
from hexapla.errors import DataError

SOURCE = [[4, 5, 6], [], [7], [259] * 5, [4]]
TARGET = [[8], [9, 10], [11, 12, 13], [14], []]
LINES = [1, 2, 5, 6, 9]
TEXTS = ["a\u2028b", "", "ç", "日本", " x "]


def columns(rows, source=SOURCE, target=TARGET):
    return [pa.array([LINES[i] for i in rows]), *(list_column([side[i] for i in rows]) for side in (source, target))]


def write_split(folder, name, *, chunks=((0, 1, 2), (3, 4)), shard_pairs=100, text=False):
    with ShardWriter(folder, name, IDS_AND_TEXT if text else IDS, shard_pairs=shard_pairs) as writer:
        for rows in chunks:
            texts = [pa.array([TEXTS[i] for i in rows], pa.string())] * 2 if text else []
            writer.write(columns(rows) + texts)
    return writer.files


def finish(folder, **sizes):
    (folder / "prepared.toml").unlink(missing_ok=True)
    write_listing(folder, sizes={"train": 5, "dev": 5, "source_vocab": 260, "target_vocab": 260} | sizes, settings={}, corpus=[])
    return folder


def listing(folder):
    values = tomllib.loads((folder / "prepared.toml").read_text())
    del values["seal"]
    return values


@pytest.fixture
def folder(tmp_path):
    write_split(tmp_path, "train", shard_pairs=2)
    write_split(tmp_path, "dev", text=True)
    tokenizer = learn_tokenizer(Bytes(), [])
    save_tokenizers(tmp_path, tokenizer, tokenizer, True)
    (tmp_path / "report.json").write_text('{"notices": []}')
    return finish(tmp_path)


@pytest.mark.parametrize("shard_pairs", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("chunks", [[[0, 1, 2, 3, 4]], [[0, 1], [2, 3, 4]], [[0], [], [1, 2, 3, 4]]], ids=str)
def test_pairs_come_back_however_they_were_chunked(tmp_path, shard_pairs, chunks):
    files = write_split(tmp_path, "train", chunks=chunks, shard_pairs=shard_pairs)
    assert len(files) == -(-5 // shard_pairs)
    split = Split(files, 260, 260)
    assert [(source.tolist(), target.tolist()) for source, target in map(split.pair, range(len(split)))] == list(
        zip(SOURCE, TARGET, strict=True)
    )
    assert [split.line(i) for i in range(5)] == LINES
    assert split.lengths.tolist() == [[len(source), len(target)] for source, target in zip(SOURCE, TARGET, strict=True)]
    assert split.lengths.dtype == np.int32


@pytest.mark.parametrize("rows", [[True] * 3, [False] * 3, [False, True, True]])
def test_the_lists_that_are_too_long_are_cut_and_no_others(rows):
    lists = [[1, 2, 3], [], [4, 5, 6, 7]]
    cut = shortened(list_column(lists), np.array(rows), 2)
    assert cut.to_pylist() == [ids[:2] if row else ids for ids, row in zip(lists, rows, strict=True)]
    part = list_column(lists).filter(pa.array([False, True, True]))
    assert shortened(part, np.array(rows[1:]), 2).to_pylist() == cut.to_pylist()[1:]


@pytest.mark.parametrize("i", [-1, 5])
def test_there_is_no_pair_outside(tmp_path, i):
    with pytest.raises(IndexError, match=rf"^pair {i} of 5$"):
        Split(write_split(tmp_path, "train"), 260, 260).pair(i)


def test_ids_stay_on_disk_until_they_are_read(tmp_path):
    split = Split(write_split(tmp_path, "train"), 260, 260, verify=False)
    source, _ = split.pair(0)
    assert not source.flags.owndata and not source.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        source[0] = 4


def test_any_arrow_reader_reads_a_shard(tmp_path):
    (file,) = write_split(tmp_path, "dev", text=True)
    with pa.ipc.open_file(str(file)) as reader:
        assert reader.read_all().to_pydict() == {
            "line": LINES,
            "source": SOURCE,
            "target": TARGET,
            "source_text": TEXTS,
            "target_text": TEXTS,
        }


def test_a_split_without_pairs_is_one_empty_file(tmp_path):
    files = write_split(tmp_path, "train", chunks=[])
    split = Split(files, 260, 260)
    assert (len(files), len(split), split.lengths.shape) == (1, 0, (0, 2))


def test_an_opened_folder_has_all_that_was_written(folder):
    prepared = Prepared.open(str(folder))
    assert prepared.dev is not None
    assert (len(prepared.train), len(prepared.dev), prepared.joint, prepared.path) == (5, 5, True, folder)
    assert prepared.vocab_size == prepared.source_vocab == prepared.target_vocab == 260
    assert prepared.source is not prepared.target
    assert prepared.dev.source_text == prepared.dev.target_text == TEXTS
    assert prepared.report == {"notices": []}


def test_no_dev_pairs_mean_no_dev_set(folder):
    (folder / "dev-00000.arrow").unlink()
    write_split(folder, "dev", chunks=[], text=True)
    assert Prepared.open(finish(folder, dev=0)).dev is None


def test_training_pairs_have_no_text(folder):
    with pytest.raises(LookupError, match=r"^a training split holds ids only; decode them for a text$"):
        _ = Prepared.open(folder).train.source_text


def test_the_fingerprint_is_of_the_content_not_of_the_place(folder, tmp_path_factory):
    before = Prepared.open(folder).fingerprint
    moved = tmp_path_factory.mktemp("elsewhere") / "data"
    shutil.copytree(folder, moved)
    assert Prepared.open(moved).fingerprint == before
    (moved / "report.json").write_text('{"notices": ["other"]}')
    assert Prepared.open(finish(moved)).fingerprint == before
    write_split(moved, "train", chunks=[[0, 1, 2, 4, 3]])
    (moved / "train-00001.arrow").unlink()
    (moved / "train-00002.arrow").unlink()
    assert Prepared.open(finish(moved)).fingerprint != before


def test_a_folder_that_was_never_prepared_says_how_to_make_one(tmp_path):
    with pytest.raises(DataError) as error:
        Prepared.open(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: not a prepared folder, it has no prepared.toml; make one with: hexapla prepare SOURCE TARGET --into {tmp_path}"
    )


@pytest.mark.parametrize("name", ["train-00001.arrow", "dev-00000.arrow", "tokenizer.toml", "dropped.jsonl"])
def test_a_missing_file_is_named(folder, name):
    (folder / "dropped.jsonl").touch()
    finish(folder)
    (folder / name).unlink()
    with pytest.raises(DataError) as error:
        Prepared.open(folder, verify=False)
    assert str(error.value) == f"{folder / name}: is missing; prepare the data again"


def test_a_file_cut_short_is_named_with_both_sizes(folder):
    file = folder / "train-00000.arrow"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(DataError) as error:
        Prepared.open(folder, verify=False)
    assert str(error.value) == f"{file}: {len(whole) - 1} bytes, but prepared.toml says {len(whole)}; prepare the data again"


def test_one_changed_bit_is_found(folder):
    file = folder / "train-00000.arrow"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError) as error:
        Prepared.open(folder)
    assert str(error.value) == f"{file}: its content has changed since it was prepared (another SHA-256); prepare the data again"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 2}, "prepared.toml: format = 2; this version reads format 1; prepare the data again"),
        ({"format": None, "sizes": None}, "prepared.toml: format = None; this version reads format 1; prepare the data again"),
        ({"sizes": None, "files": None}, "prepared.toml: lacks sizes, files; prepare the data again"),
    ],
)
def test_another_format_is_refused(folder, change, words):
    file = folder / "prepared.toml"
    seal(file, {name: value for name, value in (listing(folder) | change).items() if value is not None})
    with pytest.raises(DataError) as error:
        Prepared.open(folder)
    assert str(error.value) == f"{folder}/{words}"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"= 1", r"not TOML: "),
        (b"\xff\xfe", r"byte 0 is not UTF-8$"),
        (b"a = " + b"[" * 10_000, r"nested too deeply$"),
        (b"format = 1\na = " + b"9" * 5000, r"not TOML: "),
        (b"#" * 2**21, r"2,097,152 bytes; such a file has at most 1,048,576$"),
        (b"format = true", r"format = True; this version reads format 1; prepare the data again$"),
        (b"", r"format = None; this version reads format 1; prepare the data again$"),
    ],
    ids=["no TOML", "no UTF-8", "deep", "a huge number", "large", "a flag", "empty"],
)
def test_a_damaged_prepared_toml_is_refused(folder, content, words):
    (folder / "prepared.toml").write_bytes(content)
    with pytest.raises(DataError, match=rf"prepared\.toml: {words}"):
        Prepared.open(folder)


def test_a_file_under_a_link_or_of_another_kind_is_not_opened(folder, tmp_path_factory):
    """What is outside the folder is not read, and nothing is waited for."""
    for name in ("prepared.toml", "train-00000.arrow"):
        whole = (folder / name).read_bytes()
        (folder / name).unlink()
        outside = tmp_path_factory.mktemp("outside") / name
        outside.write_bytes(whole)
        (folder / name).symlink_to(outside)
        with pytest.raises(DataError, match=rf"{name}: a symbolic link; put the file itself there$"):
            Prepared.open(folder)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(DataError, match=rf"{name}: a named pipe; it must be a plain file$"):
            Prepared.open(folder)
        (folder / name).unlink()
        (folder / name).write_bytes(whole)
    assert len(Prepared.open(folder).train) == 5


ODD = {
    "a size that is text": ({"sizes": {"train": "5"}}, r"sizes\.train = \"5\": must be an integer"),
    "a negative size": ({"sizes": {"dev": -1}}, r"sizes\.dev = -1: must be at least 0"),
    "an infinite size": ({"sizes": {"train": math.inf}}, r"sizes\.train = .*: must be "),
    "no size": ({"sizes": {"train": None}}, r"sizes\.train: is missing"),
    "sizes that are a list": ({"sizes": [1]}, r"sizes = \[1\]: must be a table"),
    "a file that is text": ({"files": {"train-00000.arrow": "x"}}, r"files\.train-00000\.arrow = \"x\": must be a table"),
    "a negative file": ({"files": {"train-00000.arrow": {"bytes": -5}}}, r"files\.train-00000\.arrow\.bytes = -5: must be at least 0"),
    "a hash that is none": (
        {"files": {"train-00000.arrow": {"sha256": "0"}}},
        r"files\.train-00000\.arrow\.sha256 = \"0\": must be of the form \^",
    ),
    "settings that are a number": ({"settings": 3}, r"settings = 3: must be a table"),
    "a corpus that is text": ({"corpus": "x"}, r"corpus = \"x\": "),
    "a fingerprint of others": ({"fingerprint": "0" * 64}, r"fingerprint: is not that of the files"),
    "a tokenizer that nobody watches": ({"files": {"tokenizer.toml": None}, "fingerprint": "recomputed"}, r"files: lacks tokenizer\.toml"),
}


def changed(old, new):
    """`old` with what `new` says, table by table; None takes a name out."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    merged = old | {name: changed(old.get(name), value) for name, value in new.items()}
    return {name: value for name, value in merged.items() if value is not None}


@pytest.mark.parametrize(("change", "words"), ODD.values(), ids=ODD)
def test_an_odd_listing_is_refused_in_one_line(folder, change, words):
    """Sealed, as whoever knows the format would."""
    values = changed(listing(folder), change)
    if values["fingerprint"] == "recomputed":
        values["fingerprint"] = fingerprint_of(values["files"])
    seal(folder / "prepared.toml", values)
    with pytest.raises(DataError, match=rf"^{folder}/prepared\.toml: {words}.*; prepare the data again$") as error:
        Prepared.open(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..", "a/b", "a\\b", "", "nul\0"])
def test_a_name_that_is_a_path_is_refused_before_it_is_read(folder, name):
    (folder.parent / "secret").write_text("x")
    file = {name: {"bytes": 1, "sha256": sha256_of(folder.parent / "secret")}}
    seal(folder / "prepared.toml", changed(listing(folder), {"files": file}))
    with pytest.raises(DataError, match=r"prepared\.toml: files: '.*' is no name of a file in the folder; prepare the data again$"):
        Prepared.open(folder)


def test_every_byte_of_every_file_is_watched(folder):
    """Also where size and time of the change are put back."""
    (folder / "dropped.jsonl").write_text('{"line": 3}\n')
    finish(folder)
    for file in sorted(folder.iterdir()):
        content, time = file.read_bytes(), file.stat().st_mtime_ns
        for place in {0, 3, 8, len(content) - 1, *range(0, len(content), 1 + len(content) // 40)} & {*range(len(content))}:
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            os.utime(file, ns=(time, time))
            with pytest.raises(DataError) as error:
                Prepared.open(folder)
            assert str(error.value).startswith(f"{file}: "), (file.name, place)
        file.write_bytes(content)
    assert len(Prepared.open(folder).train) == 5


def test_no_byte_of_prepared_toml_can_be_another(folder):
    file = folder / "prepared.toml"
    content = file.read_bytes()
    for place, byte in enumerate(content[:90]):
        for other in b'#\n ="f0':
            if other != byte:
                file.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
                with pytest.raises(DataError):
                    read_listing(folder)


def test_a_folder_of_the_first_version_is_read_as_it_is(folder):
    """It had no seal; the files' own hashes and the fingerprint hold."""
    file = folder / "prepared.toml"
    file.write_bytes(file.read_bytes().partition(b"\n")[2])
    assert len(Prepared.open(folder).train) == 5


def test_a_folder_edited_with_all_its_hashes_has_another_fingerprint(folder):
    before = Prepared.open(folder).fingerprint
    write_split(folder, "train", chunks=[[0, 1, 2, 4, 3]], shard_pairs=2)
    assert Prepared.open(finish(folder)).fingerprint != before


def rewritten(folder, name, table):
    with pa.ipc.new_file(str(folder / name), table.schema) as writer:
        writer.write_table(table)
    return finish(folder)


def read_table(file):
    with pa.ipc.open_file(str(file)) as reader:
        return reader.read_all()


@pytest.mark.parametrize("column", ["line", "source", "target", "source_text"])
def test_a_pair_that_is_not_given_is_refused(folder, column):
    table = read_table(folder / "dev-00000.arrow")
    place = table.schema.get_field_index(column)
    values = [None, *table.column(place).to_pylist()[1:]]
    table = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
    with pytest.raises(DataError, match=r"dev-00000\.arrow: some of its pairs or ids are not given \(null\); prepare the data again$"):
        Prepared.open(rewritten(folder, "dev-00000.arrow", table))


def test_an_id_that_is_not_given_is_refused(folder):
    table = read_table(folder / "dev-00000.arrow")
    ids = pa.array([[4, None], *SOURCE[1:]], pa.list_(pa.int32()))
    table = table.set_column(1, table.schema.field(1), ids)
    with pytest.raises(DataError, match=r"dev-00000\.arrow: some of its pairs or ids are not given \(null\)"):
        Prepared.open(rewritten(folder, "dev-00000.arrow", table))


def test_dev_pairs_without_texts_are_refused(folder):
    with pytest.raises(DataError, match=r": the dev pairs have no texts to compare translations with; prepare the data again$"):
        Prepared.open(rewritten(folder, "dev-00000.arrow", read_table(folder / "dev-00000.arrow").select(["line", "source", "target"])))


def test_a_shard_of_random_damage_behind_valid_hashes_is_read_or_refused_in_one_line(folder):
    """Nothing outside is read and nothing crashes: each pair that is there has ids of the vocabulary."""
    file = folder / "dev-00000.arrow"
    content = file.read_bytes()
    draw = random.Random(1)
    refused = 0
    for place in range(0, len(content), 29):
        file.write_bytes(content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :])
        try:
            dev = Prepared.open(finish(folder)).dev
            assert dev is not None
            assert all(0 <= id_ < 260 for i in range(len(dev)) for side in dev.pair(i) for id_ in side.tolist())
            assert [dev.line(i) for i in range(len(dev))] and len(dev.source_text) == len(dev)
        except DataError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20


def test_another_number_of_pairs_is_refused(folder):
    with pytest.raises(DataError, match=r": 5 train pairs, but prepared.toml says 6$"):
        Prepared.open(finish(folder, train=6))


def test_another_vocabulary_is_refused_with_both_sizes(folder):
    tokenizer = learn_tokenizer(Characters(), ["ab"])
    (folder / "tokenizer.toml").unlink()
    save_tokenizers(folder, tokenizer, tokenizer, True)
    with pytest.raises(DataError, match=r": the vocabularies have 6 and 6 entries, but prepared.toml says 260 and 260$"):
        Prepared.open(finish(folder))


@pytest.mark.parametrize(("side", "bad"), [("source", 260), ("target", 1000), ("source", -1)])
def test_an_id_outside_the_vocabulary_is_refused_with_its_shard(folder, side, bad):
    """Behind a valid hash, as a file of another tool would be."""
    ids = [[4], [5, bad]]
    sides = {"source": [[4], [4]], "target": [[4], [4]]} | {side: ids}
    with ShardWriter(folder, "train", IDS) as writer:
        writer.write(columns([0, 1], sides["source"], sides["target"]))
    with pytest.raises(DataError) as error:
        Prepared.open(finish(folder, train=5))
    file = folder / "train-00000.arrow"
    assert str(error.value) == f"{file}: pair 2: {side} holds id {bad}, but the vocabulary has ids 0 to 259; prepare the data again"


def test_a_file_that_is_no_arrow_file_is_refused(folder):
    (folder / "train-00000.arrow").write_bytes(b"not arrow at all")
    with pytest.raises(DataError, match=r"train-00000.arrow: not a whole Arrow file \(.+\); prepare the data again$"):
        Prepared.open(finish(folder))


@pytest.mark.parametrize("offsets", [(0, 11, 99), (0, 99, 24), (0, -1, 24)], ids=str)
def test_offsets_that_lead_outside_are_refused(folder, offsets):
    def stored(numbers):
        return np.array(numbers, dtype=np.int32).tobytes()

    file = folder / "train-00000.arrow"
    with ShardWriter(folder, "train", IDS) as writer:
        writer.write(columns([0, 1], [[4] * 11, [5] * 13], [[6], [7]]))
    content = file.read_bytes()
    assert content.count(stored([0, 11, 24])) == 1
    file.write_bytes(content.replace(stored([0, 11, 24]), stored(offsets)))
    with pytest.raises(DataError, match=r"train-00000.arrow: not a whole Arrow file \(.+\); prepare the data again$"):
        Prepared.open(finish(folder))


def test_columns_of_another_type_are_refused(folder):
    table = pa.table(
        {
            "line": pa.array([1], pa.int64()),
            "source": pa.array([[4]], pa.list_(pa.int64())),
            "target": pa.array([[4]], pa.list_(pa.int64())),
        }
    )
    with pa.ipc.new_file(str(folder / "train-00000.arrow"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError) as error:
        Prepared.open(finish(folder), verify=False)
    assert str(error.value) == (
        f"{folder / 'train-00000.arrow'}: its columns are line int64, source list<item: int64>, target list<item: int64>;"
        " a prepared file has line int64, source list<item: int32>, target list<item: int32>; prepare the data again"
    )


def test_the_hashes_are_those_of_the_files(folder):
    files = tomllib.loads((folder / "prepared.toml").read_text())["files"]
    assert sorted(files) == sorted(file.name for file in folder.iterdir() if file.name != "prepared.toml")
    assert all(about == {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)} for name, about in files.items())
