"""How ways are timed beside one another, and what a result line says of where that was."""

import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
ROUNDS = 7


def timed(ways: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Seconds of each way, taken in turn so that a busy machine slows all alike: median, and the spread from least to most."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for work in ways.values():
        work()
    for _ in range(rounds):
        for name, work in ways.items():
            began = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - began)
    return {
        name: {"median": statistics.median(taken), "least": min(taken), "most": max(taken), "runs": len(taken)}
        for name, taken in seconds.items()
    }


def in_turn(
    commands: Mapping[str, Sequence[str]], rounds: int = ROUNDS, *, warm: bool = True, codes: Mapping[str, int] | None = None
) -> dict[str, dict[str, Any]]:
    """Each command as a process of its own, in turn: seconds, processor seconds, and peak MiB. With `warm` a round before counts nothing.

    Raises SystemExit: one ends otherwise than with 0, or than `codes` says of it.
    """
    taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for number in range(rounds + warm):
        for name, command in commands.items():
            measured = of_process(name, command, (codes or {}).get(name, 0))
            if number >= warm:
                taken[name].append(measured)
    return {name: way(*zip(*measured, strict=True)) for name, measured in taken.items()}


def of_process(name: str, command: Sequence[str], expected: int) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak MiB of a process. Its children count once it has waited for them."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != expected:
            said.seek(0)
            raise SystemExit(f"{name}: exit code {process.returncode}, not {expected}: {said.read().decode(errors='replace')[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def way(seconds: Sequence[float], processor_seconds: Sequence[float], mebibytes: Sequence[float] = ()) -> dict[str, Any]:
    """Medians and spread of several rounds, and the peak of memory where it was measured."""
    peak = {"peak_mib": round(max(mebibytes))} if mebibytes else {}
    return peak | {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "runs": len(seconds),
        "processor_seconds": statistics.median(processor_seconds),
    }


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
