"""Headers of safetensors files that no writer of ours makes, and what is said of them."""

import hashlib
import json
import math
import re
import struct

import pytest
import torch
from safetensors.torch import save
from torch import nn

from hexapla.config.attention import AttentionConfig
from hexapla.config.model import Learned, Seq2SeqConfig
from hexapla.config.stack import MOST_LAYERS, FeedForwardConfig, StackConfig
from hexapla.errors import CheckpointError
from hexapla.models.seq2seq import Seq2Seq
from hexapla.training import reading
from hexapla.training.header import MOST_HEADER, MOST_TENSORS, read_header
from hexapla.training.optimiser import moment_shapes
from hexapla.training.reading import load_model, read_tensors

BIAS = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
WEIGHT = {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]}


def packed(header, data=bytes(32), length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def checkpoint(folder, content, name="model.safetensors"):
    """A checkpoint with these bytes as its weights, their size and hash in its manifest."""
    folder.mkdir()
    for file, some in (("model.safetensors", content), ("state.json", b"{}"), (name, content)):
        (folder / file).write_bytes(some)
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in sorted(folder.iterdir())
    }
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "files": files}, indent=1))
    return folder


def both(**changes):
    return {"bias": BIAS | changes, "weight": WEIGHT}


HEADERS = {
    "no byte": (b"", "its first 8 bytes say that a header of 0 bytes"),
    "half a length": (b"\x20\0\0", "the file has 3"),
    "of 2^63 bytes": (
        packed(both(), length=2**63),
        "a header of 9,223,372,036,854,775,808 bytes follows; it must have 2 to 1,048,576, and the file",
    ),
    "of 200 MB": (packed(both(), length=200 * 2**20), "a header of 209,715,200 bytes"),
    "of 0 bytes": (packed(both(), length=0), "a header of 0 bytes"),
    "past the end": (packed(both(), length=400), "a header of 400 bytes"),
    "20 MB of metadata": (
        packed({"__metadata__": {"a": "x" * 20 * 2**20}, **both()}),
        "but the model that config.toml describes has at most 1,048,616",
    ),
    "a million tensors": (packed(b"{" + b'"a":0,' * 10**6 + b'"a":0}'), "but the model that config.toml describes has at most 1,048,616"),
    "10,001 tensors": (packed({f"{n}": {} for n in range(10001)}), "header: 10,001 tensors, more than the 10,000"),
    "not UTF-8": (packed(b'{"\xff": 0}'), "header: byte 2 is not UTF-8"),
    "UTF-16": (packed('{"a": 0}'.encode("utf-16")), "header: byte 0 is not UTF-8"),
    "not JSON": (packed(b"{'bias'}"), "header: not JSON: "),
    "a pickle": (packed(b"cos\nsystem\n(S'touch ran'\ntR."), "header: not JSON: "),
    "10,000 deep": (packed(b'{"a":' * 10000 + b"1" + b"}" * 10000), "header: nested too deeply"),
    "a list": (packed(b"[]"), "header: must be a JSON object of tensors"),
    "a name twice": (packed(b'{"a":{},"a":{}}'), "header: not JSON: 'a' is there twice"),
    "a key twice": (packed(b'{"bias":{"dtype":"F32","dtype":"F16"}}'), "header: not JSON: 'dtype' is there twice"),
    "NaN": (packed(b'{"bias":NaN}'), "header: not JSON: NaN is no number"),
    "an endless number": (packed(b'{"bias":' + b"9" * 5000 + b"}"), "header: not JSON: Exceeds the limit"),
    "metadata that is a number": (packed({"__metadata__": 1}), "header: __metadata__ must be an object of strings"),
    "metadata that holds a number": (packed({"__metadata__": {"a": 1}}), "header: __metadata__ must be an object of strings"),
    "no object": (packed({"bias": 3}), "header: 'bias': must have dtype, shape and data_offsets, and nothing else"),
    "one key more": (packed(both(code="x")), "header: 'bias': must have dtype, shape and data_offsets, and nothing else"),
    "a dtype that is a number": (packed(both(dtype=4)), "'bias': dtype = 4: must be text"),
    "a negative side": (packed(both(shape=[-2])), "'bias': shape = [-2]: must be a list of up to 8 positive integers"),
    "a side of 0": (packed(both(shape=[2, 0])), "'bias': shape = [2, 0]: must be a list"),
    "a side that is true": (packed(both(shape=[True, 2])), "'bias': shape = [True, 2]: must be a list"),
    "a side that is no integer": (packed(both(shape=[2.0])), "'bias': shape = [2.0]: must be a list"),
    "nine sides": (packed(both(shape=[1] * 8 + [2])), "'bias': shape = [1, 1, 1, 1, 1, 1, 1, 1, 2]: must be a list of up to 8"),
    "a shape that is a number": (packed(both(shape=2)), "'bias': shape = 2: must be a list"),
    "sides whose product overflows": (packed(both(shape=[2**32, 2**32 + 1])), "of F32 cannot be the 8 bytes that its offsets say"),
    "a side beyond 64 bits": (packed(both(shape=[2**70])), "must be a list of up to 8 positive integers"),
    "a dtype that lies": (packed(both(shape=[4])), "'bias': [4] of F32 cannot be the 8 bytes that its offsets say"),
    "a negative offset": (packed(both(data_offsets=[-8, 0])), "'bias': data_offsets = [-8, 0]: must be two integers, start and end"),
    "reversed offsets": (packed(both(data_offsets=[8, 0])), "'bias': data_offsets = [8, 0]: must be two integers, start and end"),
    "one offset": (packed(both(data_offsets=[8])), "'bias': data_offsets = [8]: must be two integers"),
    "an overlap": (packed(both(data_offsets=[4, 12])), "header: 'bias' begins at byte 4 and leaves a hole before it"),
    "the same place": (packed(both() | {"scale": BIAS}), "header: 'scale' begins at byte 0 and overlaps the tensor before it"),
    "a hole": (
        packed({"bias": BIAS, "weight": WEIGHT | {"data_offsets": [16, 40]}}, bytes(40)),
        "'weight' begins at byte 16 and leaves a hole",
    ),
    "bytes left over": (packed(both(), bytes(40)), "its tensors take 32 bytes, but 40 are there; the file is damaged"),
    "bytes that lack": (packed(both(), bytes(28)), "its tensors take 32 bytes, but 28 are there; the file is damaged"),
    "an odd name": (packed({"new\nline\x1b[2J": 3}), r"header: 'new\nline\x1b[2J': must have dtype"),
    "an endless name": (packed({"a" * 10**5: 3}), f"header: '{'a' * 59}…: must have dtype"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_is_not_ours_is_refused_before_any_tensor_is_read(tmp_path, monkeypatch, case):
    monkeypatch.setattr(reading, "read_values", lambda *_: pytest.fail("a tensor was read"))
    content, words = HEADERS[case]
    folder = checkpoint(tmp_path / "step_1", content)
    with pytest.raises(CheckpointError) as caught:
        load_model(nn.Linear(3, 2), folder)
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"{folder / 'model.safetensors'}: ")
    assert message.isprintable() and len(message) < 500


def test_what_safetensors_itself_writes_is_read_also_with_metadata(tmp_path):
    tensors = {"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.tensor([math.pi, -0.0])}
    for name, content in (("plain", save(tensors)), ("with", save(tensors, metadata={"format": "pt"}))):
        read = read_tensors(checkpoint(tmp_path / name, content), "model.safetensors")
        assert {key: value.tolist() for key, value in read.items()} == {key: value.tolist() for key, value in tensors.items()}


def test_every_finite_value_comes_back_as_it_was(tmp_path):
    """Denormal numbers and the largest are numbers like others."""
    values = torch.tensor([1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.1754944e-38, -0.0])
    read = read_tensors(checkpoint(tmp_path / "step_1", save({"x": values})), "model.safetensors")["x"]
    assert read.view(torch.int32).tolist() == values.view(torch.int32).tolist()


def test_all_that_does_not_fit_is_named_at_once(tmp_path):
    model = nn.ModuleDict({name: nn.Linear(3, 2) for name in "abcdef"})
    tensors = {"a.weight": torch.ones(3, 2), "b.bias": torch.ones(2, dtype=torch.float16), "x\ny": torch.ones(1)}
    folder = checkpoint(tmp_path / "step_1", save(tensors))
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with pytest.raises(CheckpointError) as caught:
        load_model(model, folder)
    assert str(caught.value) == (
        f"{folder}/model.safetensors: lacks a.bias, b.weight, c.bias and 7 more; has an unknown 'x\\ny'; "
        "a.weight is (3, 2), config.toml makes it (2, 3); b.bias is F16, Hexapla writes F32; config.toml describes another model"
    )
    assert all(torch.equal(parameter, old) for parameter, old in zip(model.parameters(), before, strict=True))


def test_a_file_larger_than_the_model_can_be_is_not_read_at_all(tmp_path):
    """A sparse file of a terabyte costs nothing to make; to hash it would take an hour."""
    folder = checkpoint(tmp_path / "step_1", packed(both()))
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(re.sub(r'("bytes": )\d{3}\b', rf"\g<1>{2**40}", manifest, count=1))
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(
        CheckpointError, match=r"safetensors: 1,099,511,627,776 bytes, but the model that config\.toml describes has at most 1,048,616$"
    ):
        load_model(nn.Linear(3, 2), folder)


def test_tensors_beyond_the_memory_of_the_machine_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading.os, "sysconf", lambda name: 10)
    folder = checkpoint(tmp_path / "step_1", packed(both()))
    with pytest.raises(CheckpointError, match=r"safetensors: \d+ bytes, but this machine has 100 bytes of memory; use another machine$"):
        read_tensors(folder, "model.safetensors")


def test_moments_are_held_against_the_model_too(tmp_path):
    model = nn.Linear(3, 2)
    folder = checkpoint(tmp_path / "step_1", packed(both()), name="optimiser.safetensors")
    with pytest.raises(CheckpointError, match=r"optimiser\.safetensors: lacks bias\.exp_avg, .* and 1 more; has an unknown bias, weight; "):
        read_tensors(folder, "optimiser.safetensors", moment_shapes(model))


def test_a_checkpoint_without_moments_is_none_to_go_on_from(tmp_path):
    folder = checkpoint(tmp_path / "average", packed(both()))
    with pytest.raises(CheckpointError, match=r"optimiser\.safetensors: is no part of this checkpoint; training cannot go on from it$"):
        read_tensors(folder, "optimiser.safetensors")


def test_the_largest_model_that_settings_allow_has_a_header_that_is_read():
    """Else a run could be trained whose checkpoints nothing opens."""
    stack = StackConfig(
        layers=1,
        attention=AttentionConfig(heads=2**18),
        feed_forward=FeedForwardConfig(d_ff=2**20, gated=True),
        norm_position="pre",
    )
    config = Seq2SeqConfig(
        **{"source_vocab": 2**27, "target_vocab": 2**27, "d_model": 2**18, "encoder": stack, "decoder": stack},
        **{"tie": "none", "output_bias": True, "positions": Learned(length=2**27)},
    )
    with torch.device("meta"):
        shapes = moment_shapes(Seq2Seq(config))
    every = [
        (name.replace("s.0.", f"s.{n}."), shape) for name, shape in shapes.items() for n in range(MOST_LAYERS if "s.0." in name else 1)
    ]
    header, reached = {}, 0
    for name, shape in every:
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [reached, reached + 4 * math.prod(shape)]}
        reached = header[name]["data_offsets"][1]
    content = packed(header, b"")
    assert len(content) < MOST_HEADER and len(header) < MOST_TENSORS
    parts = iter([content[:8], content[8:]])
    assert len(read_header(lambda _: next(parts), len(content) + reached, "x")) == len(every) > 5000
