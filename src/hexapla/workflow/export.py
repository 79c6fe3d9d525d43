"""export: a run's model in the form of another program, proven by decoding sentences again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from hexapla.config.decoding import Beam
from hexapla.config.edge import to_mapping
from hexapla.config.load import write_toml
from hexapla.config.model import Learned
from hexapla.data.batches import collate
from hexapla.data.folder import sha256_of, whole_folder
from hexapla.data.opening import shown
from hexapla.data.tokenizer import save_tokenizers
from hexapla.decoding.output import lp
from hexapla.decoding.score import forced_log_probs
from hexapla.errors import ConfigError, DataError
from hexapla.evaluation.scoring import Scoring, score_hypotheses
from hexapla.interop.ctranslate2_model import refuse_unsupported, write_model
from hexapla.interop.ctranslate2_search import honoured
from hexapla.interop.exported import (
    ABOUT,
    CONFIG,
    FORMAT,
    About,
    Export,
    Origin,
    Probed,
    Program,
    Stored,
    Type,
    default_place,
    needs_ctranslate2,
)
from hexapla.phrasebook.sentences import drawn
from hexapla.runs import Run
from hexapla.training.manifest import WEIGHTS, read_manifest
from hexapla.workflow.own_engine import device_of
from hexapla.workflow.translate import Translation, translate, within_positions

PROBE = 120
"""sentences re-decoded where none are given"""
SAMPLE = 20
"""of them that tell which language the model reads"""
TIED = 1e-4
"""nats over the length penalty: two texts whose scores differ by no more are as good as each other"""
MOST_LOST = 10.0
MOST_LOST_BY_REFERENCES = 1.0
"""chrF points that int8 and bf16 may lose: against our own engine's texts, and against references"""
POSITIONS = 2048


@dataclass(frozen=True)
class Exported:
    """What `export` made and what the probe said."""

    export: Export
    probed: Probed
    first: tuple[int, str, str] | None
    """of the first line that differs: its number, our own engine's text, the export's"""


def export(
    run: Run | str | Path,
    *,
    to: Program = "ctranslate2",
    type: Type = "float32",
    into: str | Path | None = None,
    overwrite: bool = False,
    probe: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    most_lost: float | None = None,
) -> Exported:
    """Write the run's model for another program into a folder, unset: RUN/export/PROGRAM-TYPE. See docs/export.md.

    `probe` (unset: sentences of the phrasebook) is then translated by our own engine and by the export. float32 must give the same texts,
    but for pairs of equal score; int8 and bf16 may lose `most_lost` chrF points, by `references` where they are given. Otherwise, and
    whenever it fails, no folder is left.
    Raises ConfigError: the program is not installed, cannot hold the model, or the export says too much else; CheckpointError, DataError.
    """
    if to != "ctranslate2":
        raise ConfigError(f"to = {to!r}: no such program; there is ctranslate2")
    if type not in ("float32", "int8", "bf16"):
        raise ConfigError(f"type = {type!r}: must be float32, int8 or bf16")
    needs_ctranslate2()
    run = run if isinstance(run, Run) else Run.open(run)
    run = Run.open(run.path, run.checkpoint_folder().name)  # by its name, since training may put another in the place of best
    refuse_unsupported(run.config.model)
    probe = phrases(run, PROBE) if probe is None else probe
    refuse_other_number(probe, references)
    place = default_place(run.path, type) if into is None else Path(into)
    with whole_folder(place, mark=ABOUT, overwrite=overwrite) as partial:
        about = write(run, partial, type)
        probed, first = compare(run, Export.open(partial, workers=1), probe, references)
        refuse_unlike(shown(place), type, probed, first, most_lost)
        write_about(partial, replace(about, probed=probed))
    return Exported(Export.open(place), probed, first)


def write(run: Run, folder: Path, type: Type) -> About:
    """All but what the probe will say."""
    positions = positions_for(run)
    sides = {"source": run.source, "target": run.target}
    pieces = {side: tokenizer.pieces(range(tokenizer.vocab_size)) for side, tokenizer in sides.items()}
    write_model(run.model, folder, **pieces, type=type, positions=positions)
    save_tokenizers(folder, run.source, run.target, run.joint)
    write_toml(folder / CONFIG, run.config)
    checkpoint = run.checkpoint_folder()
    about = About(
        format=FORMAT,
        program="ctranslate2",
        type=type,
        positions=positions,
        origin=Origin(data=run.about["data"], checkpoint=checkpoint.name, weights=read_manifest(checkpoint)[WEIGHTS]["sha256"]),
        versions={name: version(name) for name in ("hexapla", "ctranslate2")},
        files={file.name: Stored(bytes=file.stat().st_size, sha256=sha256_of(file)) for file in sorted(folder.iterdir())},
    )
    write_about(folder, about)
    return about


def write_about(folder: Path, about: About) -> None:
    (folder / ABOUT).write_text(json.dumps(to_mapping(about), indent=1), encoding="utf-8")


def positions_for(run: Run) -> int:
    """Learned positions as they are; sinusoids for what the run's rules allow, and more than anyone is likely to ask for."""
    rules, positions = run.config.rules, run.config.model.positions
    if isinstance(positions, Learned):
        return positions.length
    return max(POSITIONS, rules.max_source + rules.max_extra + 1, rules.min_length + 1)


def phrases(run: Run, count: int) -> list[str]:
    """Sentences of the phrasebook in the language of which the model is surest, since a run does not say what it reads."""
    triples = list(islice(drawn(seed=1), count))
    languages = [[getattr(triple, name) for triple in triples] for name in ("en", "de", "zh")]
    return max(languages, key=lambda lines: sureness(run, lines[:SAMPLE]))


def sureness(run: Run, lines: Sequence[str]) -> float:
    """Mean log P of a token that the run writes."""
    written = translate(run, lines, Beam(width=1))
    return sum(each.log_prob or 0.0 for each in written) / max(1, sum(each.length for each in written))


def refuse_other_number(probe: Sequence[str], references: Sequence[str] | None) -> None:
    if not any(line.strip() for line in probe):
        raise DataError("the probe has no line to translate; give some sentences, or leave it out")
    if references is not None and len(references) != len(probe):
        raise DataError(f"{len(references)} references, but {len(probe)} lines to translate; reference i must belong to line i")


def compare(run: Run, export: Export, probe: Sequence[str], references: Sequence[str] | None) -> tuple[Probed, tuple[int, str, str] | None]:
    """Both engines on the same lines, by the run's own strategy, or greedily where CTranslate2 has not the like of it."""
    try:
        strategy = honoured(run.config.decoding, run.config.rules, (), run.target.vocab_size)
    except ConfigError:
        strategy = Beam(width=1)
    ours, theirs = (translate(engine, probe, strategy) for engine in (run, export))
    unlike = [i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one.text != other.text]
    tied = sum(is_tie(run, export, probe[i], ours[i], strategy) for i in unlike)
    texts = [each.text for each in ours], [each.text for each in theirs]
    scores = score_hypotheses(texts[1], [texts[0]], Scoring(metrics=("bleu", "chrf")))
    lost = None
    if references is not None:
        before, after = (score_hypotheses(side, [references], Scoring(metrics=("chrf",)))["chrf"] for side in texts)
        lost = before - after
    probed = Probed(lines=len(probe), changed=len(unlike), near_ties=tied, chrf=scores["chrf"], bleu=scores["bleu"], lost=lost)
    return probed, next(((i + 1, ours[i].text, theirs[i].text) for i in unlike), None)


def is_tie(run: Run, export: Export, line: str, ours: Translation, beam: Beam) -> bool:
    """Whether our own model finds the export's text as good as its own."""
    rules = within_positions(run, run.config.rules)
    read = run.source.encode(line)[: rules.max_source]
    options = {"n_best": 1, "prefix": (), "batch_size": 1, "deterministic": False}
    [(_, [theirs])] = export.searched({0: read}, beam, rules, **options)
    batch = collate([read], [theirs.ids], run.config.model.specials).to(device_of(run))
    log_prob = float(forced_log_probs(run.model, batch.source, batch.target).double().sum())
    return abs(log_prob / lp(beam, theirs.length) - (ours.score or 0.0)) <= TIED


def refuse_unlike(name: str, type: Type, probed: Probed, first: tuple[int, str, str] | None, most_lost: float | None) -> None:
    """Raises ConfigError: the export is not what was asked for."""
    changed = probed.changed - probed.near_ties
    if type == "float32" and most_lost is None:
        if changed and first:
            number, ours, theirs = first
            raise ConfigError(
                f"{name}: {changed} of {probed.lines} lines are translated otherwise than by our own engine, float32 must change none; "
                f"line {number}: {ours!r} became {theirs!r}; allow it by --most-lost"
            )
        return
    lost, by = (100 - probed.chrf, "our own engine's texts") if probed.lost is None else (probed.lost, "the references")
    allowed = most_lost if most_lost is not None else MOST_LOST if probed.lost is None else MOST_LOST_BY_REFERENCES
    if lost > allowed:
        raise ConfigError(
            f"{name}: {type} loses {lost:.2f} chrF by {by} ({changed} of {probed.lines} lines changed), more than {allowed:g}; "
            "use float32, or allow it by --most-lost"
        )
