"""A folder that appears whole or not at all."""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import TypeVar

from hexapla.errors import ConfigError, HexaplaError, StorageError

T = TypeVar("T")
TOKEN_BYTES = 8
LONGEST_NAME = 255 - len(".partial-") - 2 * TOKEN_BYTES
"""bytes: what a file system allows, less what is put behind it while a folder is not whole yet"""
FROM_HERE, EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of renameat2(2)"""
PATIENCE = 5.0
"""seconds to wait for another process that is between two renames"""


@contextmanager
def whole_folder(path: Path, *, mark: str, overwrite: bool = False, parents: bool = True) -> Iterator[Path]:
    """A new folder beside `path` to write into; it takes that name when the block ends and is removed if the block fails.

    A killed process leaves it as NAME.partial-…, which nothing reads; the next attempt at NAME removes it.
    With `overwrite` a folder that has a file named `mark` is replaced, and no other. A link to a folder stays one.
    Raises ConfigError: `path` holds something already, or cannot be replaced; StorageError: the disk or file system refused.
    """
    try:
        place = place_of(path)
        tidy(place)
        refuse_occupied(path, mark, overwrite)
        if parents:
            make_parents(place.parent)
        partial, lock = locked_beside(place)
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}; cannot write there") from error
    try:
        yield partial
        make_durable(partial)
        replace_folder(partial, place, mark, overwrite)
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def place_of(path: Path) -> Path:
    """Where a folder named `path` is or will be, links followed. Raises ConfigError: it is no place that can be renamed to."""
    place = Path(os.path.realpath(path))
    refuse_long_name(place)
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            raise ConfigError(f"{link}: is a link to {os.path.realpath(link)}, which is not there; make that folder, or remove the link")
    if Path.cwd().is_relative_to(place):
        raise ConfigError(f"{path}: is the current folder or above it, and would be replaced as a whole; give a folder inside it")
    if place.is_mount():
        raise ConfigError(f"{path}: is a mount point, which cannot be replaced as a whole; give a folder inside it, as {path / 'new'}")
    return place


def refuse_long_name(path: Path) -> None:
    """Raises ConfigError: nothing more can be put behind the name while what it names is not whole yet."""
    size = len(os.fsencode(path.name))
    if size > LONGEST_NAME:
        raise ConfigError(f"{path.name[:60]}...: a name of {size} bytes, but at most {LONGEST_NAME} can be written to; give a shorter one")


def refuse_occupied(path: Path, mark: str, overwrite: bool) -> None:
    """Raises ConfigError: `path` is no folder, holds other things than ours, or is there and may not be overwritten.

    Another process may replace the folder between two looks at it: what was seen counts if it is still the same folder.
    """
    try:
        before = path.stat()
        names = os.listdir(path) if S_ISDIR(before.st_mode) else None  # noqa: PTH208  # one look at all names
        same = path.stat().st_ino == before.st_ino
    except (FileNotFoundError, NotADirectoryError):
        return
    if names is None:
        raise ConfigError(f"{path}: is a file; give a folder")
    if names and mark not in names:
        if not same:
            return refuse_occupied(path, mark, overwrite)
        raise ConfigError(f"{path}: holds other files and no {mark}; give a new folder")
    if names and not overwrite:
        raise ConfigError(f"{path}: is there already; give another folder, or overwrite it with --overwrite (overwrite=True)")


def make_parents(folder: Path) -> None:
    """Make a folder and those above it, each name on the disk before the next is used."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_parents(folder.parent)
        folder.mkdir(exist_ok=True)
        sync(folder.parent)


def beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.{what}-{secrets.token_hex(TOKEN_BYTES)}")


def all_beside(path: Path, what: str) -> list[Path]:
    """What `beside` named, and nothing that a user may have named alike."""
    ours = re.compile(rf"{re.escape(path.name)}\.{what}-[0-9a-f]{{{2 * TOKEN_BYTES}}}")
    with suppress(OSError):
        return sorted(file for file in path.parent.iterdir() if ours.fullmatch(file.name))
    return []


def locked_beside(path: Path) -> tuple[Path, int]:
    """A new folder beside `path`, and the handle that locks it. Another process may sweep it before it is locked: then once more."""
    while True:
        partial = beside(path, "partial")
        partial.mkdir()
        with suppress(BlockingIOError, FileNotFoundError):
            lock = locked(partial)
            if partial.is_dir():
                return partial, lock
            os.close(lock)


def locked(path: Path, flags: int = os.O_RDONLY) -> int:
    """A handle that locks a folder or file for as long as it is open. Raises BlockingIOError: another process has it."""
    handle = os.open(path, flags, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def locked_soon(folder: Path) -> int:
    """As `locked`, but a process that is about to be done is waited for."""
    began = time.monotonic()
    while True:
        try:
            return locked(folder)
        except BlockingIOError:
            if time.monotonic() - began > PATIENCE:
                raise
            time.sleep(0.01)


def tidy(path: Path) -> None:
    """Remove what killed processes left beside `path`, and put back what one had moved away to replace it."""
    put_back(path)
    for leftover in (*all_beside(path, "partial"), *(all_beside(path, "old") if path.exists() else ())):
        remove_unlocked(leftover)


def remove_unlocked(folder: Path) -> None:
    """Delete a folder unless a process holds its lock, which ends with the process however that ends."""
    with suppress(OSError):
        lock = locked(folder)
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def put_back(path: Path) -> None:
    """Where a process was killed between moving `path` away and giving its name to the new folder, give the old one its name back.

    One that still lives is waited for. Readers call it too: to them a folder that is being replaced is always there.
    """
    began = time.monotonic()
    while not path.exists() and (moved := all_beside(path, "old")) and time.monotonic() - began < PATIENCE:
        try:
            lock = locked(moved[-1])
        except OSError:
            time.sleep(0.01)
            continue
        try:
            with suppress(OSError):
                moved[-1].rename(path)
                sync(path.parent)
        finally:
            os.close(lock)


def put_back_all(folder: Path) -> None:
    """`put_back` for all that stood in `folder`."""
    for name in sorted({moved.name.rpartition(".old-")[0] for moved in folder.glob("*.old-*")}):
        put_back(folder / name)


def make_durable(folder: Path) -> None:
    for file in [*sorted(folder.iterdir()), folder]:
        sync(file)


def sync(path: Path) -> None:
    """Wait until the disk has the content of a file, or the names in a folder, which some network file systems cannot be asked for."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():
            raise
    finally:
        os.close(handle)


def replace_folder(new: Path, path: Path, mark: str, overwrite: bool) -> None:
    """Give `new` the name `path`, and what had it the name of `new`, at once. Where a file system cannot, what had it stands beside as
    NAME.old-… meanwhile, whole and locked: see `put_back`.

    Raises ConfigError: `path` has become what must not be replaced.
    """
    moved: list[Path] = []
    try:
        with ExitStack() as locks:
            while not named(new, path):
                refuse_occupied(path, mark, overwrite)
                with suppress(FileNotFoundError):
                    locks.callback(os.close, locked_soon(path))
                    if exchanged(new, path):
                        break
                    moved.append(path.rename(beside(path, "old")))
            sync(path.parent)
    except BaseException:
        put_back(path)
        raise
    for old in moved:
        with suppress(FileNotFoundError):
            discard(old, path)


def exchanged(one: Path, other: Path) -> bool:
    """Let two folders swap their names, so that neither is missing at any moment; False where the system or file system cannot.

    Raises FileNotFoundError: one of them is gone.
    """
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)  # Linux; Python has no name for it
    if renameat2 is None:
        return False
    failed = renameat2(FROM_HERE, os.fsencode(one), FROM_HERE, os.fsencode(other), EXCHANGE)
    if failed and ctypes.get_errno() == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(other))
    return not failed


def named(new: Path, path: Path) -> bool:
    """Rename, unless `path` holds something: a folder can take the name of an empty one only."""
    try:
        new.rename(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def read_whole(find: Callable[[], Path], read: Callable[[Path], T]) -> T:
    """What `read` makes of the folder that `find` names: of one version of it, whatever replaces or removes it meanwhile.

    Raises what either raises, but not for a folder that has changed under it.
    """
    while True:
        folder = find()
        put_back(folder)
        before = identity(folder)
        try:
            found = read(folder)
        except (HexaplaError, OSError):
            if identity(folder) == before:
                raise
        else:
            if identity(folder) == before:
                return found


def identity(folder: Path) -> tuple[int, int] | None:
    """Which folder it is, whatever its name; None where there is none."""
    try:
        about = folder.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def discard(folder: Path, path: Path | None = None) -> None:
    """Take a folder's name away at once, then delete it: a kill in between leaves a NAME.partial-…, never half a folder."""
    doomed = folder.rename(beside(path or folder, "partial"))
    shutil.rmtree(doomed, ignore_errors=True)


def sha256_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
