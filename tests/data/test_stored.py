"""Files of our folders are read as if a stranger had written them."""

import errno
import os
import socket

import pytest

from hexapla.data import stored
from hexapla.data.stored import read_json, read_json_table, read_stored, read_toml_table
from hexapla.errors import DataError, HexaplaError, StorageError


def pipe(file):
    os.mkfifo(file)


def listening(file, monkeypatch):
    monkeypatch.chdir(file.parent)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(file.name)


KINDS = {
    "a folder; it must be a plain file": lambda file: file.mkdir(),
    "a named pipe; it must be a plain file": pipe,
    "a symbolic link; put the file itself there": lambda file: file.symlink_to("/etc/passwd"),
    "is missing; the folder is not whole": lambda file: None,
}


def refused(read, *arguments):
    with pytest.raises(HexaplaError) as caught:
        read(*arguments)
    assert str(caught.value).isprintable()
    return caught.value


@pytest.mark.parametrize("words", KINDS)
def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path, words):
    KINDS[words](tmp_path / "file")
    assert str(refused(read_stored, tmp_path / "file", 9)) == f"{tmp_path}/file: {words}"


def test_a_socket_and_a_device_are_no_plain_files(tmp_path, monkeypatch):
    listening(tmp_path / "file", monkeypatch)
    assert str(refused(read_stored, tmp_path / "file", 9)) == f"{tmp_path}/file: a socket; it must be a plain file"
    for device in ("/dev/zero", "/dev/null"):
        assert str(refused(read_stored, stored.Path(device), 9)) == f"{device}: a device; it must be a plain file"


@pytest.mark.parametrize("target", ["beside", "file", "/dev/zero", "nowhere"])
def test_no_link_is_followed_wherever_it_leads(tmp_path, target):
    (tmp_path / "beside").write_bytes(b"x")
    (tmp_path / "file").symlink_to(target)
    assert "a symbolic link" in str(refused(read_stored, tmp_path / "file", 9))


def test_what_becomes_another_file_between_looking_and_opening_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    real = os.open
    monkeypatch.setattr(stored.os, "open", lambda path, flags: real(tmp_path / "pipe", flags))
    assert "a named pipe" in str(refused(read_stored, tmp_path / "file", 9))


def test_no_more_is_read_than_such_a_file_can_hold(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"12345678")
    assert read_stored(file, 8) == b"12345678"
    assert str(refused(read_stored, file, 7)) == f"{file}: 8 bytes; such a file has at most 7"
    with file.open("r+b") as sparse:
        sparse.truncate(2**40)
    assert "1,099,511,627,776 bytes; such a file has at most" in str(refused(read_json, file))


@pytest.mark.parametrize("now", [b"", b"123", b"123456"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, now):
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    real = os.fstat

    def sized(handle):
        about = real(handle)
        file.write_bytes(now)
        return about

    monkeypatch.setattr(stored.os, "fstat", sized)
    assert str(refused(read_stored, file, 9)) == f"{file}: changed while it was read; try again"


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (errno.EACCES, DataError, "no permission to read it; try: chmod u+r"),
        (errno.ENOTDIR, DataError, "is missing; the folder is not whole"),
        (errno.EIO, StorageError, "reading failed: Input/output error; check the disk and try again"),
    ],
)
def test_what_the_system_refuses_is_told_in_our_words(tmp_path, monkeypatch, number, error, words):
    (tmp_path / "file").write_bytes(b"x")

    def fails(path, flags):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(stored.os, "open", fails)
    found = refused(read_stored, tmp_path / "file", 9)
    assert (type(found), str(found)) == (error, f"{tmp_path}/file: {words}")


JSON = {
    b"": "not JSON: Expecting value: line 1 column 1 (char 0)",
    b"{": "not JSON: Expecting property name",
    b'{"a": 1, "a": 1}': "not JSON: 'a' is there twice",
    b'{"b": {"a": 1, "a": 2}}': "not JSON: 'a' is there twice",
    b"[NaN]": "not JSON: NaN is no number",
    b"[-Infinity]": "not JSON: -Infinity is no number",
    b"1" * 5000: "not JSON: Exceeds the limit (4300 digits) for integer string conversion",
    b"\xff": "byte 0 is not UTF-8",
    b"\xef\xbb\xbf{}": "not JSON: Unexpected UTF-8 BOM",
    '{"a": 1}'.encode("utf-16-le"): "not JSON: Expecting property name",
    b"[" * 100000: "nested too deeply",
    b'{"a":' * 100000: "nested too deeply",
    b'{"' + b"x" * 1000 + b'": 1, "' + b"x" * 1000 + b'": 1}': f"not JSON: '{'x' * 59}… is there twice",
}


@pytest.mark.parametrize("content", JSON, ids=range(len(JSON)))
def test_json_on_which_readers_disagree_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    message = str(refused(read_json, tmp_path / "file"))
    assert message.startswith(f"{tmp_path}/file: {JSON[content]}") and len(message) < 300


@pytest.mark.parametrize("content", [b"[]", b"1", b"null", b'"{}"'])
def test_a_table_is_asked_for(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    assert str(refused(read_json_table, tmp_path / "file")) == f"{tmp_path}/file: must be a JSON object, begun by {{"


TOML = {
    b"a = ": "not TOML: Invalid value (at end of document)",
    b"a = 1\na = 2": "not TOML: Cannot overwrite a value (at end of document)",
    b"a = \xff": "byte 4 is not UTF-8",
    b"a = " + b"[" * 100000: "nested too deeply",
    b"a = 0x" + b"f" * 50000: "not TOML: Exceeds the limit (4300 digits) for integer string conversion",
}


@pytest.mark.parametrize("content", TOML, ids=range(len(TOML)))
def test_toml_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    message = str(refused(read_toml_table, tmp_path / "file"))
    assert message.startswith(f"{tmp_path}/file: {TOML[content]}") and len(message) < 300
