"""What a result line says of where it was measured."""

import json
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def peak_mb(*, reset: bool = False) -> float:
    """The highest this process' memory has been, since the last reset; what getrusage says of a child begins with its parent's."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def where(threads: int) -> dict[str, Any]:
    """Processor, threads, versions, commit (with + where the tree differs from it), date."""
    repository = Path(__file__).resolve().parents[1]
    git = ["git", "-C", str(repository)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "processor": processor(),
        "threads": threads,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("hexapla", "torch", "sentencepiece", "sacrebleu")},
        "commit": commit + ("+" if changed else ""),
        "date": datetime.now(UTC).date().isoformat(),  # noqa: TID251  a date, no duration
    }


def append(name: str, result: dict[str, Any]) -> None:
    """One JSON line at the end of results/NAME.jsonl."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(result, ensure_ascii=False) + "\n")
