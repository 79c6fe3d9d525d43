"""Whether it learns what it is given, by the commands alone and from one folder to the next."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SETTINGS = {
    "model.d_model": 32, "model.dropout": 0.0, "model.encoder.layers": 2, "model.decoder.layers": 2,
    "model.encoder.dropout": 0.0, "model.decoder.dropout": 0.0, "model.encoder.feed_forward.d_ff": 64,
    "model.decoder.feed_forward.d_ff": 64, "training.steps": 450, "training.batch_tokens": 1024, "training.schedule.peak": 4e-3,
    "training.schedule.warmup": 100, "training.validation.every": 50, "training.validation.translate": 0,
    "training.checkpoint_every": 150,
}  # fmt: skip
CHANGES = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]


def hexapla(*arguments: str, folder: Path, lines: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hexapla.cli", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, input=lines, capture_output=True, text=True, timeout=280)


def digits(n: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    words = {"".join(draw.choices("0123456789", k=draw.randint(2, 6))) for _ in range(n)}
    return draw.sample(sorted(words), k=len(words))


def copied(word: str) -> str:
    return word


def backwards(word: str) -> str:
    return word[::-1]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("task", "kind"), [(copied, "words"), (backwards, "characters")])
def test_it_learns_to_write_digits(task, kind, tmp_path):
    """Words are single digits divided by spaces. The lines translated at the end are none of those trained on."""
    words = digits(2500, seed=1)
    train, new = words[:-150], words[-150:]
    line = " ".join if kind == "words" else "".join
    (tmp_path / "source").write_text("".join(f"{line(word)}\n" for word in train))
    (tmp_path / "target").write_text("".join(f"{line(task(word))}\n" for word in train))
    done = hexapla("prepare", "source", "target", "--into", "data", "--subwords", kind, "--hold-out", "100", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = hexapla("train", "data", "--into", "run", "--preset", "tiny", *CHANGES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    asked = [line(word) for word in new[:100]] + ["", "   "] + [line(word) for word in new[100:]]
    done = hexapla("translate", "run", folder=tmp_path, lines="".join(f"{text}\n" for text in asked))
    assert done.returncode == 0, done.stderr
    answers = done.stdout.split("\n")
    assert (len(answers), answers[-1]) == (len(asked) + 1, "")
    assert answers[100:102] == ["", ""]
    right = [answer == line(task(word)) for answer, word in zip(answers[:100] + answers[102:-1], new, strict=True)]
    assert sum(right) / len(right) >= 0.95


@pytest.mark.timeout(300)
def test_a_terminated_command_goes_on_where_it_stopped(tmp_path):
    (tmp_path / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in digits(300, seed=2)))
    done = hexapla("prepare", "pairs.tsv", "--into", "data", "--subwords", "characters", "--hold-out", "20", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    command = ["train", "data", "--into", "run", "--preset", "tiny", *CHANGES, "--set", "training.log_every=5"]
    long = [*command, "--set", "training.steps=100000"]
    with subprocess.Popen(
        [sys.executable, "-m", "hexapla.cli", *long],
        cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        seen = [process.stderr.readline()]
        while not seen[-1].startswith("step 5/") and seen[-1]:
            seen.append(process.stderr.readline())
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        assert process.wait() == 143, rest
    assert time.monotonic() - began < 60
    stopped = re.search(r"^stopped at step (\d+) after .*: SIGTERM; the same call or command goes on from here$", rest, re.MULTILINE)
    assert stopped, rest
    step = int(stopped[1])
    assert [file.name for file in (tmp_path / "run/checkpoints").glob("step_*")] == [f"step_{step}"]
    done = hexapla("train", "data", "--into", "run", "--set", f"training.steps={step + 3}", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"going on from step {step}" in done.stderr
    assert (tmp_path / f"run/checkpoints/step_{step + 3}/manifest.json").is_file()
