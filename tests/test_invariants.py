"""docs/invariants.md names tests that exist."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROWS = [
    line for line in (TESTS.parent / "docs/invariants.md").read_text(encoding="utf-8").splitlines() if "test_" in line and line[0] == "|"
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_promise_names_tests_that_are_there(row):
    cell = row.rstrip(" |").split("|")[-1]
    named = re.findall(r"`((?:\w+/)?test_\w+\.py)`((?:[:,] `test_\w+`)*)", cell)
    assert named
    for file, functions in named:
        text = (TESTS / file).read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(test_\w+)`", functions) if f"\ndef {name}(" not in text] == []
