"""The rules of docs/internals.md, each enforced on src/hexapla and each shown to catch what it forbids."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "hexapla"
MAX_LINES = 320
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc", "manager"}
CODE_RUNNING_MODULES = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml"}
CODE_RUNNING_CALLS = {
    *("eval", "exec", "compile", "__import__", "torch.load", "torch.save", "torch.jit.load", "torch.hub.load", "yaml.load"),
    *("numpy.load", "np.load", "torch.distributed.checkpoint.load", "torch.distributed.checkpoint.save"),
}
DAMAGING = {"replace", "ignore", "surrogateescape", "backslashreplace"}
"""ways to decode what is no UTF-8 without a word"""
MAY_DAMAGE = {
    "cli.console": "what is printed to people, on a terminal that may lack characters",
    "config.edge": "a setting with what is no text is refused, and is shown as far as it can be",
    "data.encodings": "what encoding a damaged line may have, guessed by trying",
    "data.lines": "a damaged line, whose type says that it is one",
    "data.tokenizer": "bytes that a model wrote, which may be no UTF-8: docs/prepare.md",
    "training.folders": "the name of a checkpoint, compared with those there are",
    "workflow.prepare": "the name of a file, in a report",
    "training.metrics": "a line that was cut off, which is then left out",
}
WITHOUT_TORCH = (
    *("errors", "config", "evaluation", "phrasebook", "cli", "data.lines", "data.corpus", "data.opening"),
    *("training.manifest", "training.folders", "explanation.parts", "explanation.topics", "workflow.explain", "workflow.terminal_plot"),
)


@dataclass(frozen=True)
class Source:
    """One file of the package: "blocks.attention" and its text."""

    name: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def layer(self) -> str:
        return self.name.partition(".")[0]


def sources() -> list[Source]:
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__") or "__init__"
        found.append(Source(name, file.read_text(encoding="utf-8")))
    return found


def read_order(page: str) -> dict[str, tuple[int, int]]:
    """Layer name to (how far right its group stands, its place among the strangers of that group)."""
    line = next(line for line in page.splitlines() if "→" in line and "errors" in line)
    return {
        name: (depth, place)
        for depth, group in enumerate(line.split("→"))
        for place, strangers in enumerate(group.split("│"))
        for name in strangers.split()
    }


ORDER = read_order((ROOT / "docs" / "internals.md").read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all that is imported anywhere below `tree`, whether a module or a name in one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def at_import_time(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported: no function bodies, no `if TYPE_CHECKING:`."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            waiting += statement.orelse
            continue
        below = [child for child in ast.walk(statement) if isinstance(child, ast.stmt) and child is not statement]
        if below and isinstance(statement, ast.If | ast.Try | ast.With | ast.ClassDef | ast.For | ast.While):
            waiting += [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
            waiting += [child for handler in getattr(statement, "handlers", []) for child in handler.body]
        yield statement


# Each rule yields what is wrong with one file; nothing, if all is well.


def imports_only_from_the_left(source: Source) -> Iterator[str]:
    if source.name == "__init__":
        return
    if source.layer not in ORDER:
        yield f"{source.name}: {source.layer} is no layer of docs/internals.md"
        return
    depth, place = ORDER[source.layer]
    for name in imported(source.tree):
        if name.startswith("."):
            yield f"{source.name}: imports {name}; write the whole name"
        if not name.startswith("hexapla."):
            continue
        layer = name.split(".")[1]
        if layer not in ORDER:
            if layer != "__version__":
                yield f"{source.name}: imports {name}, which is in no layer"
            continue
        other_depth, other_place = ORDER[layer]
        if layer != source.layer and (other_depth > depth or (other_depth == depth and other_place != place)):
            relation = "a stranger" if other_depth == depth else "further right"
            yield f"{source.name}: imports {name}, {relation}"


def annotations_are_evaluated(source: Source) -> Iterator[str]:
    if "__future__.annotations" in imported(source.tree):
        yield f"{source.name}: from __future__ import annotations hides shapes from the checker"


def nothing_runs_what_it_loads(source: Source) -> Iterator[str]:
    tree = source.tree
    for name in imported(tree):
        if name.split(".")[0] in CODE_RUNNING_MODULES:
            yield f"{source.name}: imports {name}"
        if name in CODE_RUNNING_CALLS or name.startswith("torch.distributed.checkpoint"):
            yield f"{source.name}: imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CODE_RUNNING_CALLS:
            yield f"{source.name}:{node.lineno}: calls {ast.unparse(node.func)}"
        if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "trust_remote_code"):
            yield f"{source.name}:{node.value.lineno}: {node.arg}"


def splits_lines_at_line_feeds(source: Source) -> Iterator[str]:
    """str.splitlines also splits at eight other characters, a text file read as such at a lone carriage return."""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("splitlines", "readlines", "readline")
        ):
            yield f"{source.name}:{node.lineno}: {node.func.attr}"


def damages_no_text(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or source.name in MAY_DAMAGE:
            continue
        said = [keyword.value for keyword in node.keywords if keyword.arg == "errors"]
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("decode", "encode"):
            said += node.args[1:2]
        if any(isinstance(value, ast.Constant) and value.value in DAMAGING for value in said):
            yield f"{source.name}:{node.lineno}: decodes with errors = {[ast.unparse(value) for value in said]}"


def is_not_too_long(source: Source) -> Iterator[str]:
    lines = len(source.text.splitlines())
    if lines > MAX_LINES:
        yield f"{source.name}: {lines} lines, more than {MAX_LINES}"


def has_a_name_that_says_something(source: Source) -> Iterator[str]:
    vague = VAGUE_NAMES.intersection(source.name.split("."))
    if vague:
        yield f"{source.name}: {', '.join(vague)} says nothing"


def must_start_fast(source: Source) -> bool:
    return any(source.name == name or source.name.startswith(f"{name}.") for name in WITHOUT_TORCH)


def torch_waits(source: Source) -> Iterator[str]:
    if not must_start_fast(source):
        return
    for statement in at_import_time(source.tree):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            heavy = [name for name in imported(statement) if name.split(".")[0] == "torch" or name.startswith("hexapla.axes")]
            if heavy:
                yield f"{source.name}:{statement.lineno}: imports {heavy[0]} at import time"


RULES: dict[Callable[[Source], Iterator[str]], list[Source]] = {
    imports_only_from_the_left: [
        Source("blocks.mask", "from hexapla.models.build import build"),
        Source("data.lines", "import hexapla.models.build"),
        Source("decoding.search", "def f():\n    from hexapla.objectives import loss"),
        Source("config.model", "from ..blocks import mask"),
        Source("errors", "from hexapla import cli"),
        Source("elsewhere.file", ""),
        Source("cli.main", "from hexapla.elsewhere import file"),
    ],
    annotations_are_evaluated: [Source("runs", "from __future__ import annotations")],
    nothing_runs_what_it_loads: [
        Source("runs", "import pickle"),
        Source("runs", "from pickle import loads"),
        Source("runs", "def f():\n    import dill.source"),
        Source("runs", "from torch import load"),
        Source("runs", "x = torch.load('x')"),
        Source("runs", "x = eval('1')"),
        Source("runs", "exec('x = 1')"),
        Source("runs", "x = yaml.load(f)"),
        Source("runs", "x = read(f, allow_pickle=True)"),
        Source("runs", "torch.save(x, f)"),
        Source("runs", "import torch.distributed.checkpoint as dcp"),
        Source("runs", "from torch.distributed import checkpoint"),
    ],
    splits_lines_at_line_feeds: [Source("runs", "x = text.splitlines()"), Source("runs", "for x in f.readlines(): pass")],
    damages_no_text: [
        Source("runs", "x = b.decode(errors='replace')"),
        Source("runs", "x = b.decode('utf-8', 'ignore')"),
        Source("runs", "x = open(f, encoding='utf-8', errors='surrogateescape')"),
    ],
    is_not_too_long: [Source("runs", "x = 1\n" * (MAX_LINES + 1))],
    has_a_name_that_says_something: [Source("data.utils", ""), Source("common.mask", "")],
    torch_waits: [
        Source("cli.train", "import torch"),
        Source("config.model", "from torch import nn"),
        Source("errors", "try:\n    import torch.nn\nexcept ImportError:\n    pass"),
        Source("evaluation.score", "class A:\n    import torch"),
        Source("config.stack", "from hexapla.axes import Memory"),
    ],
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule):
    assert [complaint for source in sources() for complaint in rule(source)] == []


def test_tests_and_benchmarks_run_nothing_they_load_either():
    files = [file for folder in ("tests", "benchmarks") for file in sorted((ROOT / folder).rglob("*.py"))]
    found = [complaint for file in files for complaint in nothing_runs_what_it_loads(Source(file.stem, file.read_text(encoding="utf-8")))]
    assert len(files) > 50
    assert found == []


@pytest.mark.parametrize(("rule", "bad"), [(rule, bad) for rule, all_bad in RULES.items() for bad in all_bad])
def test_the_rule_catches(rule, bad):
    assert list(rule(bad))


@pytest.mark.parametrize(
    ("rule", "good"),
    [
        (imports_only_from_the_left, Source("cli.main", "from hexapla.errors import HexaplaError\nimport torch")),
        (imports_only_from_the_left, Source("blocks.attention", "from hexapla.blocks.mask import Mask")),
        (imports_only_from_the_left, Source("axes", "from hexapla.errors import DataError")),
        (nothing_runs_what_it_loads, Source("runs", "model.eval()\nretrieval(x)\nx = re.compile('a')")),
        (splits_lines_at_line_feeds, Source("runs", "x = text.split('\\n')")),
        (damages_no_text, Source("runs", "x = b.decode('utf-8', errors='strict')\ny = text.replace('replace', 'ignore')")),
        (torch_waits, Source("cli.train", "if TYPE_CHECKING:\n    import torch\ndef f():\n    import torch")),
        (torch_waits, Source("blocks.mask", "import torch")),
    ],
)
def test_the_rule_lets_pass(rule, good):
    assert list(rule(good)) == []


def test_the_order_is_read_from_the_page():
    assert read_order("text\na errors → b │ c → d") == {"a": (0, 0), "errors": (0, 0), "b": (1, 0), "c": (1, 1), "d": (2, 0)}


def test_the_package_has_files_to_check():
    assert {"errors", "config.model", "cli.main"} <= {source.name for source in sources()}


def test_what_must_start_fast_loads_without_torch():
    """Through all that these modules import in turn, which the rule on single files cannot see."""
    names = [f"hexapla.{source.name}" for source in sources() if must_start_fast(source)]
    code = f"import sys, {', '.join(names)}\nheavy = {{'torch', 'transformers', 'scipy'}} & set(sys.modules)\nassert not heavy, heavy"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
