"""Opening a text file: what may be opened, what is refused by its first bytes, and decompression that is verified first."""

import errno
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from hexapla.errors import DataError, StorageError

BLOCK_BYTES = 2**20
BOMB_BYTES, BOMB_RATIO = 2**28, 500  # text never shrinks so far; what does is refused before it fills a disk
XZ_MEMORY_BYTES = 2**29

_PASSED_IN = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # standard input and the shell's <(command): never block on opening

_MAGIC = (
    (b"\x1f\x8b", "gzip data", "name it .gz, or read it through: gzip -dc"),
    (b"\xfd7zXZ\0", "xz data", "name it .xz, or read it through: xz -dc"),
    (b"BZh", "bzip2 data", "read it through: bzip2 -dc"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", "read it through: zstd -dc"),
    (b"\x04\x22\x4d\x18", "LZ4 data", "read it through: lz4 -dc"),
    (b"LZIP", "lzip data", "read it through: lzip -dc"),
    (b"\x1f\x9d", "compress data", "read it through: uncompress -c"),
    (b"PK\x03\x04", "a ZIP archive, or an Excel or Word file", "export it as plain UTF-8 text"),
    (b"PK\x05\x06", "an empty ZIP archive", ""),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file", "export it as plain UTF-8 text"),
    (b"%PDF-", "a PDF document", "extract its text first"),
    (b"{\\rtf", "an RTF document", "export it as plain UTF-8 text"),
    (b"SQLite format 3\0", "an SQLite database", "export the table as text"),
    (b"\x89PNG", "a PNG image", ""),
    (b"\xff\xd8\xff", "a JPEG image", ""),
    (b"GIF8", "a GIF image", ""),
    (b"\x7fELF", "an ELF program", ""),
    (b"MZ\x90\0", "a Windows program", ""),
    (b"ARROW1\0", "an Arrow file", "give the text it was prepared from"),
    (b"PAR1", "a Parquet file", "export its columns as text"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"\x93NUMPY", "a NumPy array", "write its texts to a text file"),
    (b"\x89HDF\r\n", "an HDF5 file", "export it as text"),
    (b"\xff\xfe\0\0", "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8"),
    (b"\0\0\xfe\xff", "UTF-32 text", "convert it: iconv -f UTF-32 -t UTF-8"),
    (b"\xff\xfe", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8"),
)


def shown(file: str | os.PathLike[str]) -> str:
    """A file's name as messages print it: one printable line, "-" spelled out."""
    name = os.fspath(file)
    if name == "-":
        return "standard input"
    return name if name.isprintable() else repr(name)[1:-1]


def is_plain_file(file: str | os.PathLike[str]) -> bool:
    """Whether it can be read twice: no stream, and nothing that opening would refuse as no file."""
    with suppress(OSError, ValueError):
        return stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116  # a name may be bytes that pathlib would change
    return False


def text_blocks(file: str | os.PathLike[str]) -> Iterator[bytes]:
    """The decompressed bytes of a text file, block by block.

    Raises DataError before the first block for what is no readable text file; StorageError when the disk fails.
    """
    name = shown(file)
    blocks = _stored_blocks(file)
    decoder = _decoder(file)
    if decoder is not None:
        _verify(name, file, decoder)
        blocks = _decompress(name, blocks, decoder)
    head = b""
    for block in blocks:  # a pipe may hand over its first bytes one by one
        head += block
        if len(head) >= 512 or b"\n" in head:
            break
    _refuse_binary(name, head, packed=decoder is not None)
    if head:
        yield head
    yield from blocks


def _stored_blocks(file: str | os.PathLike[str]) -> Iterator[bytes]:
    """The bytes as they are stored. Standard input is handed over as it arrives and left open."""
    name = shown(file)
    try:
        if os.fspath(file) == "-":
            stream = getattr(sys.stdin, "buffer", None)
            if stream is None or stream.closed:
                raise DataError(f"{name}: closed; give a file, or pipe text in")
            while block := stream.read1(BLOCK_BYTES):
                yield block
            return
        _refuse_unreadable(file)
        with os.fdopen(_opened(file), "rb", buffering=0) as stream:
            before = os.fstat(stream.fileno())
            while block := stream.read(BLOCK_BYTES):
                yield block
            _refuse_changed(name, before, os.fstat(stream.fileno()))
    except (OSError, ValueError) as error:
        raise _refusal(name, error) from error


def _opened(file: str | os.PathLike[str]) -> int:
    """Opening never waits, as it would for the writer of a pipe that took the place of a file just looked at; reading may."""
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return handle


def refuse_unreadable(file: str | os.PathLike[str]) -> None:
    """What can be told without opening it. Raises DataError: no such file, or one that would block or is no file; StorageError."""
    if os.fspath(file) == "-":
        return
    try:
        _refuse_unreadable(file)
    except (OSError, ValueError) as error:
        raise _refusal(shown(file), error) from error


def _refuse_unreadable(file: str | os.PathLike[str]) -> None:
    if not os.fspath(file):
        raise DataError('"": no name a file can have; check the path')
    status = Path(file).stat()
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISSOCK, "a socket"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISBLK, "a device"))
    kind = next((what for is_kind, what in (*kinds, (stat.S_ISCHR, "a device")) if is_kind(status.st_mode)), None)
    if kind is None and status.st_dev in _kernel_devices():
        kind = "a file of the kernel's"
    if kind is None or (kind != "a folder" and os.fspath(file).startswith(_PASSED_IN)):
        return
    remedy = "name a file in it" if kind == "a folder" else 'give a plain file, or "-" and pipe the text in'
    raise DataError(f"{shown(file)}: {kind}, not a text file; {remedy}")


def _kernel_devices() -> set[int]:
    """Device numbers of /proc and /sys, whose files look plain, and of which some never end and others block."""
    return {place.stat().st_dev for place in (Path("/proc"), Path("/sys")) if place.exists()}


def _refuse_changed(name: str, before: os.stat_result, after: os.stat_result) -> None:
    """Raises DataError: half of what was read may be of another text."""
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        sizes = "" if before.st_size == after.st_size else f" from {before.st_size:,} to {after.st_size:,} bytes"
        raise DataError(f"{name}: changed{sizes} while it was read; wait until it is written, or copy it, and start again")


def _refusal(name: str, error: OSError | ValueError) -> DataError | StorageError:
    if isinstance(error, ValueError):
        return DataError(f"{name}: no name a file can have; check the path")
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return DataError(f"{name}: no such file; check the path")
        case errno.EACCES | errno.EPERM:
            return DataError(f"{name}: no permission to read it; try: chmod u+r")
        case errno.ELOOP:
            return DataError(f"{name}: a symbolic link that leads back to itself; give the file itself")
        case errno.ENAMETOOLONG:
            short = name if len(name) <= 60 else f"{name[:60]}..."
            return DataError(f"{short}: no such file, its name is too long; check the path")
    return StorageError(f"{name}: reading failed: {error.strerror or error}; check the disk and try again")


def _refuse_binary(name: str, head: bytes, *, packed: bool) -> None:
    for magic, what, remedy in _MAGIC:
        if head.startswith(magic) and (magic != b"BZh" or head[4:10] == b"1AY&SY"):
            if packed:
                raise DataError(f"{name}: {what} inside, not UTF-8 text; unpack it, and give plain text, one sentence a line")
            raise DataError(f"{name}: {what}, not UTF-8 text; {remedy or 'give plain text, one sentence a line'}")
    if head[257:262] == b"ustar":
        raise DataError(f"{name}: a tar archive, not UTF-8 text; unpack it first")
    for escape, encoding in ((b"\x1b$B", "ISO-2022-JP"), (b"\x1b$@", "ISO-2022-JP"), (b"\x1b$)C", "ISO-2022-KR")):  # ASCII, all of it
        if escape in head:
            raise DataError(f"{name}: {encoding} text, not UTF-8 text; convert it: iconv -f {encoding} -t UTF-8")


class _Decoder(Protocol):
    """One gzip member or one xz stream."""

    magic: bytes

    def feed(self, data: bytes) -> bytes: ...
    @property
    def ended(self) -> bool: ...
    @property
    def unread(self) -> bytes: ...
    @property
    def hungry(self) -> bool: ...


class _Gzip:
    magic = b"\x1f\x8b"

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, BLOCK_BYTES)

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def unread(self) -> bytes:
        return self._inner.unused_data

    @property
    def hungry(self) -> bool:
        return not self._inner.unconsumed_tail  # text still inside comes before the checksum, which then is unread


class _Xz:
    magic = b"\xfd7zXZ\0"

    def __init__(self) -> None:
        self._inner = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES)

    def feed(self, data: bytes) -> bytes:
        return self._inner.decompress(data, BLOCK_BYTES)

    @property
    def ended(self) -> bool:
        return self._inner.eof

    @property
    def unread(self) -> bytes:
        return self._inner.unused_data

    @property
    def hungry(self) -> bool:
        return self._inner.needs_input


def _decoder(file: str | os.PathLike[str]) -> Callable[[], _Decoder] | None:
    return {".gz": _Gzip, ".xz": _Xz}.get(Path(file).suffix.lower())


def _verify(name: str, file: str | os.PathLike[str], decoder: Callable[[], _Decoder]) -> None:
    """Decompress all of it once, for the checksums, and hand out nothing."""
    size = 0
    stored = 0

    def counted() -> Iterator[bytes]:
        nonlocal stored
        for block in _stored_blocks(file):
            stored += len(block)
            yield block

    for block in _decompress(name, counted(), decoder):
        size += len(block)
        if size > BOMB_BYTES and size > BOMB_RATIO * stored:
            raise DataError(f"{name}: {stored:,} bytes that expand to more than {size:,}: a decompression bomb, not text; check its origin")


def _decompress(name: str, stored: Iterator[bytes], decoder: Callable[[], _Decoder]) -> Iterator[bytes]:
    """All members of a compressed file, one after another; zero bytes between and after them are padding."""
    current: _Decoder | None = None
    member = 0
    for data in stored:
        try:
            while data or (current and not current.hungry):
                if current is None:
                    data = data.lstrip(b"\0") if member else data
                    if not data:
                        break
                    current, member = decoder(), member + 1
                    if member == 1 and not data.startswith(current.magic[: len(data)]):
                        raise DataError(f"{name}: not compressed as its name says; take the suffix off, or compress it")
                text, data = current.feed(data), b""
                if text:
                    yield text
                if current.ended:
                    current, data = None, current.unread
        except (zlib.error, lzma.LZMAError) as error:
            where = f" in member {member}" if member > 1 else ""
            raise DataError(f"{name}: damaged{where} ({str(error).lower()}); fetch or compress it again") from error
    if member == 0:
        raise DataError(f"{name}: empty, a compressed file has at least a header; fetch or compress it again")
    if current is not None:
        raise DataError(f"{name}: ends before its compressed data do; it was cut off: fetch or compress it again")
