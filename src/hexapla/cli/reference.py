"""The tables of options, settings and messages in docs/, written from the code: python -m hexapla.cli.reference docs/*.md

A page holds <!-- options of translate -->, <!-- settings --> or <!-- messages --> where a table stands, and <!-- end --> after it.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types
import typer.main

from hexapla.cli.commands import app
from hexapla.cli.messages import Message, messages
from hexapla.config.changes import change_of
from hexapla.config.data import PrepareConfig
from hexapla.config.edge import in_digits, members
from hexapla.config.run import RunConfig
from hexapla.config.setting import LARGEST

MARKED = re.compile(r"(<!-- (?P<what>settings|messages|options of \w+) -->\n).*?(<!-- end -->)", re.DOTALL)
NUMBERS = {int: "integer", float: "number", bool: "true, false", str: "text"}


def filled(page: str) -> str:
    """A page with its marked tables as the code has them now."""
    return MARKED.sub(lambda found: f"{found[1]}{table_for(found['what'])}\n{found[3]}", page)


def table_for(what: str) -> str:
    match what:
        case "settings":
            return setting_tables()
        case "messages":
            return message_tables()
        case _:
            return option_table(what.removeprefix("options of "))


def option_table(command: str) -> str:
    """A command's arguments and options with their help."""
    described = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]  # a group has commands
    rows = []
    for parameter in described.params:
        is_option = parameter.opts[0].startswith("-")
        name = f"{', '.join(parameter.opts)} {parameter.metavar or ''}".rstrip() if is_option else parameter.metavar
        default = "" if parameter.default is None or isinstance(parameter.default, bool) else f"`{parameter.default}`"
        rows.append((f"`{name}`", default, parameter.help or ""))
    return table(("option", "default", "meaning"), rows)


def setting_tables() -> str:
    """A heading and a table for each class of settings, with all the places it stands at."""
    places: dict[type, list[str]] = {}
    for root, name in ((RunConfig, ""), (PrepareConfig, "prepare")):
        for cls, place in classes(root, name):
            places.setdefault(cls, []).append(place)
    return "\n".join(section(cls, found) for cls, found in places.items() if any(found))


def classes(cls: type, place: str) -> Iterator[tuple[type, str]]:
    """Each class of settings below `cls`, with the dotted name of where it stands."""
    yield cls, place
    for name, kind in get_type_hints(cls, include_extras=True).items():
        for below in members(kind):
            yield from classes(below, f"{place}.{name}".lstrip("."))


def section(cls: type, places: list[str]) -> str:
    kind = next((f' with `kind = "{field.default}"`' for field in fields(cls) if field.name == "kind"), "")
    heading = f"### {', '.join(f'`{place}`' for place in places)}{kind}"
    hints, meanings = get_type_hints(cls, include_extras=True), docstrings(cls)
    rows = [
        (f"`{field.name}`", default_of(field), allowed(hints[field.name]), *resumed(places[0], field), meanings.get(field.name, ""))
        for field in fields(cls)
        if field.name != "kind" and not members(hints[field.name])
    ]
    is_of_runs = any(resumed(places[0], field) for field in fields(cls))
    heads = ("setting", "default", "allowed", *(["when a run goes on"] if is_of_runs else []), "meaning")
    purpose = inspect.cleandoc(cls.__doc__ or "") if cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(") else ""
    about = purpose.partition("\n\n")[0].replace("*", "\\*") + "\n\n" if purpose else ""
    return f"{heading}\n\n{about}{table(heads, rows) if rows else ''}"


def resumed(place: str, field: Field[Any]) -> tuple[str, ...]:
    """What a resumed run does about another value, for a setting that a run has."""
    change = change_of(f"{place}.{field.name}")
    return (change.value,) if change else ()


def message_tables() -> str:
    """A heading and a table for each exit code that an error of ours has. What only passes another's words on is left out."""
    found: dict[int, list[Message]] = {}
    for message in messages():
        if message.text != "…":
            found.setdefault(message.exit_code, []).append(message)
    return "\n".join(
        f"### Exit code {code}\n\n" + table(("message", "from"), [(as_code(each.text), as_code(each.place)) for each in found[code]])
        for code in sorted(found)
    )


def docstrings(cls: type) -> dict[str, str]:
    """The string that stands after a field, by the field's name."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and isinstance(after, ast.Expr):
            found[statement.target.id] = ast.literal_eval(after.value)
    return found


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The members of a union, whether annotated or not; else the type itself."""
    if get_origin(kind) is Annotated and get_origin(get_args(kind)[0]) in (Union, UnionType):
        kind = get_args(kind)[0]
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def default_of(field: Field[Any]) -> str:
    if field.default is MISSING:
        return "from the data"
    return "unset" if field.default is None else f"`{str(field.default).lower() if isinstance(field.default, bool) else field.default}`"


def allowed(kind: Any) -> str:
    """A type in words: "integer, at least 1"."""
    members = [each for each in alternatives(kind) if each is not NoneType]
    if len(members) > 1:
        return " or ".join(allowed(each) for each in members)
    kind = members[0]
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of: {allowed(get_args(kind)[0])}"
    if get_origin(kind) is Annotated:
        inner, *limits = get_args(kind)
        return ", ".join([allowed(inner), *(word for limit in limits for word in limit_in_words(limit))])
    return NUMBERS.get(kind, str(kind))


def limit_in_words(limit: Any) -> list[str]:
    match limit:
        case annotated_types.Ge(ge=value):
            return [f"at least {in_digits(value)}"]
        case annotated_types.Gt(gt=value):
            return [f"above {in_digits(value)}"]
        case annotated_types.Le(le=value) if value != LARGEST:
            return [f"at most {in_digits(value)}"]
        case annotated_types.Lt(lt=value):
            return [f"below {in_digits(value)}"]
        case _:
            return []


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *((as_cell(cell) for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def as_cell(text: str) -> str:
    """`text` where Markdown would take | for the end of a cell and <unk> for HTML."""
    return text.replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
