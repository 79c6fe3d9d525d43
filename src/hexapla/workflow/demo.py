"""demo: the whole way in two minutes, on sentences of our own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hexapla import phrasebook
from hexapla.config.data import Bpe
from hexapla.config.decoding import Beam
from hexapla.config.presets import seq2seq
from hexapla.config.run import RunConfig
from hexapla.config.training import InverseSqrt, TrainingConfig, ValidationConfig
from hexapla.data.lines import read_lines
from hexapla.data.prepared import Prepared
from hexapla.evaluation.scoring import Evaluation, score_hypotheses
from hexapla.phrasebook import Pair
from hexapla.runs import Run
from hexapla.training.hooks import Listener
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate

STEPS = 500


@dataclass(frozen=True)
class Demo:
    """What the demo made."""

    run: Run
    evaluation: Evaluation
    """on held-out sentences, none of which was trained on"""
    shown: list[tuple[str, str, str]]
    """some of them: source, what the model says, the reference"""
    examples: list[tuple[str, str]]
    """sentences of nobody's corpus, and what the model says"""


def config(vocab_size: int, steps: int) -> RunConfig:
    """A Transformer of 2 + 2 layers, small enough to learn the phrasebook while one waits."""
    return RunConfig(
        model=seq2seq(vocab_size, None, layers=2, d_model=128, heads=4, d_ff=512, dropout=0.1),
        training=TrainingConfig(
            steps=steps,
            batch_tokens=4096,
            schedule=InverseSqrt(peak=4e-3, warmup=200),
            label_smoothing=0.1,
            validation=ValidationConfig(every=max(1, steps // 4), translate=100),
            checkpoint_every=max(1, steps // 4),
            log_every=25,
        ),
        decoding=Beam(width=4),
    )


def corpus_files(pair: Pair, into: Path) -> dict[str, Path]:
    """The corpus as text files, as a user's own would be; the same ones if they are there already."""
    return phrasebook.write(phrasebook.corpus(pair), into / "corpus", pair)


def data(pair: Pair, files: dict[str, Path], into: Path) -> Prepared:
    """The corpus as ids; made once."""
    source, target = pair.split("-")
    if (into / "data" / "prepared.toml").exists():
        return Prepared.open(into / "data")
    return prepare(
        files[f"train.{source}"],
        files[f"train.{target}"],
        into=into / "data",
        dev=(files[f"dev.{source}"], files[f"dev.{target}"]),
        subwords=Bpe(1500),
    )


def demo(pair: Pair, *, into: str | Path, steps: int | None = None, listeners: Sequence[Listener] = ()) -> Demo:
    """Write the corpus, prepare it, train on it, and judge the result on its held-out half; all under the folder `into` / pair.

    What is there already is used again: a demo that was stopped goes on.
    Raises ConfigError: no such pair; StorageError.
    """
    into = Path(into) / pair
    source, target = pair.split("-")
    files = corpus_files(pair, into)
    prepared = data(pair, files, into)
    run = train(prepared, config(prepared.vocab_size, steps or STEPS), into=into / "run", listeners=listeners)
    sources, references = (list(read_lines(files[f"test.{language}"])) for language in (source, target))
    outputs = [output.text for output in translate(run, sources)]
    sentences = phrasebook.examples(pair)
    return Demo(
        run=run,
        evaluation=score_hypotheses(outputs, [references], name=f"{into / 'run'}"),
        shown=list(zip(sources, outputs, references, strict=True))[:5],
        examples=[(sentence, output.text) for sentence, output in zip(sentences, translate(run, sentences), strict=True)],
    )
