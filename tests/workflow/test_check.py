"""The text view says what the report holds, in 80 columns, with or without colour."""

import io
import json
import re
import subprocess
import sys

import pytest
from rich.console import Console
from rich.text import Text

from hexapla.errors import DataError
from hexapla.workflow.check import check, render


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name: str, *lines: str) -> str:
        (tmp_path / name).write_bytes("".join(line + "\n" for line in lines).encode())
        return name

    return write


def shown(report, encoding="utf-8", **options) -> str:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding=encoding, write_through=True), width=80, **options)
    console.print(render(report))
    return raw.getvalue().decode(encoding)


def test_the_view_tells_sizes_lengths_findings_and_a_verdict(file):
    report = check(file("a.de", "Ein Hund bellt.", "", "Wo ist er?"), file("a.en", "A dog barks.", "Hello.", "Where is he?"))
    text = shown(report)
    assert text.startswith("3 pairs\n")
    rows = {line[:22].strip(): line[22:].split() for line in text.splitlines()}
    assert rows["lines"] == ["3", "3"]
    assert rows["blank lines"] == ["1", "0"]
    assert rows["words"] == ["6", "7"]
    assert "warning a.de: 1 blank line beside text; line 2" in text
    assert text.endswith("Usable; look at 1 warning first.\n")


def test_bars_are_as_long_as_their_counts(file):
    report = check(file("a", *["one two"] * 8, *["one"] * 4, *["a b c"] * 1), file("b", *["eins zwei"] * 8, *["eins"] * 4, "x y z"))
    bars = {line.split()[0]: line.split()[1] for line in shown(report).splitlines() if "█" in line and line.split()[0] in "123"}
    assert {label: bar.count("█") for label, bar in bars.items()} == {"1": 9, "2": 18, "3": 2}


def test_the_verdict_follows_the_worst_finding(file):
    good = check(file("a", "ein Hund", "zwei Katzen"), file("b", "a dog", "two cats"))
    assert good.worst == "info" and shown(good).endswith("Nothing speaks against training on it.\n")
    bad = check(file("a", "ein Hund", "zwei Katzen"), file("b", "a dog"))
    assert bad.worst == "error" and shown(bad).endswith("Not fit for training yet: 1 error, 0 warnings.\n")
    assert "error   b: 1 lines, but a has 2; line 2" in shown(bad)


def test_an_empty_corpus_has_a_view(file):
    assert "there is no pair to train on" in shown(check(file("a"), file("b")))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_line_is_wider_than_the_terminal_and_old_terminals_are_served(file, encoding):
    long = "a_rather_long_name_of_a_file_" * 3
    report = check(file(long, *[f"word {i} " * (i % 30) for i in range(90)]), file("b", *[f"mot {i} " * (i % 31) for i in range(90)]))
    text = shown(report, encoding)
    assert max(map(len, text.splitlines())) <= 80
    assert ("#" in text) == (encoding == "ascii")


def test_names_are_printed_as_they_are_and_never_as_markup(file):
    text = shown(check(file("[red]a.txt", ""), file("b", "x")))
    assert text.count("[red]a.txt") == 3  # heading, histogram, finding


def test_colour_changes_no_character(file):
    report = check(file("a", "ein Hund", ""), file("b", "a dog", "x"))
    assert Text.from_ansi(shown(report, force_terminal=True, color_system="truecolor")).plain.rstrip() == shown(report).rstrip()


def test_a_test_set_and_a_tsv_file_are_taken(file):
    corpus = file("c.tsv", "ein Hund\ta dog", "zwei\ttwo")
    text = shown(check(corpus, tests=[(file("t.de", "ein Hund"), file("t.en", "a dog"))]))
    assert "t.de + t.en: 1 of 1 sources are in the corpus, 1 with the same target" in " ".join(text.split())


def test_a_missing_file_is_refused(file):
    with pytest.raises(DataError, match=r"^none\.de: no such file; check the path$"):
        check("none.de", file("a", "x"))


def test_the_verb_is_imported_without_torch_or_numpy():
    code = "import sys, hexapla.workflow.check; print([name for name in ('torch', 'numpy', 'rich') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_remedies_name_options_that_prepare_has(file):
    import typer.main

    from hexapla.cli.commands import app

    words = "ein Hund sieht ein Haus " * 50
    report = check(
        file("a", "OK", "x y", "x y", "ein Hund", words, "cafe\u0301", "a b c d e f g h i j" * 9),
        file("b", "OK", "u", "u", "dog", words, "c", "a"),
    )
    named = set(re.findall(r"prepare (--[\w-]+)", " ".join(finding.remedy for finding in report.findings)))
    assert named == {"--copies", "--duplicates", "--max-ratio", "--max-tokens", "--normalise"}
    prepare = typer.main.get_command(app).commands["prepare"]  # type: ignore[attr-defined]
    assert named <= {option for parameter in prepare.params for option in parameter.opts}


def checked(*arguments: str) -> int:
    from hexapla.cli.main import run

    return run(["check", *arguments])


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_the_command_ends_with_65_after_a_report_that_finds_an_error(file, form, capfd):
    assert checked(file("a", "ein Hund", "zwei Katzen"), file("b", "a dog"), *form) == 65
    out, err = capfd.readouterr()
    assert "line i of one must translate line i of the other" in " ".join(out.split())
    assert err == (
        "hexapla: a b: not fit for training yet: b: 1 lines, but a has 2; line i of one must translate line i of the other;"
        " look at the end of a\n"
    )


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ([], [], "there is no pair to train on"),
        (["", "x"], ["y", ""], "each pair has a blank side"),
        (["same", "text"], ["same", "text"], "source and target are the same text"),
    ],
)
def test_nothing_to_train_on_is_an_error_of_the_command(file, capfd, source, target, words):
    assert checked(file("a", *source), file("b", *target)) == 65
    assert f"not fit for training yet: {words}; " in capfd.readouterr().err


def test_the_command_ends_with_0_where_all_it_finds_are_warnings(file, capfd):
    assert checked(file("a", "ein Hund", ""), file("b", "a dog", "x")) == 0
    assert "Usable; look at 1 warning first." in capfd.readouterr().out


def test_several_sets_are_compared_with_the_corpus_as_files_or_with_tabs(file, capfd):
    corpus = file("c.tsv", "ein Hund\ta dog", "zwei\ttwo")
    sets = (file("d.de", "zwei"), file("d.en", "2"), file("t.de", "ein Hund"), file("t.en", "a dog"), file("e.de", "x"), file("e.en", "y"))
    tabs = ("--dev-tsv", file("f.tsv", "zwei\ttwo"), "--test-tsv", file("g.tsv", "a\tb"), "--test-tsv", file("h.tsv", "zwei\tx"))
    assert checked(corpus, "--dev", *sets[:2], "--test", *sets[2:4], "--test", *sets[4:], *tabs, "--json") == 0
    overlaps = json.loads(capfd.readouterr().out)["overlaps"]
    assert [(each["name"], each["sources_seen"], each["pairs_seen"]) for each in overlaps] == [
        ("d.de + d.en", 1, 0),
        ("t.de + t.en", 1, 1),
        ("e.de + e.en", 0, 0),
        ("f.tsv", 1, 1),
        ("g.tsv", 0, 0),
        ("h.tsv", 1, 0),
    ]


def test_a_set_of_one_file_is_a_usage_error(file, capfd):
    assert checked(file("c.tsv", "a\tb"), "--test", file("t", "x")) == 2
    assert "--test" in capfd.readouterr().err
