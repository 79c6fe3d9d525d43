"""The edge where text becomes configuration: everything is checked here, once, and each complaint names its path."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hexapla.config.setting import Count
from hexapla.errors import ConfigError

C = TypeVar("C")
DEEPEST = 16
"""tables in tables"""
LONGEST_PLACE = 1000
"""characters shown of where settings came from: all of a file's name, not all of a --set that has tables without end"""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def from_mapping(kind: type[C], values: Mapping[str, Any], *, where: str = "") -> C:
    """A configuration of `kind` from nested plain values, as a TOML file has them.

    Raises ConfigError: an unknown name, a value of another type or out of its range; the message starts with `where` and the dotted path.
    """
    refuse_nested(values, where)
    # By way of JSON, since pydantic is strict about types there and still takes a list for a tuple. What a terminal gave
    # that is no Unicode cannot be JSON either; no setting allows it, nor the "?" in its place.
    text = json.dumps(values, default=str, ensure_ascii=False).encode("utf-8", errors="replace")
    try:
        return adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        raise ConfigError(": ".join(part for part in (where, explain(kind, error)) if part)) from None


def refuse_nested(values: Any, where: str) -> None:
    """Raises ConfigError, before anything walks down there: tables in tables, more than any configuration has."""
    level = [values]
    for _ in range(DEEPEST):
        level = [inner for each in level if isinstance(each, dict | list) for inner in (each.values() if isinstance(each, dict) else each)]
    if level:
        raise ConfigError(
            f"{where[:LONGEST_PLACE]}: tables in tables, more than {DEEPEST} deep; see docs/config.md for the settings there are"
        )


def checked(config: C) -> C:
    """The same configuration, its values checked: for one that Python code made rather than a file."""
    return from_mapping(type(config), to_mapping(config))


def checked_count(name: str, value: int) -> int:
    """The same number, for one that stands beside a configuration. Raises ConfigError: no integer, or below 1."""
    try:
        return adapter(Count).validate_python(value, strict=True)
    except ValidationError as error:
        raise ConfigError(f"{name} = {as_json(value)}: {allowed(dict(error.errors()[0]))}") from None


def to_mapping(config: Any) -> dict[str, Any]:
    """Nested plain values; unset ones are left out, since TOML has no word for them."""
    return drop_unset(asdict(config))


def drop_unset(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: drop_unset(value) for name, value in values.items() if value is not None}
    return [drop_unset(value) for value in values] if isinstance(values, (list, tuple)) else values


def explain(kind: Any, error: ValidationError) -> str:
    """The first complaint of `error` in one line: path = value: what is allowed."""
    first: Any = error.errors(include_url=False)[0]
    path, siblings, union = locate(kind, first["loc"])
    match first["type"]:
        case "value_error":
            return str(first["ctx"]["error"])
        case "unexpected_keyword_argument":
            return f"{path}: no such setting; {meant(kind, path, siblings, union)}"
        case "missing":
            return f"{path}: is missing; every configuration must give it"
        case "union_tag_not_found":
            return f"{path}.kind: is missing; there is {', '.join(kinds_of(siblings))}"
        case "union_tag_invalid":
            return f"{path}.kind = {as_json(first['input'].get('kind'))}: there is {', '.join(kinds_of(siblings))}"
        case _:
            return f"{path} = {as_json(first['input'])}: {allowed(first)}"


def allowed(complaint: Mapping[str, Any]) -> str:
    """What may stand where one of pydantic's `complaint`s is, in our words."""
    limits = complaint.get("ctx", {})
    match complaint["type"]:
        case "greater_than_equal":
            return f"must be at least {in_digits(limits['ge'])}"
        case "greater_than":
            return f"must be above {in_digits(limits['gt'])}"
        case "less_than_equal":
            return f"must be at most {in_digits(limits['le'])}"
        case "less_than":
            return f"must be below {in_digits(limits['lt'])}"
        case "literal_error":
            return f"there is {limits['expected'].replace(' or ', ', ').replace(chr(39), '')}"
        case "string_pattern_mismatch":
            return f"must be of the form {limits['pattern']}"
        case "finite_number":
            return "must be a finite number"
        case name:
            message: str = complaint["msg"]
            return IN_WORDS.get(name.partition("_")[0], message[:1].lower() + message[1:])


def in_digits(limit: Any) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


IN_WORDS = {
    "int": "must be an integer",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text",
    "tuple": "must be a list",
    "dataclass": "must be a table",
    "dict": "must be a table",
    "model": "must be a table",
}
"""what pydantic asks for, by the first word of its complaint's type"""


def locate(kind: Any, place: Iterable[str | int]) -> tuple[str, list[type], list[type]]:
    """The dotted path of a complaint's place, the classes that its last name may stand in or be, and the union they were chosen from.

    pydantic puts the tag of a union's member between the names; a user never wrote it there.
    """
    path, here, union = "", members(kind), []
    for part in place:
        owner = next((cls for cls in here if part in get_type_hints(cls)), None)
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(here) > 1 and part in kinds_of(here):
            here, union = [cls for cls in here if kinds_of([cls]) == [part]], here
        else:
            path += f".{part}" if path else part
            if owner is not None:
                here, union = members(get_type_hints(owner, include_extras=True)[str(part)]), []
    return path, here, union


def members(hint: Any) -> list[type]:
    """The configuration classes that a setting of this type may be; none for a number or a text."""
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [member for part in get_args(hint) for member in members(part)]


def kinds_of(classes: Iterable[type]) -> list[str]:
    """How each is told apart from the other members of its union."""
    return [getattr(cls, "kind", "") for cls in classes]


def meant(kind: Any, path: str, siblings: Iterable[type], union: Iterable[type]) -> str:
    """What to do about a name that is none: one of another `kind`, one like it beside it, or the same name elsewhere."""
    table, _, name = path.rpartition(".")
    having = [cls for cls in union if name in get_type_hints(cls)]
    if having:
        return f"it needs {table}.kind = {' or '.join(kinds_of(having))}"
    beside = get_close_matches(name, [f.name for cls in siblings for f in fields(cls)], n=1)
    near = [f"{table}.{each}".lstrip(".") for each in beside] or [full for full, *_ in settings(kind) if full.rpartition(".")[2] == name]
    return f"did you mean {' or '.join(near)}?" if near else "see docs/config.md for those there are"


def as_json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def settings(kind: Any, path: str = "") -> list[tuple[str, str, Any]]:
    """(dotted name, type, default) of every setting under a configuration class, for tables in the docs."""
    rows: list[tuple[str, str, Any]] = []
    hints = get_type_hints(kind, include_extras=True)
    for f in fields(kind):
        name = f"{path}{f.name}"
        default = f.default_factory() if callable(f.default_factory) else f.default
        below = members(hints[f.name])
        if len(below) == 1:
            rows += settings(below[0], f"{name}.")
        else:
            rows.append((name, str(f.type), default))
    return rows
