"""Runs that nobody trained, whose lines still have translations of their own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hexapla.config.data import Subwords
from hexapla.models.build import build
from hexapla.runs import Run
from hexapla.workflow.prepare import prepare
from small_runs import small_config


def made(folder: Path, subwords: Subwords, *, seed: int = 7, **model: Any) -> Run:
    """A run that nobody trained, of a vocabulary of the letters a to f and space, words of them, or bytes.

    Its weights are large where the decoder reads the source, so that each line has a translation of its own.
    """
    text = "abc def\nfed cba\na b c\nd e f\n"
    for side in ("s", "t"):
        (folder / side).write_text(text)
    data = prepare(folder / "s", folder / "t", into=folder / "data", subwords=subwords, hold_out=0)
    config = small_config(data.vocab_size)
    stack = replace(config.model.decoder, norm_position="pre")
    config = replace(config, model=replace(config.model, encoder=stack, decoder=stack, tie="none", **model))
    run = Run.create(folder / "run", config, data)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        run.model = build(config).eval()
    with torch.no_grad():
        for name, weight in run.model.decoder.named_parameters():
            if "cross_attention" in name or "feed_forward" in name:
                weight.mul_(3)
    return run
