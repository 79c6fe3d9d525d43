"""What differs between two configurations of a run, and what a run that goes on does about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from hexapla.config.edge import as_json, members, to_mapping
from hexapla.config.run import RunConfig
from hexapla.config.setting import Change


@dataclass(frozen=True)
class Difference:
    name: str
    """dotted"""
    old: Any
    new: Any
    """None: unset"""

    @property
    def change(self) -> Change:
        """A setting that only another version of Hexapla knows is refused."""
        return change_of(self.name) or Change.REFUSE

    def __str__(self) -> str:
        return f"{self.name}: {shown(self.old)} -> {shown(self.new)}"


def differences(old: RunConfig, new: RunConfig) -> list[Difference]:
    """Every setting whose value is another, by name."""
    before, after = flat(to_mapping(old)), flat(to_mapping(new))
    return [
        Difference(name, before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def change_of(name: str) -> Change | None:
    """What a resumed run does about another value of a dotted setting: as it is classed itself, else the nearest group above it."""
    found, here = None, [RunConfig]
    for part in name.split("."):
        hints = [hints[part] for hints in (get_type_hints(cls, include_extras=True) for cls in here) if part in hints]
        if not hints:
            return None
        found = next((mark for mark in getattr(hints[0], "__metadata__", ()) if isinstance(mark, Change)), found)
        here = [member for hint in hints for member in members(hint)]
    return found


def flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, value in values.items():
        rows |= flat(value, f"{path}{name}.") if isinstance(value, dict) else {path + name: value}
    return rows


def shown(value: Any) -> str:
    return "unset" if value is None else value if isinstance(value, str) else as_json(value)
