"""Pairs come in order, whole, and only from text whose lines match."""

import io
from pathlib import Path

import pytest

from hexapla.data.corpus import read_pairs
from hexapla.errors import ConfigError, DataError


@pytest.fixture
def file(tmp_path):
    def write(text: str, name: str) -> str:
        (tmp_path / name).write_bytes(text.encode())
        return str(tmp_path / name)

    return write


def test_line_i_of_one_file_meets_line_i_of_the_other(file):
    pairs = list(read_pairs(file("eins\n\nzwei\u2028drei\n", "a"), file("one\r\nblank\r\ntwo", "b")))
    assert pairs == [("eins", "one"), ("", "blank"), ("zwei\u2028drei", "two")]


@pytest.mark.parametrize(("ours", "theirs"), [(3, 2), (2, 3), (0, 5), (5, 0), (70_000, 2)])
def test_different_line_counts_name_both_files_and_both_counts(file, ours, theirs):
    source, target = file("x\n" * ours, "a.de"), file("y\n" * theirs, "a.en")
    given = []
    with pytest.raises(DataError) as caught:
        given.extend(read_pairs(source, target))
    assert str(caught.value) == f"{target}: {theirs} lines, but {source} has {ours}; line i of one must translate line i of the other"


def test_pairs_before_the_shorter_file_ends_are_given(file):
    pairs = read_pairs(file("1\n2\n3\n", "a"), file("x\ny\n", "b"))
    assert [next(pairs), next(pairs)] == [("1", "x"), ("2", "y")]


def test_a_tsv_line_is_split_at_its_one_tab_and_quotes_mean_nothing(file):
    assert list(read_pairs(file('"eins\tone"\n\t\nzwei \t two\n', "t.tsv"))) == [('"eins', 'one"'), ("", ""), ("zwei ", " two")]


def test_a_tsv_line_without_its_one_tab_is_refused_by_place(file):
    with pytest.raises(DataError, match=r"t\.tsv:2: 2 tabs, a line holds exactly one.*cut -f1,2$"):
        list(read_pairs(file("a\tb\na\tb\tc\n", "t.tsv")))
    with pytest.raises(DataError, match=r"t\.tsv:3: 0 tabs, a line holds exactly one.*for separate files give both: SOURCE TARGET$"):
        list(read_pairs(file("a\tb\na\tb\n\n", "t.tsv")))


@pytest.mark.parametrize("names", [("-", "-"), ("-", "/dev/stdin")])
def test_standard_input_cannot_be_both_sides(names):
    with pytest.raises(ConfigError, match="standard input can be one side only; give a file for the other"):
        list(read_pairs(*names))


def test_where_two_files_of_different_length_part_is_told_if_it_shows(file, monkeypatch):
    lengths = [3 + i * 7919 % 83 for i in range(300)]
    source, target = (
        file("".join(f"{'a' * n}\n" for n in lengths), "a"),
        file("".join(f"{'b' * n}\n" for n in lengths[:120] + lengths[121:]), "b"),
    )
    with pytest.raises(DataError, match=r"b: 299 lines, but .*a has 300; line i of one .* of the other; they seem to part near line 12\d$"):
        list(read_pairs(source, target))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(source).read_bytes())))
    with pytest.raises(DataError, match=r"b: 299 lines, but standard input has 300; line i of one must translate line i of the other$"):
        list(read_pairs("-", target))
