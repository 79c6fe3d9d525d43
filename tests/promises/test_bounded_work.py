"""What one line may cost, whatever it holds: measured in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[1] / "formats" / "1"
MEASURED = """
import json, resource, sys
import torch
torch.set_num_threads(1)
from hexapla.errors import DataError
from hexapla.runs import Run
from hexapla.workflow.score import score
from hexapla.workflow.translate import translate

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

run, lines, refused = Run.open(sys.argv[1]), json.load(open(sys.argv[2], encoding="utf-8")), None
translate(run, ["The key card does not work."])
score(run, ["The key card does not work."], ["Die Schlüsselkarte funktioniert nicht."])
before = peak()
found = translate(run, lines)
try:
    score(run, lines, lines)
except DataError as error:
    refused = str(error)
rows = [[each.left_out, each.length] for each in found]
print(json.dumps({"grown": peak() - before, "rows": rows, "refused": refused}))
"""
LONG = {
    "10,000 tokens": ("the key " * 5_000, 1),
    "1,000,000 characters without a space": ("a" * 1_000_000, 1),
    "1,000,000 bytes that no vocabulary has": ("\U0001f600" * 250_000, 1),
    "64 lines of about 1,000 tokens": ("the key " * 255, 64),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", LONG)
def test_no_line_costs_more_than_256_mib(name, tmp_path):
    line, count = LONG[name]
    (tmp_path / "lines.json").write_text(json.dumps([line] * count), encoding="utf-8")
    command = [sys.executable, "-c", MEASURED, str(MODEL), str(tmp_path / "lines.json")]
    result = json.loads(subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout)
    assert result["grown"] <= 256
    for left_out, length in result["rows"]:
        assert (left_out > 0) == (count == 1)
        assert length <= 1024 + 50 + 1
    assert (result["refused"] is None) == (count > 1)
