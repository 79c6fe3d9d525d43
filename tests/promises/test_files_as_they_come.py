"""What a user may name instead of a text file: the command refuses it at once, or reads it to its end; it never blocks and never half."""

import gzip
import lzma
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from hexapla.cli.main import run
from hexapla.data.lines import read_lines
from hexapla.data.prepared import Prepared
from hexapla.errors import DataError

PAIRS = [(f"line {i}", f"Zeile {i}") for i in range(20)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ok").write_text("a\nb\n")
    Path("ok.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS))
    return tmp_path


def pipe(name: str) -> None:
    os.mkfifo(name)


def plug(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)


def loop_of_two(name: str) -> None:
    Path("other").symlink_to(name)
    Path(name).symlink_to("other")


def link_to_pipe(name: str) -> None:
    pipe("queue")
    Path(name).symlink_to("queue")


def link(to: str) -> Callable[[str], None]:
    return lambda name: Path(name).symlink_to(to)


KINDS: dict[str, tuple[Callable[[str], None], str]] = {
    "a loop": (link("it"), "leads back to itself"),
    "a loop of two": (loop_of_two, "leads back to itself"),
    "a dangling link": (link("nowhere"), "no such file"),
    "nothing": (lambda name: None, "no such file"),
    "a link to a name too long": (link("x" * 300), "its name is too long"),
    "an endless device": (link("/dev/zero"), "a device, not a text file"),
    "an empty device": (link("/dev/null"), "a device, not a text file"),
    "a pipe without a writer": (pipe, "a named pipe, not a text file"),
    "a link to a pipe": (link_to_pipe, "a named pipe, not a text file"),
    "a folder": (lambda name: Path(name).mkdir(), "a folder, not a text file"),
    "a socket": (plug, "a socket, not a text file"),
    "a kernel file that blocks": (link("/proc/kmsg"), "a file of the kernel's, not a text file"),
    "a kernel file that ends": (link("/proc/cpuinfo"), "a file of the kernel's, not a text file"),
}
MODEL = str(Path(__file__).parents[1] / "formats" / "1")
COMMANDS = {
    "check source": ["check", "it", "ok"],
    "check target": ["check", "ok", "it"],
    "check tabs": ["check", "it"],
    "check test": ["check", "ok.tsv", "--test", "ok", "it"],
    "check test-tsv": ["check", "ok.tsv", "--test-tsv", "it"],
    "prepare source": ["prepare", "it", "ok", "--into", "data"],
    "prepare target": ["prepare", "ok", "it", "--into", "data"],
    "prepare tabs": ["prepare", "it", "--into", "data"],
    "prepare dev": ["prepare", "ok.tsv", "--dev", "ok", "it", "--into", "data", "--subwords", "words"],
    "prepare dev-tsv": ["prepare", "ok.tsv", "--dev-tsv", "it", "--into", "data", "--subwords", "words"],
    "translate": ["translate", MODEL, "it"],
    "translate after another": ["translate", MODEL, "it", "ok", "-o", "out"],
    "score source": ["score", MODEL, "it", "ok"],
    "score target": ["score", MODEL, "ok", "it"],
    "evaluate reference": ["evaluate", "--hypotheses", "ok", "it"],
    "evaluate source": ["evaluate", "--hypotheses", "ok", "ok", "--source", "it"],
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_is_no_plain_file_is_refused_by_each_command_and_leaves_nothing(command, place, capfd):
    for kind, (make, words) in KINDS.items():
        if kind.startswith("a kernel") and not Path("/proc/kmsg").exists():
            continue
        make("it")
        before = sorted(path.name for path in place.iterdir())
        assert run(command) == 65, kind
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1) and err.startswith("hexapla: it: ") and words in err, kind
        assert sorted(path.name for path in place.iterdir()) == before, kind
        for name in {"it", "other", "queue"} & {path.name for path in place.iterdir()}:
            Path(name).rmdir() if not Path(name).is_symlink() and Path(name).is_dir() else Path(name).unlink()


NAMES = [
    "two words.tsv", "two\nlines.tsv", "tab\there.tsv", "~", "*?[a-z].tsv", "👩‍👧.tsv", "x" * 226 + ".tsv", "$(touch no).tsv",
    "`id`;|&.tsv", "'\".tsv", "\x1b[31m.tsv", "\u202e.tsv", "-dash.tsv", "--into", "[red].tsv", "a=b.tsv", os.fsdecode(b"\xff\xfe.tsv"),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_is_read_written_and_shown_on_one_line(name, place, capfd):
    try:
        Path(name).write_bytes(Path("ok.tsv").read_bytes())
    except OSError as error:
        pytest.skip(f"this file system has no such name: {error}")
    asked = f"./{name}" if name.startswith("-") else name
    assert run(["check", asked]) == 0
    assert run(["check", "--", name]) == 0
    assert run(["score", MODEL, asked, asked]) == run(["translate", MODEL, "ok", f"--output={name}"]) == 0
    assert capfd.readouterr().out.count("\n") > 20 and len(Path(name).read_text().splitlines()) == 2
    Path(name).write_bytes(Path("ok.tsv").read_bytes())
    into = f"data/{name[:200]}"
    code = run(["prepare", asked, f"--into={into}", "--subwords", "words"])
    if name.isprintable() or code == 0:
        assert code == 0
        assert [Prepared.open(into).train.line(i) for i in range(20)] == list(range(1, 21))
    else:
        assert code == 2 and not Path(into).exists()
    Path(name).write_bytes(b"a\tb\nno tab\n")
    assert run(["check", asked]) == 65
    said = capfd.readouterr().err.split("\n")
    assert all(line.isprintable() for line in said)
    assert said[-2].startswith("hexapla: ") and ":2: 0 tabs, a line holds exactly one" in said[-2]
    assert sorted(path.name for path in place.iterdir()) == sorted({"ok", "ok.tsv", name} | ({"data"} if code == 0 else set()))


@pytest.mark.parametrize("size", [231, 255, 300, 5000])
def test_a_name_too_long_to_be_written_is_refused_in_a_line(size, place, capfd):
    name = "x" * size
    for command in (["prepare", "ok", "ok", "--subwords", "words", "--into", name], ["translate", MODEL, "ok", "-o", name]):
        assert run(command) == 2
        said = capfd.readouterr().err
        assert said == f"hexapla: {'x' * 60}...: a name of {size} bytes, but at most 230 can be written to; give a shorter one\n"
    for command in (["prepare", name, "ok", "--into", "data"], ["score", MODEL, "ok", name], ["translate", MODEL, name], ["check", name],
                    ["evaluate", "--hypotheses", name, "ok"]):  # fmt: skip
        assert run(command) == 65
        assert "no such file" in capfd.readouterr().err
    assert sorted(path.name for path in place.iterdir()) == ["ok", "ok.tsv"]


TEXT = b"".join(b"%d\n" % (i * i) for i in range(2000))
PACKERS = {".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
def test_an_archive_cut_anywhere_gives_no_line(suffix, place):
    whole, file = PACKERS[suffix](TEXT), place / f"a{suffix}"
    for twentieth in range(20):
        file.write_bytes(whole[: len(whole) * twentieth // 20])
        with pytest.raises(DataError, match=r"cut off|empty"):
            next(read_lines(file))


@pytest.mark.parametrize("suffix", PACKERS)
def test_archives_of_several_members_of_rubbish_and_of_archives_give_what_is_written(suffix, place):
    pack, file = PACKERS[suffix], place / f"a{suffix}"
    lines = TEXT.decode().split("\n")[:-1]
    for content, expected in ((pack(TEXT) + pack(TEXT), lines * 2), (pack(TEXT) + pack(b"") + bytes(512), lines), (pack(b""), [])):
        file.write_bytes(content)
        assert list(read_lines(file)) == expected
    refusals = {
        "damaged in member 2": pack(TEXT) + b"rubbish after it",
        "inside, not UTF-8 text; unpack it": pack(pack(TEXT)),
        "not compressed as its name says": TEXT,
        "empty, a compressed file has at least a header": b"",
    }
    for words, content in refusals.items():
        file.write_bytes(content)
        with pytest.raises(DataError, match=words):
            next(read_lines(file))


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", PACKERS)
def test_no_flipped_bit_of_an_archive_gives_other_text(suffix, place):
    whole, file = bytearray(PACKERS[suffix](TEXT[:999])), place / f"a{suffix}"
    for at in range(len(whole)):
        for bit in (1, 128):
            whole[at] ^= bit
            file.write_bytes(whole)
            try:
                assert "\n".join(read_lines(file)).encode() == TEXT[:999]  # a few bits of gzip mean nothing for the text
            except DataError as error:
                assert str(file) in str(error)
            whole[at] ^= bit


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("line", [b"\0", b"\n"], ids=["zeros", "blank lines"])
def test_a_bomb_of_a_thousand_to_one_is_refused(line, place):
    with gzip.open("bomb.gz", "wb") as file:
        for _ in range(300):
            file.write(line * (2**20 // len(line)))
    with pytest.raises(DataError, match="a decompression bomb, not text"):
        next(read_lines("bomb.gz"))
