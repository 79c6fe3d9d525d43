"""A line is what `wc -l` counts, the text is strict UTF-8, and what is refused is refused by place."""

import errno
import gzip
import io
import lzma
import os
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hexapla.data import opening
from hexapla.data.lines import count_lines, read_lines
from hexapla.errors import DataError, StorageError

ODD = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n\ufeff\u200b\u202e\ufffd\xa0\t a𝄞ß漢"


@pytest.fixture
def file(tmp_path):
    def write(content: bytes, name: str = "text.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def refusal(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        list(read_lines(path, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


@settings(deadline=None)  # a busy machine is no failure
@given(st.text(ODD, max_size=40))
@example("\r\r\n\r")
@example("\ufeff\ufeffa\n")
@example("a\u2028b\x0bc\x85d\x0ce\r\nf")
def test_lines_are_what_lies_between_line_feeds_and_nothing_else(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "odd.txt"
    path.write_bytes(text.encode())
    expected = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if expected[-1] == "":
        expected.pop()
    assert list(read_lines(path)) == expected
    assert count_lines(path) == len(expected)
    counted = text.encode().count(b"\n")
    assert len(expected) == counted + (not text.endswith("\n") and text not in ("", "\ufeff"))


@settings(deadline=None)  # a busy machine is no failure
@given(st.lists(st.text(ODD.replace("\n", ""), max_size=6), max_size=12), st.integers(1, 9))
def test_lines_do_not_depend_on_how_the_file_is_cut_into_blocks(tmp_path_factory, lines, size):
    content = "".join(line + "\n" for line in lines).encode()
    path = tmp_path_factory.getbasetemp() / "blocks.txt"
    path.write_bytes(content)
    whole = list(read_lines(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "BLOCK_BYTES", size)
        assert list(read_lines(path)) == whole
        assert count_lines(path) == len(lines)


def test_an_empty_file_has_no_lines_and_an_ending_alone_is_one_blank_line(file):
    assert list(read_lines(file(b""))) == []
    assert list(read_lines(file(b"\n"))) == [""]
    assert list(read_lines(file(b"\xef\xbb\xbf"))) == []
    assert count_lines(file(b"\xef\xbb\xbf")) == 0


def test_only_the_first_byte_order_mark_is_taken_off(file):
    assert list(read_lines(file("\ufeffa\n\ufeffb\n".encode()))) == ["a", "\ufeffb"]


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
@pytest.mark.parametrize("size", [40, 2_500_000])
def test_compressed_files_read_as_their_text_members_joined(file, name, size):
    pack = gzip.compress if name == "a.gz" else lzma.compress
    first = "".join(f"{i} ü\n" for i in range(size // 10)).encode()
    path = file(pack(first) + pack(b"zwei\nhalb") + bytes(8), name)
    assert list(read_lines(path)) == [*first.decode().splitlines(), "zwei", "halb"]
    assert count_lines(path) == first.count(b"\n") + 2


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
def test_no_flipped_byte_or_cut_of_a_compressed_file_gives_a_line(file, name):
    pack = gzip.compress if name == "a.gz" else lzma.compress
    whole = pack(b"one line\nand another\n" * 9)
    for cut in range(len(whole)):
        assert "FILE:" in refusal(file(whole[:cut], name))
    text = b"one line\nand another\n" * 9
    for place in range(len(whole)):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            lines = list(read_lines(file(damaged, name)))
        except DataError as error:
            assert str(file(damaged, name)) in str(error)
        else:  # gzip's time stamp and the like carry no text and no checksum
            assert name == "a.gz" and place < 10 and "\n".join(lines) + "\n" == text.decode()


def test_a_damaged_archive_is_refused_before_its_first_line_is_handed_out(file):
    text = "".join(f"{i * 7919 % 10007}\n" for i in range(400_000)).encode()
    packed = bytearray(gzip.compress(text))
    packed[-6] ^= 1  # the checksum, long after the first block
    lines = read_lines(file(bytes(packed), "a.gz"))
    with pytest.raises(DataError, match=r"a\.gz: damaged.*fetch or compress it again"):
        next(lines)


def test_compressed_files_that_are_empty_cut_or_followed_by_rubbish_say_so(file):
    assert refusal(file(b"", "a.gz")) == "FILE: empty, a compressed file has at least a header; fetch or compress it again"
    assert "it was cut off" in refusal(file(gzip.compress(b"text\n")[:-3], "a.gz"))
    assert "damaged in member 2" in refusal(file(gzip.compress(b"text\n") + b"rubbish", "a.gz"))
    assert "damaged in member 2" in refusal(file(lzma.compress(b"text\n") + b"rubbish rubbish", "a.xz"))
    twice = gzip.compress(gzip.compress(b"text\n"))
    assert refusal(file(twice, "a.gz")) == ("FILE: gzip data inside, not UTF-8 text; unpack it, and give plain text, one sentence a line")
    assert refusal(file(lzma.compress(b"PK\x03\x04"), "a.xz")).startswith(
        "FILE: a ZIP archive, or an Excel or Word file inside, not UTF-8 text"
    )
    for name in ("a.gz", "a.xz"):
        assert refusal(file(b"plain text\n", name)) == "FILE: not compressed as its name says; take the suffix off, or compress it"


def test_a_decompression_bomb_is_refused(file, monkeypatch):
    monkeypatch.setattr(opening, "BOMB_BYTES", 2**21)
    assert "a decompression bomb" in refusal(file(gzip.compress(bytes(2**23)), "a.gz"))


def test_a_byte_that_is_not_utf_8_is_located_and_its_encoding_guessed(file):
    latin = refusal(file("erste\nzweite\nein schöner Tag\n".encode("latin-1")))
    assert latin == "FILE:3: byte 20 (0xf6) is not UTF-8; it may be Latin-1/cp1252: iconv -f WINDOWS-1252 -t UTF-8"
    mixed = refusal(file("schön, größer, ".encode() + b"sch\xf6n\n"))
    assert "byte 21 (0xf6)" in mixed and "damaged here or mixes encodings" in mixed
    assert "with iconv, if it is text" in refusal(file(b"vw\xb2\n"))
    assert "the file does not finish" in refusal(file("zu kurz: ü".encode()[:-1]))


def test_the_offset_counts_the_byte_order_mark_and_reaches_far_into_the_file(file):
    filler = ("ä" * 99 + "\n").encode()
    content = b"\xef\xbb\xbf" + filler * 20_000 + b"\xff\n"
    assert refusal(file(content)).startswith(f"FILE:20001: byte {len(content) - 2} (0xff) is not UTF-8")


def test_nul_is_refused_with_its_place_and_what_it_hints_at(file):
    assert refusal(file(b"one\ntw\0o\n")) == "FILE:2: byte 6 (0x00) is NUL, which text never holds; remove it: tr -d '\\000'"
    assert "UTF-16LE" in refusal(file("plain words\n".encode("utf-16-le")))
    assert "UTF-16BE" in refusal(file("plain words\n".encode("utf-16-be")))
    assert "byte 0 (0xff) is not UTF-8" in refusal(file(b"\xff\n\0\n"))  # whichever comes first


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image, not UTF-8 text; give plain text, one sentence a line"),
        (b"\x7fELF\x02\x01", "an ELF program"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"PK\x03\x04", "a ZIP archive, or an Excel or Word file, not UTF-8 text; export it as plain UTF-8 text"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"BZh91AY&SY", "bzip2 data, not UTF-8 text; read it through: bzip2 -dc"),
        ("a\n".encode("utf-16"), "UTF-16 text, not UTF-8 text; convert it: iconv -f UTF-16 -t UTF-8"),
        ("a\n".encode("utf-32"), "UTF-32 text"),
        (b"\0\0\xfe\xff" + "a\n".encode("utf-32-be"), "UTF-32 text"),
        ("어디에".encode("iso-2022-kr"), "ISO-2022-KR text, not UTF-8 text; convert it: iconv -f ISO-2022-KR -t UTF-8"),
        ("日本".encode("iso-2022-jp"), "ISO-2022-JP text, not UTF-8 text; convert it: iconv -f ISO-2022-JP -t UTF-8"),
        (gzip.compress(b"a\n", mtime=0), "gzip data, not UTF-8 text; name it .gz, or read it through: gzip -dc"),
        (lzma.compress(b"a\n"), "xz data, not UTF-8 text; name it .xz, or read it through: xz -dc"),
        (b"name".ljust(257, b"\0") + b"ustar\0", "a tar archive"),
    ],
)
def test_files_of_other_kinds_are_named(file, content, what):
    assert refusal(file(content)).startswith(f"FILE: {what}")
    with pytest.raises(DataError):
        count_lines(file(content))


def test_text_that_only_begins_like_an_archive_is_text(file):
    assert list(read_lines(file(b"BZh is a prefix\n"))) == ["BZh is a prefix"]


def test_a_line_may_be_as_long_as_the_limit_and_no_longer(file):
    for content in (b"a\n12345678\nb\n", b"12345678", b"12345678\n"):
        assert max(map(len, read_lines(file(content), max_line_bytes=8))) == 8
    for content in (b"a\n123456789\nb\n", b"a\n123456789", b"a\n123456789" * 2):
        assert (
            refusal(file(content), max_line_bytes=8)
            == "FILE:2: a line of more than 8 bytes, the longest that is read; lines must end in LF"
        )
    assert "tr '\\r' '\\n'" in refusal(file(b"word\r" * 50), max_line_bytes=100)


def test_an_endless_line_is_refused_without_being_held(file):
    path = file(gzip.compress(b"x" * 2**26), "a.gz")
    tracemalloc.start()
    assert "a line of more than 1,048,576 bytes" in refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_what_is_no_plain_file_is_refused_without_blocking(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "queue")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("plug")
        assert refusal("plug") == 'FILE: a socket, not a text file; give a plain file, or "-" and pipe the text in'
    assert refusal("queue") == 'FILE: a named pipe, not a text file; give a plain file, or "-" and pipe the text in'
    assert refusal("loop") == "FILE: a symbolic link that leads back to itself; give the file itself"
    assert refusal("/dev/zero").startswith("FILE: a device, not a text file")
    assert refusal(tmp_path) == "FILE: a folder, not a text file; name a file in it"
    assert refusal(tmp_path / "none") == "FILE: no such file; check the path"
    assert refusal(tmp_path / "none.gz") == "FILE: no such file; check the path"
    assert refusal("a\0b") == "a\\x00b: no name a file can have; check the path"
    assert "its name is too long" in refusal("n" * 5000)
    assert refusal("two\nlines") == "two\\nlines: no such file; check the path"
    with pytest.raises(DataError, match=r'^"": no name a file can have; check the path$'):
        list(read_lines(""))


@pytest.mark.parametrize("name", ["/proc/kmsg", "/proc/cpuinfo", "/proc/self/environ", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_a_file_of_the_kernel_is_refused_though_it_looks_plain(name):
    if not Path(name).exists():
        pytest.skip(f"no {name} here")
    assert refusal(name) == 'FILE: a file of the kernel\'s, not a text file; give a plain file, or "-" and pipe the text in'


@pytest.mark.timeout(20)
def test_a_pipe_that_takes_a_file_s_place_at_the_last_moment_blocks_nobody(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "queue")
    monkeypatch.setattr(opening, "_refuse_unreadable", lambda file: None)  # it looked a moment ago, and saw a plain file
    assert list(read_lines(tmp_path / "queue")) == []


@pytest.mark.parametrize("change", ["grows", "shrinks", "is rewritten"])
def test_a_file_that_changes_while_it_is_read_is_refused(file, change):
    path = file(b"a line of text\n" * 200_000)
    lines = read_lines(path)
    next(lines)
    match change:
        case "grows":
            path.write_bytes(path.read_bytes() + b"more\n")
        case "shrinks":
            os.truncate(path, 2_000_003)
        case "is rewritten":
            path.write_bytes(path.read_bytes().replace(b"text", b"TEXT"))
            os.utime(path, ns=(1, 1))  # a busy machine's clock may not have ticked
    with pytest.raises(
        DataError, match=r"text\.txt: changed( from 3,000,000 to [\d,]+ bytes)? while it was read; wait until it is written"
    ):
        list(lines)


def test_a_file_that_vanishes_is_read_to_its_end_or_refused(file):
    path, packed = file(b"a line of text\n" * 200_000), file(gzip.compress(b"a line\n" * 400_000), "a.gz")
    lines = read_lines(path)
    next(lines)
    path.unlink()
    assert sum(1 for _ in lines) == 199_999
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_verify", lambda name, file, decoder: packed.unlink())
        assert refusal(packed) == "FILE: no such file; check the path"


def test_a_file_without_permission_is_refused(file, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    path = file(b"secret\n")
    monkeypatch.setattr(os, "open", denied)  # the tests may run as root, whom no mode stops
    assert refusal(path) == "FILE: no permission to read it; try: chmod u+r"


def test_a_dash_is_standard_input_and_leaves_it_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfone\r\ntwo"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert list(read_lines("-")) == ["one", "two"]
    assert not stdin.buffer.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"ok\n\xff\n")))
    assert refusal("-").startswith("standard input:2: byte 3 (0xff)")
    monkeypatch.setattr(sys, "stdin", None)
    assert refusal("-") == "standard input: closed; give a file, or pipe text in"


READER = "import sys; from hexapla.data.lines import read_lines; print(*read_lines(sys.argv[1]), sep='|')"


@pytest.mark.parametrize("place", ["<(printf 'a\\nb\\n')", "/dev/stdin", "-"])
def test_a_pipe_from_the_shell_can_be_read_as_a_file(place):
    command = f"printf 'a\\nb\\n' | {sys.executable} -c \"{READER}\" {place}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("a|b\n", "")


def test_lines_of_a_pipe_are_handed_out_as_they_come():
    command = [sys.executable, "-c", "from hexapla.data.lines import read_lines\nfor line in read_lines('-'): print(line, flush=True)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        child.stdin.write(b"first\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"first\n"  # the pipe is still open
        child.stdin.close()
        assert child.stdout.read() == b""


def test_a_disk_that_fails_is_an_error_of_storage(file, monkeypatch):
    path = file(b"text\n")

    def fails(*arguments, **more):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(StorageError, match=r": reading failed: Input/output error; check the disk and try again$"):
        list(read_lines(path))
