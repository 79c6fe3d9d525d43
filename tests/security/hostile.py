"""Run folders as an enemy, a bad disk or a clumsy hand would leave them: seeded mutations of a good one."""

import hashlib
import json
import os
import random
import re
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

PICKLE = b"cposix\nsystem\n(S'touch ran'\ntR."
"""what runs a command wherever it is unpickled"""
VALUES: list[Any] = [
    *(None, True, "", "x", "eight", [], {}, [[]], {"a": 1}, 0, -1, 1, 2, 2**31, 2**63, 10**9, 10**30, 0.5, -0.0, 1e308),
    *("../../x", "/etc/passwd", "a/b", ".", "..", "nul\0", "new\nline", "\x1b[2J", "F16", "I64", "\ud800"),
    *(float("nan"), float("inf"), "A" * 5000, [0] * 5000, {"__reduce__": ["os.system", "touch ran"]}),
]
CODE = "import pathlib; pathlib.Path('ran').touch()\n"


def files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if not file.is_symlink() and file.is_file() and file.stat().st_size)


def flip(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(content)


def overwrite(file: Path, draw: random.Random) -> None:
    content = bytearray(file.read_bytes())
    start = draw.choice([0, draw.randrange(len(content))])
    some = draw.randbytes(draw.randrange(1, 40))
    content[start : start + draw.choice([0, len(some)])] = some
    file.write_bytes(content)


def cut(file: Path, draw: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: draw.randrange(len(content))])


def extend(file: Path, draw: random.Random) -> None:
    with file.open("ab") as out:
        out.write(draw.choice([b"\0", b" ", b"\n", b"}", draw.randbytes(9), b"\0" * 10**6]))


def become(file: Path, draw: random.Random) -> None:
    """Another file's content under this name."""
    others = [PICKLE, b"", b"PK\x03\x04", b"\x80\x05" + PICKLE, b"[" * 10**5, b'{"a":' * 10**5, draw.randbytes(200)]
    file.write_bytes(draw.choice([*others, draw.choice(files_of(file.parent)).read_bytes()]))


def be_no_file(file: Path, draw: random.Random) -> None:
    """Gone, or something that blocks, never ends, or leads elsewhere."""
    outside = file.parent.parent / "outside"
    outside.write_bytes(file.read_bytes())
    file.unlink()
    match draw.choice(["gone", "folder", "pipe", "socket", "link", "zero", "loop", "passwd", "forbidden"]):
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case "socket":
            here = Path.cwd()
            os.chdir(file.parent)  # a socket's path must be short
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(file.name)
            os.chdir(here)
        case "link":
            file.symlink_to(outside)
        case "zero":
            file.symlink_to("/dev/zero")
        case "loop":
            file.symlink_to(file.name)
        case "passwd":
            file.symlink_to("/etc/passwd")
        case "forbidden":
            file.write_bytes(outside.read_bytes())
            file.chmod(0)


def surround(file: Path, draw: random.Random) -> None:
    """Files that something might import or unpickle, beside it."""
    for name in ("torch.py", "hexapla.py", "json.py", "__init__.py", "sitecustomize.py", "model.py", "conftest.py"):
        (file.parent / name).write_text(CODE)
    for name in (".metadata", "model.pt", "pytorch_model.bin", "optimiser.pt", "state.pkl"):
        (file.parent / name).write_bytes(PICKLE)


def edit_json(file: Path, draw: random.Random) -> None:
    if file.suffix == ".safetensors":
        content = file.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.dumps(edited(json.loads(content[8 : 8 + length]), draw)).encode()
        wrong = draw.choice([len(header)] * 6 + [0, 2**63, 2**64 - 1, 200 * 2**20, len(content), len(header) - 1])
        file.write_bytes(struct.pack("<Q", wrong) + header + content[8 + length :])
    elif file.suffix == ".json":
        file.write_text(edited_text(json.loads(file.read_text()), draw))
    elif file.suffix == ".toml":
        edit_toml(file, draw)
    else:
        overwrite(file, draw)


def edited_text(values: Any, draw: random.Random) -> str:
    text = json.dumps(edited(values, draw), indent=1)
    twice = re.search(r'"\w+": [^\[{\n]+', text)
    return text.replace(twice[0], f"{twice[0].rstrip(',')}, {twice[0]}", 1) if twice and draw.random() < 0.1 else text


def edited(values: Any, draw: random.Random) -> Any:
    """One place of a JSON value replaced, removed, doubled or renamed."""
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            visit(value[key])

    visit(values)
    if not places or draw.random() < 0.05:
        return draw.choice(VALUES)
    table, key = draw.choice(places)
    match draw.choice(["replace", "replace", "replace", "remove", "rename", "add", "swap"]):
        case "replace":
            table[key] = draw.choice(VALUES)
        case "remove":
            del table[key]
        case "rename" if isinstance(table, dict):
            table[draw.choice(["../x", "/etc/passwd", "a/b", "", "x", f"{key}\n"])] = table.pop(key)
        case "swap":
            other, there = draw.choice(places)
            if isinstance(other, type(table)) and there in (other if isinstance(other, dict) else range(len(other))):
                table[key], other[there] = json.loads(json.dumps(other[there])), json.loads(json.dumps(table[key]))
        case _ if isinstance(table, dict):
            table["unknown"] = draw.choice(VALUES)
        case _:
            table.append(draw.choice(VALUES))
    return values


def edit_toml(file: Path, draw: random.Random) -> None:
    lines = file.read_text().split("\n")
    settings = [number for number, line in enumerate(lines) if "=" in line]
    number = draw.choice(settings)
    name = lines[number].partition("=")[0].strip()
    odd = [
        "nan",
        "inf",
        "-1",
        "0",
        "1000000000",
        "9" * 40,
        "0x" + "f" * 6000,
        '"eight"',
        "true",
        "[]",
        "{}",
        "[" * 5000,
        "1979-05-27",
        "''",
    ]
    match draw.choice(["replace", "replace", "replace", "remove", "double", "unknown", "table", "swap"]):
        case "replace":
            lines[number] = f"{name} = {draw.choice(odd)}"
        case "remove":
            del lines[number]
        case "double":
            lines.insert(number, lines[number])
        case "unknown":
            lines.insert(number, f"{draw.choice(['unknown', 'trust_remote_code', name + '.x', '_target_'])} = {draw.choice(odd)}")
        case "table":
            lines.append(draw.choice(["[model]", "[[model]]", "[model.encoder.attention]", "[x]", "[" + "a." * 900 + "a]"]))
        case _:
            other = draw.choice(settings)
            value = lines[other].partition("=")[2]
            lines[number] = f"{name} ={value}"
    file.write_text("\n".join(lines))


MUTATIONS: list[Callable[[Path, random.Random], None]] = [
    *(flip, overwrite, cut, extend, become, be_no_file, surround, edit_json, edit_json, edit_json),
]


def rehash(folder: Path) -> None:
    """Make every SHA-256 in a run agree with what is there, as who changed it on purpose would."""
    for about, digest in ((folder / "run.json", False), *((file, True) for file in folder.glob("checkpoints/*/manifest.json"))):
        if about.is_symlink() or not about.is_file():
            continue
        try:
            values = json.loads(about.read_text())
            for name in values["files"]:
                file = about.parent / name
                if file.is_symlink() or not file.is_file():
                    continue
                content = file.read_bytes()
                sha256 = hashlib.sha256(content).hexdigest()
                values["files"][name] = {"bytes": len(content), "sha256": sha256} if digest else sha256
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        about.write_text(json.dumps(values, indent=1))


def mutated(good: Path, into: Path, seed: int, kinds: list[str] | None = None) -> str:
    """A run folder `into` that is `good` but for one mutation, and what was done. Every second one has its hashes put right."""
    draw = random.Random(seed)
    shutil.copytree(good, into)
    files = [file for file in files_of(into) if kinds is None or file.suffix in kinds]
    file, mutate = draw.choice(files), draw.choice(MUTATIONS)
    mutate(file, draw)
    if seed % 2:
        rehash(into)
    return f"{seed}: {mutate.__name__} {file.relative_to(into)}{', hashes put right' if seed % 2 else ''}"
