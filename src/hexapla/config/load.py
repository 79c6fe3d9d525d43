"""config.toml: read, merged with a preset and `--set`, written."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hexapla.config.edge import from_mapping, to_mapping
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
    Raises ConfigError: an unknown preset or setting, or a value that is not allowed.
    """
    values = read_toml(file) if file else {}
    name = preset or values.get("preset") or "small"
    values.pop("preset", None)
    if name not in PRESETS:
        raise ConfigError(f"preset {name!r}: there is {', '.join(PRESETS)}")
    merged = to_mapping(PRESETS[name](source_vocab, None if joint else target_vocab))
    merge(merged, values)
    for change in changes:
        merge(merged, parse_change(change))
    return from_mapping(RunConfig, merged, where=str(file) if file else "")


def read_run_config(file: Path) -> RunConfig:
    """A complete configuration, as a run folder holds it."""
    return from_mapping(RunConfig, read_toml(file), where=str(file))


def write_toml(file: Path, config: Any) -> None:
    import tomli_w

    file.write_text(tomli_w.dumps(to_mapping(config)), encoding="utf-8")


def read_toml(file: Path) -> dict[str, Any]:
    """Raises ConfigError: the file is absent, not UTF-8, or not TOML; the message has the line."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not TOML: {error}") from None


def parse_change(change: str) -> dict[str, Any]:
    """ "training.steps=20000" as {"training": {"steps": 20000}}; what is no TOML value is taken as a string."""
    name, equals, text = change.partition("=")
    if not equals or not all(name.split(".")):
        raise ConfigError(f"--set {change}: must read name=value, as in --set training.steps=20000")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = name.strip().split(".")
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
            into[name] = dict(value) if isinstance(value, Mapping) else value
