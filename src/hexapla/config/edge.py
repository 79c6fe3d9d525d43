"""The edge where text becomes configuration: everything is checked here, once, and each complaint names its path."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hexapla.errors import ConfigError

C = TypeVar("C")


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def from_mapping(kind: type[C], values: Mapping[str, Any], *, where: str = "") -> C:
    """A configuration of `kind` from nested plain values, as a TOML file has them.

    Raises ConfigError: an unknown name, a value of another type or out of its range; the message starts with `where` and the dotted path.
    """
    try:
        # By way of JSON, since pydantic is strict about types there and still takes a list for a tuple.
        return adapter(kind).validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        raise ConfigError(": ".join(part for part in (where, explain(error)) if part)) from None


def checked(config: C) -> C:
    """The same configuration, its values checked: for one that Python code made rather than a file."""
    return from_mapping(type(config), to_mapping(config))


def to_mapping(config: Any) -> dict[str, Any]:
    """Nested plain values; unset ones are left out, since TOML has no word for them."""
    return drop_unset(asdict(config))


def drop_unset(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: drop_unset(value) for name, value in values.items() if value is not None}
    return [drop_unset(value) for value in values] if isinstance(values, (list, tuple)) else values


def explain(error: ValidationError) -> str:
    """The first complaint of `error` in one line: path = value: what is allowed."""
    first = error.errors(include_url=False)[0]
    tags = {"beam", "sample", "paper", "inverse_sqrt", "cosine", "constant", "sinusoidal", "learned"}
    path = ".".join(str(part) for part in first["loc"] if part not in tags)
    reason = first["msg"].removeprefix("Value error, ")
    match first["type"]:
        case "value_error":
            line = reason
        case "unexpected_keyword_argument":
            line = f"{path}: no such setting; see docs/config.md for those there are"
        case "missing":
            line = f"{path}: is missing; every configuration must give it"
        case _:
            line = f"{path} = {json.dumps(first['input'], default=str, ensure_ascii=False)}: {reason[:1].lower()}{reason[1:]}"
    return line


def settings(kind: Any, path: str = "") -> list[tuple[str, str, Any]]:
    """(dotted name, type, default) of every setting under a configuration class, for tables in the docs."""
    rows: list[tuple[str, str, Any]] = []
    for f in fields(kind):
        name = f"{path}{f.name}"
        default = f.default_factory() if callable(f.default_factory) else f.default
        if is_dataclass(f.type):
            rows += settings(f.type, f"{name}.")
        else:
            rows.append((name, str(f.type), default))
    return rows
