"""The docs are programs: every block of every page runs, and what is taken from the code is in step with it.

```bash and ```python blocks of a page run in order, in one new folder that holds a copy of examples/; its Python blocks share their
names. A block marked ```bash no-run or ```python no-run, and one in any other language, is only shown.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import hexapla
from hexapla.cli.reference import filled

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PAGES = [*READMES, *DOCS]
SECONDS = 120
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    runs: bool
    code: str
    line: int


def blocks(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        language, *marks = match["info"].split() or [""]
        runs = language in ("bash", "python") and "no-run" not in marks
        found.append(Block(language, runs, match["code"], page.count("\n", 0, match.start("code")) + 1))
    return found


def script(page: str) -> str:
    """The blocks of a page as one Python program, in which each stands at the lines it has in the page."""
    lines = ["import subprocess as _subprocess"]
    for block in blocks(page):
        if not block.runs:
            continue
        if block.language == "bash":
            shell = ["bash", "-euo", "pipefail", "-c", block.code]
            code = f"if _subprocess.run({shell!r}).returncode: raise SystemExit('line {block.line}: this block failed')"
        else:
            code = block.code
        lines += [""] * (block.line - 1 - len(lines)) + code.splitlines()
    return "\n".join(lines) + "\n"


def run_page(page: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a page's blocks as a reader would who has just installed Hexapla, without a terminal."""
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    program = folder / ".page.py"
    program.write_text(script(page), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    command = [sys.executable, str(program)]
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)


def name_of(page: Path) -> str:
    return page.name


@pytest.mark.timeout(SECONDS + 30)
@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.zh-CN.md"], ids=name_of)
def test_the_blocks_of_a_page_run(page, tmp_path):
    """The Chinese README has the English one's blocks: see test_both_readmes_say_the_same."""
    text = page.read_text(encoding="utf-8")
    if not any(block.runs for block in blocks(text)):
        pytest.skip("shows no block that runs")
    done = run_page(text, tmp_path)
    assert done.returncode == 0, f"{page.name}: {done.stderr[-3000:]}"


def test_a_page_that_fails_says_where(tmp_path):
    shell = "text\n\n```bash\necho made > file\n```\n\n"
    page = f"{shell}```python\nx = open('file').read()\n```\n\n```python\nassert x == 'other'\n```\n"
    done = run_page(page, tmp_path)
    assert done.returncode == 1
    assert "line 12, in <module>" in done.stderr
    done = run_page("\n\n```bash\nfalse\ntrue\n```\n", tmp_path)
    assert (done.returncode, done.stderr) == (1, "line 4: this block failed\n")


def test_only_marked_blocks_are_left_out():
    page = "```bash\na\n```\n```bash no-run\nb\n```\n```python\nc\n```\n```text\nd\n```\n```\ne\n```\n```toml\nf\n```\n"
    assert [(block.language, block.code.strip()) for block in blocks(page) if block.runs] == [("bash", "a"), ("python", "c")]
    assert len(blocks(page)) == 6


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_tables_from_the_code_are_in_step(page):
    """If not: python -m hexapla.cli.reference docs/*.md"""
    text = page.read_text(encoding="utf-8")
    assert text == filled(text)


@pytest.mark.parametrize("page", [page for page in DOCS if page.name != "index.md"], ids=name_of)
def test_every_page_is_linked_from_the_index_or_the_readme(page):
    linking = (ROOT / "docs/index.md").read_text(encoding="utf-8") + READMES[0].read_text(encoding="utf-8").replace("docs/", "")
    assert f"({page.name}" in linking


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_both_readmes_say_the_same():
    """Headings in the same order and depth, and the same blocks; sentences in comments and prose differ."""
    one, other = (readme.read_text(encoding="utf-8") for readme in READMES)
    depths = [[len(hashes) for hashes in re.findall(r"^(#+) ", FENCE.sub("", text), re.MULTILINE)] for text in (one, other)]
    assert depths[0] == depths[1]
    code = [[(block.language, block.runs, without_comments(block.code)) for block in blocks(text)] for text in (one, other)]
    assert code[0] == code[1]


def without_comments(code: str) -> list[str]:
    return [line.split("  #")[0].rstrip() for line in code.splitlines() if not line.lstrip().startswith("#")]


def test_every_public_name_is_in_the_docs():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in hexapla.__all__ if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("code", [1, 2, 3, 65, 66, 70, 74, 130, 141, 143])
def test_every_exit_code_is_in_the_docs(code):
    assert re.search(rf"^\| {code} \|", (ROOT / "docs/errors.md").read_text(encoding="utf-8"), re.MULTILINE)
