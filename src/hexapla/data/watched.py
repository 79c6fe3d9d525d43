"""A file that is read for as long as training takes: whether anybody writes into it meanwhile."""

import hashlib
import os
import weakref
from pathlib import Path

from hexapla.errors import DataError


class Watched:
    """A file held open: it stays as it is when it is removed or replaced by another, and is noticed to change when it is written into.

    What is mapped into memory changes with its file, and where the file is cut, reading it ends the process (SIGBUS): so look first.
    """

    def __init__(self, path: Path, sha256: str) -> None:
        self.path, self.sha256 = path, sha256
        self.handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.handle)
        self.stamp = self.stamped()

    def stamped(self) -> tuple[int, int]:
        """Its size, and when anything about it changed last, which nobody can set back."""
        status = os.fstat(self.handle)
        return status.st_size, status.st_ctime_ns

    def refuse_changed(self) -> None:
        """Raises DataError: its content is another. Its name, its owner and its times may change."""
        stamp = self.stamped()
        if stamp == self.stamp:
            return
        if self.digest() != self.sha256:
            raise DataError(f"{self.path}: was written into while it was in use; prepare the data again, and train into another folder")
        self.stamp = stamp

    def digest(self) -> str:
        with os.fdopen(os.dup(self.handle), "rb") as content:
            content.seek(0)
            return hashlib.file_digest(content, "sha256").hexdigest()
