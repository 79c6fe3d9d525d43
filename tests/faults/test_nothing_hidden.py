"""No process, shared memory, network or thread behind the user's back, and no hang in a fork (BAR G12, T21 to T23)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, threading
seen = []
FORBIDDEN = (
    "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "subprocess.Popen", "pty.spawn",
    "socket.connect", "socket.getaddrinfo",
)
sys.addaudithook(lambda event, arguments: seen.append((event, arguments)) if event in FORBIDDEN else None)

import hexapla as hx
import torch
from small_runs import small_config

torch.set_num_threads(2)
with open("pairs.tsv", "w") as file:
    for i in range(60):
        word = f"{i * 7919 % 1000}"
        file.write(f"{word}\\t{word[::-1]}\\n")
data = hx.prepare("pairs.tsv", into="data", subwords=hx.Bpe(280), hold_out=6)
hx.check("pairs.tsv")
run = hx.train(data, small_config(vocab=data.vocab_size, steps=5), into="run")
expected = [each.text for each in hx.translate(run, ["123", "45"])]
hx.score(run, ["123"], ["321"])
for name, text in ("s", "123\\n45\\n"), ("t", "321\\n54\\n"):
    with open(name, "w") as file:
        file.write(text)
hx.evaluate(run, "s", "t", samples=10)
hx.average(run, last=2)

assert seen == [], seen
assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
assert "/dev/shm" not in open("/proc/self/maps").read()
assert not open(f"/proc/self/task/{os.getpid()}/children").read()

child = os.fork()
if not child:
    torch.set_num_threads(1)
    os._exit([each.text for each in hx.translate("run", ["123", "45"])] != expected)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc here")
def test_nothing_works_behind_the_user_s_back_and_a_fork_does_not_hang(tmp_path):
    """All verbs that have work for more than one, with two threads of torch; then a child that uses what its parent has used."""
    around = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT], cwd=tmp_path, env=around, capture_output=True)
    assert (done.returncode, done.stderr.decode()) == (0, "")
