"""Every message of a HexaplaError, read from the source: for the tables in docs/errors.md, and for the tests, which must raise each."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
BASE = "HexaplaError"


@dataclass(frozen=True)
class Message:
    """One place in the source that makes an error."""

    file: Path
    first_line: int
    last_line: int
    error: str
    exit_code: int
    text: str
    """as it is written there; a value is ‹its name›, or … where it has none"""

    @property
    def place(self) -> str:
        """The module as docs name it: training.checkpoint."""
        return ".".join(self.file.relative_to(PACKAGE).with_suffix("").parts)


def messages() -> list[Message]:
    """In the order of the files and their lines. What an error only passes on from another has … for a text."""
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}
    codes = exit_codes(trees.values())
    found = [message for file, tree in trees.items() for message in in_file(file, tree, codes)]
    return sorted(found, key=lambda message: (message.file, message.first_line))


def exit_codes(trees: Iterable[ast.Module]) -> dict[str, int]:
    """The exit code of each class below HexaplaError, its own or that of the class it is made from."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    codes: dict[str, int] = {}
    before = -1
    while len(codes) > before:
        before = len(codes)
        for cls in classes:
            inherited = [codes[base] for base in map(ast.unparse, cls.bases) if base in codes]
            if cls.name == BASE or inherited:
                codes[cls.name] = next(iter([*own_code(cls), *inherited]))
    return codes


def own_code(cls: ast.ClassDef) -> Iterator[int]:
    for statement in cls.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="exit_code")], value=ast.Constant(value=int(code))):
                yield code


def in_file(file: Path, tree: ast.Module, codes: dict[str, int]) -> Iterator[Message]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in codes:
            text = in_words(node.args[0]) if node.args else ""
            yield Message(file, node.lineno, node.end_lineno or node.lineno, node.func.id, codes[node.func.id], text)


def in_words(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(in_words, parts))
        case ast.FormattedValue(value=ast.Name(id=name)) | ast.FormattedValue(value=ast.Attribute(attr=name)):
            return f"‹{name}›"
        case _:
            return "…"
