"""prepared.toml, which lists what a data folder holds: written last, and read as if a stranger had written it.

Its first line is the SHA-256 of the rest, so that every byte of the folder is watched.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from pydantic import Field

from hexapla.config.edge import from_mapping
from hexapla.config.setting import Count, Whole
from hexapla.data.folder import sha256_of
from hexapla.data.opening import shown
from hexapla.data.stored import MOST_SETTINGS, in_brief, opened_plainly, read_stored, strict_toml
from hexapla.data.tokenizer import files_of_tokenizers
from hexapla.errors import ConfigError, DataError

FORMAT = 1
LISTING = "prepared.toml"
SEAL = re.compile(rb'seal = "([0-9a-f]{64})"')
NOT_FOR_TRAINING = ("report.json", "dropped.jsonl")

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class ListedFile:
    bytes: Whole
    sha256: Digest


@dataclass(frozen=True)
class Sizes:
    train: Whole
    dev: Whole
    source_vocab: Count
    target_vocab: Count


@dataclass(frozen=True)
class Listing:
    """The form of prepared.toml."""

    fingerprint: Digest
    sizes: Sizes
    settings: dict[str, Any]
    files: dict[str, ListedFile]
    corpus: list[dict[str, Any]] = field(default_factory=list)


def write_listing(folder: Path, *, sizes: Mapping[str, int], settings: Mapping[str, Any], corpus: Sequence[Mapping[str, Any]]) -> None:
    """Write prepared.toml over all files that are in the folder by then."""
    files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(folder.iterdir())}
    seal(
        folder / LISTING,
        {
            "format": FORMAT,
            "fingerprint": fingerprint_of(files),
            "sizes": dict(sizes),
            "settings": dict(settings),
            "corpus": [dict(file) for file in corpus],
            "files": files,
        },
    )


def seal(file: Path, listing: Mapping[str, Any]) -> None:
    content = tomli_w.dumps(listing).encode()
    file.write_bytes(b'seal = "%s"\n%s' % (hashlib.sha256(content).hexdigest().encode(), content))


def fingerprint_of(files: Mapping[str, Mapping[str, Any]]) -> str:
    content = {name: file["sha256"] for name, file in files.items() if name not in NOT_FOR_TRAINING}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_listing(path: Path) -> dict[str, Any]:
    """prepared.toml of a data folder, as it stands. Raises DataError: it is missing, of another format, edited, or cannot be."""
    file = path / LISTING
    if not os.path.lexists(file):
        raise DataError(
            f"{shown(path)}: not a prepared folder, it has no {LISTING}; make one with: hexapla prepare SOURCE TARGET --into {shown(path)}"
        )
    content = read_stored(file, MOST_SETTINGS)
    listing = strict_toml(content, shown(file))
    version = listing.get("format")
    if type(version) is not int or version != FORMAT:
        raise DataError(f"{shown(file)}: format = {in_brief(version)}; this version reads format {FORMAT}; prepare the data again")
    refuse_edited(file, content)
    missing = [name for name in ("fingerprint", "sizes", "settings", "files") if name not in listing]
    if missing:
        raise DataError(f"{shown(file)}: lacks {', '.join(missing)}; prepare the data again")
    try:
        from_mapping(Listing, listing, where=shown(file))
    except ConfigError as error:
        raise DataError(f"{error}; prepare the data again") from None
    refuse_other_files(file, listing)
    return listing


def refuse_edited(file: Path, content: bytes) -> None:
    """Raises DataError. The first version of Hexapla wrote no seal: its first line is the format."""
    first, _, rest = content.partition(b"\n")
    sealed = SEAL.fullmatch(first)
    if hashlib.sha256(rest).hexdigest().encode() != sealed[1] if sealed else first != b"format = %d" % FORMAT:
        raise DataError(f"{shown(file)}: has been edited since it was written (another SHA-256); prepare the data again")


def refuse_other_files(file: Path, listing: Mapping[str, Any]) -> None:
    """Raises DataError: a name that is a path, a fingerprint that is not that of the files."""
    for name in listing["files"]:
        if name in ("", ".", "..") or re.search(r"[/\\\0]", name):
            raise DataError(f"{shown(file)}: files: {in_brief(name)} is no name of a file in the folder; prepare the data again")
    if listing["fingerprint"] != fingerprint_of(listing["files"]):
        raise DataError(f"{shown(file)}: fingerprint: is not that of the files; prepare the data again")


def check_files(path: Path, listing: Mapping[str, Any], *, verify: bool) -> None:
    """Raises DataError: a file of the folder is not as `listing` has it, or one that will be read is not in there."""
    for name, expected in listing["files"].items():
        check_file(path / name, expected, verify=verify)
    unlisted = [name for name in files_of_tokenizers(path) if name not in listing["files"]]
    if unlisted:
        raise DataError(f"{shown(path / LISTING)}: files: lacks {', '.join(unlisted)}; prepare the data again")


def check_file(file: Path, expected: Mapping[str, Any], *, verify: bool) -> None:
    """Raises DataError: not a plain file, or not the one that was written."""
    if not os.path.lexists(file):
        raise DataError(f"{shown(file)}: is missing; prepare the data again")
    with opened_plainly(file) as (stream, size):
        if size != expected["bytes"]:
            raise DataError(f"{shown(file)}: {size} bytes, but {LISTING} says {expected['bytes']}; prepare the data again")
        if verify and hashlib.file_digest(stream, "sha256").hexdigest() != expected["sha256"]:
            raise DataError(f"{shown(file)}: its content has changed since it was prepared (another SHA-256); prepare the data again")
