"""What a process does that no process that opens a model may do, by the events that Python audits."""

import os
import sys
from pathlib import Path
from typing import Any

FORBIDDEN = (
    "pickle",
    "marshal",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "subprocess",
    "socket",
    "ctypes",
    "urllib",
)
CHANGING = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate", "shutil")


class Watch:
    """While `folder` is set: no code of it, no process, no connection, no file outside it but Python's own, none written."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.seen: list[str] = []
        own = {sys.prefix, sys.base_prefix, *(path for path in sys.path if path)}
        self.own = [Path(path).resolve() for path in own]
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        folder, self.folder = self.folder, None  # what is done below is not to be watched
        try:
            if self.is_wrong(folder, event, arguments):
                self.seen.append(f"{event} {arguments!r}"[:200])
        finally:
            self.folder = folder

    def is_wrong(self, folder: Path, event: str, arguments: tuple[Any, ...]) -> bool:
        match event:
            case "open":
                return not self.may_open(folder, *arguments)
            case "exec":
                return folder in Path(arguments[0].co_filename).resolve().parents
        return event.startswith((*FORBIDDEN, *CHANGING))

    def may_open(self, folder: Path, path: Any, mode: Any, flags: int) -> bool:
        if isinstance(path, int):
            return True
        real = Path(os.fsdecode(path)).resolve()
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        allowed = [folder] if not str(real).startswith("/proc/") else [Path("/proc")]
        return not writes and any(real == place or place in real.parents for place in (*allowed, *self.own))
