"""Train, run and look inside Transformers for sequence transduction: `import hexapla as hx`.

The names below are the whole promise; what else is in the package may change. Each is imported when first used, so that
`import hexapla` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

HOME = {  # where each name lives
    "Beam": "hexapla.config.decoding",
    "Bpe": "hexapla.config.data",
    "Bytes": "hexapla.config.data",
    "Characters": "hexapla.config.data",
    "Cleaning": "hexapla.config.data",
    "HexaplaError": "hexapla.errors",
    "Prepared": "hexapla.data.prepared",
    "Rules": "hexapla.config.decoding",
    "Run": "hexapla.runs",
    "RunConfig": "hexapla.config.run",
    "Sample": "hexapla.config.decoding",
    "Unigram": "hexapla.config.data",
    "Words": "hexapla.config.data",
    "average": "hexapla.workflow.average",
    "build": "hexapla.models.build",
    "check": "hexapla.workflow.check",
    "evaluate": "hexapla.workflow.evaluate",
    "explain": "hexapla.workflow.explain",
    "export": "hexapla.workflow.export",
    "prepare": "hexapla.workflow.prepare",
    "record_attention": "hexapla.inspection.record",
    "score": "hexapla.workflow.score",
    "search": "hexapla.decoding.search",
    "train": "hexapla.workflow.train",
    "translate": "hexapla.workflow.translate",
}

if TYPE_CHECKING:
    from hexapla.config import presets as presets
    from hexapla.config.data import Bpe as Bpe
    from hexapla.config.data import Bytes as Bytes
    from hexapla.config.data import Characters as Characters
    from hexapla.config.data import Cleaning as Cleaning
    from hexapla.config.data import Unigram as Unigram
    from hexapla.config.data import Words as Words
    from hexapla.config.decoding import Beam as Beam
    from hexapla.config.decoding import Rules as Rules
    from hexapla.config.decoding import Sample as Sample
    from hexapla.config.run import RunConfig as RunConfig
    from hexapla.data.prepared import Prepared as Prepared
    from hexapla.decoding.search import search as search
    from hexapla.errors import HexaplaError as HexaplaError
    from hexapla.inspection.record import record_attention as record_attention
    from hexapla.models.build import build as build
    from hexapla.runs import Run as Run
    from hexapla.workflow.average import average as average
    from hexapla.workflow.check import check as check
    from hexapla.workflow.evaluate import evaluate as evaluate
    from hexapla.workflow.explain import explain as explain
    from hexapla.workflow.export import export as export
    from hexapla.workflow.prepare import prepare as prepare
    from hexapla.workflow.score import score as score
    from hexapla.workflow.train import train as train
    from hexapla.workflow.translate import translate as translate

__all__ = [
    "Beam",
    "Bpe",
    "Bytes",
    "Characters",
    "Cleaning",
    "HexaplaError",
    "Prepared",
    "Rules",
    "Run",
    "RunConfig",
    "Sample",
    "Unigram",
    "Words",
    "average",
    "build",
    "check",
    "evaluate",
    "explain",
    "export",
    "prepare",
    "presets",
    "record_attention",
    "score",
    "search",
    "train",
    "translate",
]


def __getattr__(name: str) -> Any:
    if name == "presets":
        return import_module("hexapla.config.presets")
    if name == "__version__":
        return import_module("importlib.metadata").version("hexapla")
    if name not in HOME:
        raise AttributeError(f"module 'hexapla' has no attribute {name!r}; see hexapla.__all__")
    return getattr(import_module(HOME[name]), name)
