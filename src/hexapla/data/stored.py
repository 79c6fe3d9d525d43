"""The files of a run or data folder, read as if a stranger had written them.

Only plain files are read, no link is followed, nothing blocks, and no more is read than such a file can hold. JSON is UTF-8 with
every name once, no NaN and no infinity; TOML is UTF-8. What is wrong is a DataError that names the file.
"""

import errno
import json
import os
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

from hexapla.data.opening import shown
from hexapla.errors import DataError, StorageError

MOST_SETTINGS = 2**20
"""bytes of a file of settings or of a checkpoint's state"""
MOST_VOCABULARY = 2**28
"""bytes of a vocabulary or a sentencepiece model"""

KINDS = (
    (stat.S_ISLNK, "a symbolic link; put the file itself there"),
    (stat.S_ISDIR, "a folder; it must be a plain file"),
    (stat.S_ISFIFO, "a named pipe; it must be a plain file"),
    (stat.S_ISSOCK, "a socket; it must be a plain file"),
    (stat.S_ISCHR, "a device; it must be a plain file"),
    (stat.S_ISBLK, "a device; it must be a plain file"),
)


@contextmanager
def opened_plainly(file: Path, most: int | None = None) -> Iterator[tuple[FileIO, int]]:
    """A plain file and its size. Raises DataError: missing, forbidden, another kind of file, more than `most` bytes; StorageError."""
    name = shown(file)
    try:
        refuse_other_kinds(name, file.lstat().st_mode)  # before opening, since to open a device may already do something
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with FileIO(handle) as stream:
            about = os.fstat(handle)
            refuse_other_kinds(name, about.st_mode)
            if most is not None and about.st_size > most:
                raise DataError(f"{name}: {about.st_size:,} bytes; such a file has at most {most:,}")
            yield stream, about.st_size
    except OSError as error:
        raise refusal(name, error) from None


def refuse_other_kinds(name: str, mode: int) -> None:
    for is_kind, what in KINDS:
        if is_kind(mode):
            raise DataError(f"{name}: {what}")


def refusal(name: str, error: OSError) -> DataError | StorageError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return DataError(f"{name}: is missing; the folder is not whole")
    if error.errno in (errno.EACCES, errno.EPERM):
        return DataError(f"{name}: no permission to read it; try: chmod u+r")
    return StorageError(f"{name}: reading failed: {error.strerror or error}; check the disk and try again")


def read_stored(file: Path, most: int) -> bytes:
    """All of a plain file of at most `most` bytes. Raises DataError, StorageError."""
    with opened_plainly(file, most) as (stream, size):
        content = bytearray()
        while len(content) <= size and (block := stream.read(size + 1 - len(content))):
            content += block
    if len(content) != size:
        raise DataError(f"{shown(file)}: changed while it was read; try again")
    return bytes(content)


def read_json(file: Path, most: int = MOST_SETTINGS) -> Any:
    """Raises DataError, StorageError."""
    return strict_json(read_stored(file, most), shown(file))


def read_json_table(file: Path, most: int = MOST_SETTINGS) -> dict[str, Any]:
    """Raises DataError, StorageError."""
    value = read_json(file, most)
    if not isinstance(value, dict):
        raise DataError(f"{shown(file)}: must be a JSON object, begun by {{")
    return value


def strict_json(content: bytes, where: str) -> Any:
    """A JSON value without what readers disagree on. Raises DataError beginning with `where`."""
    with parsed_as("JSON", where):
        return json.loads(content.decode("utf-8"), object_pairs_hook=every_name_once, parse_constant=no_number)


@contextmanager
def parsed_as(form: str, where: str) -> Iterator[None]:
    """Raises DataError beginning with `where`: what is parsed in this block is not of that form."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: byte {error.start} is not UTF-8") from None
    except RecursionError:
        raise DataError(f"{where}: nested too deeply") from None
    except ValueError as error:
        raise DataError(f"{where}: not {form}: {str(error).partition(';')[0]}") from None


def every_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"{in_brief(twice)} is there twice")
    return table


def in_brief(value: Any) -> str:
    """A value of a stranger's as messages print it: ASCII, one line, not endless."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:60]}…"


def no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def read_toml_table(file: Path, most: int = MOST_SETTINGS) -> dict[str, Any]:
    """Raises DataError, StorageError."""
    return strict_toml(read_stored(file, most), shown(file))


def strict_toml(content: bytes, where: str) -> dict[str, Any]:
    """A TOML table. Raises DataError beginning with `where`."""
    with parsed_as("TOML", where):
        table = tomllib.loads(content.decode("utf-8"))
        json.dumps(table, default=str)  # what has more digits than Python prints could not even be complained of
        return table
