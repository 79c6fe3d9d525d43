"""docs/paper.md leads to files, functions and tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [line for line in (ROOT / "docs" / "paper.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
PLACES = sorted({place for line in ROWS for place in re.findall(r"`([\w/]+\.py(?:: \w+)?)`", line)})


@pytest.mark.parametrize("place", PLACES)
def test_each_place_that_the_walk_names_is_there(place):
    path, _, name = place.partition(": ")
    file = ROOT / path if path.startswith("tests/") else ROOT / "src" / "hexapla" / path
    assert file.is_file()
    assert re.search(rf"^ *(def|class) {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE) if name else file.stat().st_size


@pytest.mark.parametrize("section", ["3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2"])
def test_the_walk_leaves_no_section_out(section):
    assert any(re.match(rf"\| {re.escape(section)}[ ,]", line) for line in ROWS)


@pytest.mark.parametrize("table", ["Table 1", "Table 2", "Table 3"])
def test_the_walk_names_each_table(table):
    assert any(table in line.split("|")[1] for line in ROWS)
