"""What a shell sees: exit codes, one line on stderr, nothing heavy loaded before it is needed."""

import os
import subprocess
import sys

import pytest

from hexapla.cli import main
from hexapla.errors import CheckpointError, ConfigError, DataError, DivergenceError, StorageError

COMMANDS = ["check", "prepare", "train", "translate", "score", "evaluate", "average", "explain", "demo"]
THIS = __file__


def hexapla(*arguments: str, **settings) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "hexapla.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **settings)


@pytest.fixture
def failing(monkeypatch):
    """Make every command line fail as one that meets `error`."""

    def install(error: BaseException) -> None:
        def fail(*arguments, **settings):
            raise error

        monkeypatch.setattr("hexapla.cli.commands.app", fail)

    return install


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("model.heads = 3: must divide 8"), 2),
        (DivergenceError("step 7: NaN"), 3),
        (DataError("a.de: 3 lines, but a.en has 4"), 65),
        (CheckpointError("runs/x: no checkpoint"), 66),
        (StorageError("runs/x: no space"), 74),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(error, code, failing, capsys):
    failing(error)
    assert main.run(["any"]) == code
    assert capsys.readouterr() == ("", f"hexapla: {error}\n")


def test_a_refusal_of_the_system_names_the_path_and_why(failing, capsys):
    failing(PermissionError(13, "Permission denied", "runs/x"))
    assert main.run(["any"]) == 74
    assert capsys.readouterr().err == "hexapla: runs/x: Permission denied\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(KeyboardInterrupt(), 130, "interrupted"), (SystemExit(143), 143, "terminated"), (SystemExit(129), 129, "hung up")],
)
def test_what_a_signal_ended_keeps_its_exit_code_and_prints_no_traceback(error, code, words, failing, capsys):
    """Training raises these once its checkpoint is saved."""
    failing(error)
    assert main.run(["any"]) == code
    assert capsys.readouterr().err == f"hexapla: {words}\n"


def test_only_a_bug_prints_a_traceback(failing, capsys):
    failing(KeyError("layers"))
    assert main.run(["any"]) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("hexapla: this is a bug in Hexapla: please report the lines above and the command that led to them\n")


def test_a_message_stays_one_line_and_cannot_steer_the_terminal(failing, capsys):
    failing(DataError("a\nb\x1b[31m.de\udc80: Größe 漢"))
    main.run(["any"])
    assert capsys.readouterr().err == "hexapla: a\\nb\\x1b[31m.de\\udc80: Größe 漢\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "no such command 'trian'. Did you mean 'train'? (see hexapla --help)"),
        (["translate"], "translate: missing argument 'RUN' (see hexapla translate --help)"),
        (["train", "data"], "train: missing option '--into' (see hexapla train --help)"),
        (["translate", "x", "--bem", "4"], "translate: no such option: --bem"),
        (
            ["translate", "x", "--beam", "0"],
            "translate: --beam 0: must be at least 1 (see hexapla translate --help)",
        ),
        (["translate", "x", "--beam", "2.5"], "translate: --beam 2.5: must be an integer"),
        (["translate", "x", "--penalty", "mean"], "translate: --penalty mean: 'mean' is not one of 'gnmt', 'power', 'none'"),
        (["translate", "x", "--length-penalty", "nan"], "length_penalty = NaN"),
        (["prepare", "x", "--into", "y", "--subwords", "bpe:many"], "--subwords bpe:many: many is not a size; there is bpe:SIZE"),
        (["average", "x", "--last", "0"], "average: --last 0: must be at least 1"),
    ],
)
def test_a_usage_error_says_what_was_given_and_exits_with_2(arguments, message, capsys):
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (err.count("\n"), out) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["translate", "nowhere"], 66, "nowhere: not a run folder"),
        (["score", "nowhere", "a", "b"], 66, "nowhere: not a run folder"),
        (["average", "nowhere"], 66, "nowhere: not a run folder"),
        (["train", "nowhere", "--into", "x"], 65, "nowhere: not a prepared folder"),
        (["prepare", "nowhere.de", "nowhere.en", "--into", "x"], 65, "nowhere.de"),
        (["check", "nowhere.de", "nowhere.en"], 65, "nowhere.de"),
    ],
)
def test_what_is_not_there_is_named(arguments, code, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.run(arguments) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_no_command_shows_the_help_and_fails(capsys):
    assert main.run([]) == 2
    assert "translate" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)])
def test_every_command_has_help(arguments, capsys):
    assert main.run([*arguments, "--help"]) == 0
    assert "Usage: hexapla" in capsys.readouterr().out


def test_version_names_what_computes():
    import torch

    done = hexapla("--version")
    assert done.stdout == f"hexapla 0.1.0 (torch {torch.__version__}, Python {sys.version.split()[0]})\n"


LOADED = """
import os, sys
from hexapla.cli.main import run
try:
    code = run(sys.argv[1:])
finally:  # completion ends the process itself
    large = ("torch", "numpy", "pyarrow", "sentencepiece", "safetensors", "sacrebleu", "jaxtyping")
    loaded = [name for name in large if name in sys.modules]
    os.write(2, repr(loaded).encode())
sys.exit(code)
"""


def loaded(arguments, **environment):
    """The exit code of a command, and which large libraries it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, env=os.environ | environment, timeout=60
    )
    return done.returncode, done.stderr[done.stderr.rindex("[") :]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["explain"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_what_only_tells_loads_nothing_that_computes(arguments):
    assert loaded(arguments) == (0, "[]")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["trian"], 2),
        (["translate"], 2),
        (["translate", "x", "--beam", "0"], 2),
        (["translate", "x", "--greedy", "--sample"], 2),
        (["train", "x"], 2),
        (["prepare", "x", "--into", "y", "--subwords", "bpe:many"], 2),
        (["prepare", "x", "--into", "y", "--dev", "a", "b", "--dev-tsv", "c"], 2),
        (["evaluate", "x", "y"], 2),
        (["explain", "scailing"], 2),
        (["check", "nowhere", "nowhere"], 65),
        (["check", THIS, "--test", THIS, "nowhere"], 65),
        (["prepare", THIS, "nowhere", "--into", "y"], 65),
        (["evaluate", "--hypotheses", THIS, "nowhere"], 65),
        (["translate", "nowhere"], 66),
        (["score", "nowhere", "a", "b"], 66),
        (["average", "nowhere"], 66),
        (["evaluate", "nowhere", "a", "b"], 66),
    ],
)
def test_what_cannot_be_is_refused_before_what_computes_is_loaded(arguments, code):
    assert loaded(arguments) == (code, "[]")


def test_a_setting_that_cannot_be_is_refused_without_torch():
    code, names = loaded(["train", "nowhere", "--into", "x", "--preset", "huge"])
    assert (code, "torch" in names) == (2, False)


def test_check_loads_numpy_alone(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n")
    assert loaded(["check", str(tmp_path / "t.tsv")]) == (0, "['numpy']")


@pytest.mark.parametrize("words", ["hexapla tra", "hexapla translate --be", "hexapla prepare "])
def test_completion_loads_nothing_that_computes(words):
    count = str(len(words.split(" ")) - 1)
    assert loaded([], _HEXAPLA_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)[1] == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_installed(shell):
    done = hexapla(env=os.environ | {"_HEXAPLA_COMPLETE": f"source_{shell}"})
    assert "hexapla" in done.stdout


def test_a_shell_completes_commands():
    words = {"_HEXAPLA_COMPLETE": "complete_bash", "COMP_WORDS": "hexapla tra", "COMP_CWORD": "1"}
    assert set(hexapla(env=os.environ | words).stdout.split()) == {"train", "translate"}


@pytest.mark.parametrize("arguments", [["--help"], ["translate", "--help"]])
def test_a_reader_that_goes_away_is_no_error(arguments):
    """As in `hexapla --help | true`: quiet, with the code of a program that SIGPIPE ended."""
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read(1); from hexapla.cli.main import main; main()", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        process.stdout.close()
        _, err = process.communicate(b"x", timeout=60)
    assert (process.returncode, err) == (141, b"")
