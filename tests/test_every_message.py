"""The check of every_message itself: which errors the source can make, and which of them were made."""

import ast
from pathlib import Path

import pytest

from every_message import never_made, recording, runs_everything
from hexapla.cli.messages import exit_codes, in_file, messages
from hexapla.errors import ConfigError, HexaplaError

SOURCE = """
class HexaplaError(Exception):
    exit_code = 1
class Sub(Newer):
    pass
class Newer(HexaplaError):
    exit_code = 7
class Other(Exception):
    exit_code = 8

def f(file, error):
    raise Newer(
        f"{file}: {error.strerror} and {len(file)}; "
        "do that"
    )
    raise Sub(str(error)) from error
    raise Other("no")
"""


def test_every_call_of_an_error_class_is_found_with_its_words_and_code():
    tree = ast.parse(SOURCE)
    codes = exit_codes([tree])
    assert codes == {"HexaplaError": 1, "Newer": 7, "Sub": 7}
    found = [(m.first_line, m.last_line, m.error, m.exit_code, m.text) for m in in_file(Path("x.py"), tree, codes)]
    assert found == [(12, 15, "Newer", 7, "‹file›: ‹strerror› and …; do that"), (16, 16, "Sub", 7, "…")]


def test_an_error_that_no_test_made_is_told_from_those_made_at_any_of_their_lines():
    tree = ast.parse(SOURCE)
    wanted = list(in_file(Path("/x.py"), tree, exit_codes([tree])))
    assert never_made(wanted, {("/x.py", 14)}) == wanted[1:]
    assert never_made(wanted, {("/x.py", 11), ("/y.py", 14)}) == wanted
    assert never_made(wanted, {("/x.py", 12), ("/x.py", 16)}) == []


def test_what_an_error_in_the_source_makes_is_recorded_there(monkeypatch):
    places = set()
    monkeypatch.setattr(HexaplaError, "__init__", recording(HexaplaError.__init__, places))
    with pytest.raises(ConfigError):
        import hexapla.config.load as load

        load.parse_change("nothing")
    made = [m for m in messages() if m not in never_made([m], places)]
    assert [(m.place, m.text.partition(":")[0]) for m in made] == [("config.load", "--set ‹change›")]


@pytest.mark.parametrize(
    ("option", "value"), [(None, None), ("markexpr", "thorough"), ("markexpr", "soak"), ("keyword", "loss"), ("lf", True)]
)
def test_only_a_session_that_chose_no_tests_must_make_every_message(pytestconfig, monkeypatch, option, value):
    default = {"markexpr": pytestconfig.getini("addopts")[-1], "keyword": "", "deselect": None, "lf": False}
    for name, setting in {**default, option: value}.items():
        if name:
            monkeypatch.setattr(pytestconfig.option, name, setting)
    monkeypatch.setattr(pytestconfig, "args_source", pytest.Config.ArgsSource.TESTPATHS)
    assert runs_everything(pytestconfig) == (option is None)
