"""The tables that docs/ takes from the code."""

from dataclasses import field
from typing import Annotated, Literal, get_type_hints

import pytest
from annotated_types import Ge, Lt

from hexapla.cli.reference import allowed, docstrings, filled, option_table, setting_tables
from hexapla.config.decoding import Sample
from hexapla.config.edge import settings
from hexapla.config.run import RunConfig
from hexapla.config.setting import Count, setting


@setting
class Example:
    """What it is."""

    first: Count = 1
    """how many"""
    second: str = "x"
    third: list[int] = field(default_factory=list)
    """which
    ones"""


def test_a_string_after_a_field_is_its_meaning():
    assert docstrings(Example) == {"first": "how many", "third": "which\n    ones"}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (int, "integer"),
        (bool, "true, false"),
        (Annotated[float, Ge(0.0), Lt(1.0)], "number, at least 0, below 1"),
        (get_type_hints(Sample, include_extras=True)["top_p"], "number, above 0, at most 1"),
        (get_type_hints(Sample, include_extras=True)["top_k"], "integer, at least 1"),
        (Literal["a", "b"], "`a`, `b`"),
        (tuple[Annotated[int, Ge(0)], ...], "list of: integer, at least 0"),
        (int | str, "integer or text"),
    ],
)
def test_a_type_is_told_in_words(kind, words):
    assert allowed(kind) == words


def test_every_setting_stands_in_a_table():
    tables = setting_tables()
    for name, *_ in settings(RunConfig):
        place, _, setting_name = name.rpartition(".")
        assert f"`{setting_name}`" in tables or f"`{name}`" in tables, name
        assert f"`{place}`" in tables or not place


def test_every_option_stands_in_its_table():
    table = option_table("translate")
    assert "| `RUN` |  |" in table
    assert "| `--n-best N` |" in table
    assert "number \\|\\|\\| text" in table
    assert "| `--seed N` | `1` |" in option_table("prepare")
    assert "source\\<TAB>target" in option_table("prepare")


def test_a_page_keeps_what_stands_around_its_tables():
    page = "# T\n<!-- options of average -->\nSTALE\n<!-- end -->\nafter\n"
    new = filled(page)
    assert new.startswith("# T\n<!-- options of average -->\n| option |")
    assert new.endswith("|\n\n<!-- end -->\nafter\n")
    assert "STALE" not in new
    assert filled(new) == new
