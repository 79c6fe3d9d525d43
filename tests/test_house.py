"""What the files around the code promise."""

import os
import re
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE))


def normal(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def make(*arguments: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("extra", ["core", "dev", "plots"])
def test_everything_ci_installs_is_pinned(extra):
    wanted = PROJECT["dependencies"] if extra == "core" else PROJECT["optional-dependencies"][extra]
    assert {normal(requirement) for requirement in wanted} <= PINS.keys()


def test_the_version_is_said_once():
    assert version("hexapla") == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_apache_2():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_make_takes_the_pinned_torch_first_and_the_core_alone_for_the_demo():
    plan = make("--dry-run", "demo", "VENV=/nowhere/venv", "TORCH_INDEX=https://example.org/cpu").stdout
    torch = f"install --no-deps --index-url https://example.org/cpu -c constraints.txt 'torch=={PINS['torch']}'"
    assert plan.index(torch) < plan.index("install -c constraints.txt --editable .\n") < plan.index("hexapla demo --pair en-de")
    assert "dev,plots" not in plan
    assert "dev,plots" in make("--dry-run", "test", "VENV=/nowhere/venv").stdout


def test_make_without_a_python_says_so_in_one_line(tmp_path):
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    done = make("test", f"VENV={tmp_path}/venv", f"PYTHON={fake}")
    assert done.returncode == 2
    assert f"make: {fake}: no Python 3.11 or later; install one, or name one: make PYTHON=/path/to/python3\n" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_ci_needs_no_terminal_and_stops_at_the_first_failure():
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci/run", os.X_OK)
    assert "set -euo pipefail" in script
    assert "exec </dev/null" in script
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True, timeout=10)
