"""Train a named recipe on real data, score it, and write the result down.

    python benchmarks/quality.py multi30k_tok                      # a recipe of benchmarks/recipes
    python benchmarks/quality.py g2p_dutch --corpora ../shared/data --work runs/quality

A recipe names its corpus files (below --corpora), how they are prepared, the run, and how it is scored. What is in the work folder
already is used again, so a stopped benchmark goes on. Prints the scores as one JSON line and appends it to
benchmarks/results/quality.jsonl.
"""

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

import torch

from hexapla.cli.progress import TrainingProgress
from hexapla.config.data import PrepareConfig
from hexapla.config.decoding import Beam
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.load import layered
from hexapla.config.presets import PRESETS
from hexapla.config.run import RunConfig
from hexapla.data.corpus import read_pairs
from hexapla.data.prepared import Prepared
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.models.build import parameter_count
from hexapla.runs import Run
from hexapla.workflow.average import average
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate
from machine import append, where

HERE = Path(__file__).resolve().parent


def prepared(recipe: dict[str, Any], corpora: Path, folder: Path) -> Prepared:
    if (folder / "prepared.toml").exists():
        return Prepared.open(folder)
    corpus = {part: [corpora / file for file in files] for part, files in recipe["corpus"].items()}
    config = from_mapping(PrepareConfig, recipe["prepare"])
    dev = corpus.get("dev")
    return prepare(
        *corpus["train"],
        into=folder,
        dev=None if dev is None else (dev[0], dev[1]),
        subwords=config.source,
        target_subwords=config.target,
        joint=config.joint,
        cleaning=config.cleaning,
        hold_out=config.hold_out,
        seed=config.seed,
    )


def run_config(recipe: dict[str, Any], data: Prepared) -> RunConfig:
    settings = dict(recipe["run"])
    preset = PRESETS[settings.pop("preset")](data.source_vocab, None if data.joint else data.target_vocab)
    return layered([("", to_mapping(preset)), ("recipe", settings)])


def judged(run: Run, recipe: dict[str, Any], corpora: Path) -> dict[str, Any]:
    """The scores of one checkpoint on the recipe's test set."""
    pairs = list(read_pairs(*(corpora / file for file in recipe["corpus"]["test"])))
    wanted = recipe["evaluate"]
    beam = from_mapping(Beam, wanted["beam"])
    outputs = [t.text for t in translate(run, [source for source, _ in pairs], beam)]
    scoring = Scoring(metrics=wanted["metrics"], tokenize=wanted.get("tokenize", "auto"))
    scores = score_hypotheses(outputs, [[target for _, target in pairs]], scoring).scores
    return {name: {"value": round(score.value, 2), "signature": score.signature} for name, score in scores.items()}


def training_seconds(metrics: Path) -> float:
    """Over all processes that worked on the run."""
    records = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    return sum(record["seconds"] for record in records if record["event"] == "end")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", help="a name in benchmarks/recipes, or a file")
    parser.add_argument("--corpora", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--work", type=Path, default=HERE.parent / "runs" / "quality")
    asked = parser.parse_args()
    file = Path(asked.recipe) if asked.recipe.endswith(".toml") else HERE / "recipes" / f"{asked.recipe}.toml"
    recipe = tomllib.loads(file.read_text(encoding="utf-8"))
    folder = asked.work / file.stem
    data = prepared(recipe, asked.corpora, folder / "data")
    with TrainingProgress() as progress:
        run = train(data, run_config(recipe, data), into=folder / "run", listeners=[progress])
    average(run, last=recipe["evaluate"]["average"])
    result = {
        "recipe": file.stem,
        "test": recipe["corpus"]["test"][0],
        "decoding": recipe["evaluate"]["beam"],
        "steps": run.step,
        "parameters": parameter_count(run.model),
        "train_seconds": round(training_seconds(folder / "run" / "metrics.jsonl")),
        "average": judged(Run.open(folder / "run", "average"), recipe, asked.corpora),
        "best": judged(Run.open(folder / "run", "best"), recipe, asked.corpora),
        **where(torch.get_num_threads()),
    }
    print(json.dumps(result, ensure_ascii=False))
    append("quality", result)


if __name__ == "__main__":
    main()
