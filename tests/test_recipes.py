"""The recipes of benchmarks/ are settings too: each must stand, and lead to files and scores that exist."""

import tomllib
from pathlib import Path

import pytest

from hexapla.config.data import PrepareConfig
from hexapla.config.decoding import Beam
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.load import layered
from hexapla.config.presets import PRESETS
from hexapla.evaluation.scoring import Scoring

ROOT = Path(__file__).resolve().parents[1]
RECIPES = sorted((ROOT / "benchmarks/recipes").glob("*.toml"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_can_be_followed(file):
    recipe = tomllib.loads(file.read_text(encoding="utf-8"))
    assert recipe.keys() == {"corpus", "prepare", "run", "evaluate"}
    prepare = from_mapping(PrepareConfig, recipe["prepare"])
    settings = recipe["run"]
    preset = PRESETS[settings.pop("preset")](100, None if prepare.joint else 90)
    run = layered([("", to_mapping(preset)), ("recipe", settings)])
    assert run.training.keep_last >= recipe["evaluate"]["average"]
    from_mapping(Beam, recipe["evaluate"]["beam"])
    Scoring(metrics=recipe["evaluate"]["metrics"], tokenize=recipe["evaluate"].get("tokenize", "auto"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_a_recipe_names_files_that_are_there(file, shared):
    recipe = tomllib.loads(file.read_text(encoding="utf-8"))
    assert [name for files in recipe["corpus"].values() for name in files if not (shared / "data" / name).is_file()] == []
