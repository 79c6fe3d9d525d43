"""A folder that appears whole or not at all."""

import fcntl
import glob
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hexapla.errors import ConfigError, StorageError


@contextmanager
def whole_folder(path: Path, *, mark: str, overwrite: bool = False) -> Iterator[Path]:
    """A new folder beside `path` to write into; it takes that name when the block ends and is removed if the block fails.

    A killed process leaves it as NAME.partial-…, which nothing reads; the next attempt at NAME removes it.
    With `overwrite` a folder that has a file named `mark` is replaced, and no other.
    Raises ConfigError: `path` holds something already; StorageError: the disk or file system refused.
    """
    refuse_occupied(path, mark, overwrite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        partial = path.with_name(f"{path.name}.partial-{secrets.token_hex(4)}")
        partial.mkdir()
        lock = locked(partial)
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}; cannot write there") from error
    try:
        yield partial
        make_durable(partial)
        replace_folder(partial, path)
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes left of `path`. One that still works holds a lock, which ends with it however it ends."""
    for leftover in path.parent.glob(f"{glob.escape(path.name)}.partial-*"):
        try:
            lock = locked(leftover)
        except BlockingIOError:
            continue
        shutil.rmtree(leftover, ignore_errors=True)
        os.close(lock)


def locked(folder: Path) -> int:
    """A handle that locks `folder` for as long as it is open. Raises BlockingIOError: another process has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def refuse_occupied(path: Path, mark: str, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        raise ConfigError(f"{path}: is a file; give a folder")
    if path.is_dir() and any(path.iterdir()):
        if not (path / mark).is_file():
            raise ConfigError(f"{path}: holds other files and no {mark}; give a new folder")
        if not overwrite:
            raise ConfigError(f"{path}: is there already; give another folder, or overwrite it with --overwrite (overwrite=True)")


def make_durable(folder: Path) -> None:
    for file in [*sorted(folder.iterdir()), folder]:
        sync(file)


def sync(path: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(new: Path, path: Path) -> None:
    """Give `new` the name `path`; what had it is removed only once the new one stands there."""
    old = path.with_name(f"{path.name}.old-{os.getpid()}")
    if path.exists():
        path.rename(old)
    new.rename(path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
