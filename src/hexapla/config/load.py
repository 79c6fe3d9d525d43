"""config.toml: read, merged with a preset and `--set`, written."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from hexapla.config.edge import from_mapping, refuse_nested, to_mapping
from hexapla.config.presets import PRESETS
from hexapla.config.run import RunConfig
from hexapla.errors import ConfigError


def run_config(
    source_vocab: int,
    target_vocab: int,
    *,
    joint: bool,
    preset: str | None = None,
    file: Path | None = None,
    changes: Iterable[str] = (),
) -> RunConfig:
    """The run that is asked for: a preset, then what `file` says, then each "a.b=value" of `changes`; later ones win.

    `file` may name its preset itself, as `preset = "tiny"`. The vocabulary sizes are those of the data.
    Raises ConfigError: an unknown preset or setting, or a value that is not allowed; the message starts with who asked for it.
    """
    values = read_toml(file) if file else {}
    named = values.pop("preset", None)
    name = next(each for each in (preset, named, "small") if each is not None)
    if not isinstance(name, str) or name not in PRESETS:
        place = f"{file}: " if preset is None else ""
        raise ConfigError(f"{place}preset = {json.dumps(name, default=str)}: there is {', '.join(PRESETS)}")
    start = to_mapping(PRESETS[name](source_vocab, None if joint else target_vocab))
    return layered([("", start), (str(file), values), *((f"--set {change}", parse_change(change)) for change in changes)])


def layered(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> RunConfig:
    """One run from (who asks, values), each over those before it. Only the whole must stand.

    Raises ConfigError: what is wrong with the whole, starting with the first who brought it about.
    """
    whole: dict[str, Any] = {}
    for who, values in layers:
        refuse_nested(values, who)
        merge(whole, values)
    try:
        return from_mapping(RunConfig, whole)
    except ConfigError as error:
        raise ConfigError(blamed(layers, str(error))) from None


def blamed(layers: Sequence[tuple[str, Mapping[str, Any]]], complaint: str) -> str:
    """`complaint` with the first of `layers` that it can be made of: "--set a.b = 0: must be at least 1", "my.toml: a.b = …"."""
    sofar: dict[str, Any] = {}
    for who, values in layers:
        merge(sofar, values)
        try:
            from_mapping(RunConfig, sofar)
        except ConfigError as error:
            if str(error) != complaint:
                continue
            option, _, setting = who.partition(" ")
            is_about = option == "--set" and complaint.startswith(setting.partition("=")[0].strip())
            return f"{option} {complaint}" if is_about else f"{who}: {complaint}" if who else complaint
    return complaint


def read_run_config(file: Path) -> RunConfig:
    """A complete configuration, as a run folder holds it."""
    return from_mapping(RunConfig, read_toml(file), where=str(file))


def write_toml(file: Path, config: Any) -> None:
    file.write_text(as_toml(config), encoding="utf-8")


def as_toml(config: Any) -> str:
    import tomli_w

    return tomli_w.dumps(to_mapping(config))


def read_toml(file: Path) -> dict[str, Any]:
    """Raises ConfigError: the file is absent, not UTF-8, or not TOML; the message has the line."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}; give a TOML file of settings, see docs/config.md") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:  # an integer without end, and a list in a list in a list, are no TOMLDecodeError
        reason, _, at = str(error).partition(" (at ")
        place = ":".join(re.findall(r"\d+", at)) or "end"
        raise ConfigError(f"{file}:{place}: not TOML: {reason[:1].lower()}{reason[1:]}; see docs/config.md for an example") from None


def parse_change(change: str) -> dict[str, Any]:
    """ "training.steps=20000" as {"training": {"steps": 20000}}; what is no TOML value is taken as a string."""
    name, equals, text = change.partition("=")
    path = [part.strip() for part in name.split(".")]
    if not equals or not all(path):
        raise ConfigError(f"--set {change}: must read name=value, as in --set training.steps=20000")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    *tables, last = path
    values: dict[str, Any] = {last: value}
    for table in reversed(tables):
        values = {table: values}
    return values


def merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Overwrite `into` by `values`, table by table. A table of another `kind` replaces the old one whole."""
    for name, value in values.items():
        old = into.get(name)
        if isinstance(value, Mapping) and isinstance(old, dict) and value.get("kind", old.get("kind")) == old.get("kind"):
            merge(old, value)
        else:
            into[name] = deepcopy(value)
