"""The folder that `hexapla export` writes: a model for another program, and all that our own verbs need to use it. Without PyTorch.

export.json            format, program and type; run, checkpoint and versions it was made from; what the probe said; SHA-256 of each file
config.toml            the settings of the run
tokenizer.toml, …      how text becomes ids: see data.tokenizer
model.bin, config.json, shared_vocabulary.json or source_… and target_vocabulary.json: what CTranslate2 reads

It is read as if a stranger had made it: see docs/internals.md. Every file is held against its SHA-256 before CTranslate2 sees its bytes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from annotated_types import Ge

from hexapla.config.decoding import Rules, Strategy
from hexapla.config.edge import from_mapping
from hexapla.config.run import RunConfig
from hexapla.config.setting import Number, Whole, setting
from hexapla.data.folder import put_back_all, read_whole
from hexapla.data.opening import shown
from hexapla.data.stored import read_json_table, strict_toml
from hexapla.data.tokenizer import TOKENIZER_FILES, files_of_tokenizers, load_tokenizers, refuse_other_sizes
from hexapla.decoding.output import Hypothesis
from hexapla.errors import CheckpointError, ConfigError
from hexapla.training.folders import CHECKPOINTS, CheckpointFolders
from hexapla.training.manifest import WEIGHTS, as_written, read_manifest, refuse_newer, wrong_with_the_run

if TYPE_CHECKING:
    from hexapla.interop.ctranslate2_search import CTranslate2

FORMAT = 1
ABOUT = "export.json"
CONFIG = "config.toml"
EXPORTS = "export"
"""the folder's name in a run"""
Program = Literal["ctranslate2"]
Type = Literal["float32", "int8", "bf16"]
QUANTISATION: dict[Type, str] = {"float32": "float32", "int8": "int8", "bf16": "bfloat16"}
"""what CTranslate2 calls each type"""
THEIR_FILES = {"model.bin", "config.json", "shared_vocabulary.json", "source_vocabulary.json", "target_vocabulary.json"}


@setting
class Origin:
    """What an export was made from."""

    data: str
    """the fingerprint of the data"""
    checkpoint: str
    weights: str
    """the SHA-256 of the checkpoint's weights"""


@setting
class Probed:
    """What re-decoding sentences with the export and with our own engine showed."""

    lines: Whole
    changed: Whole
    """other texts"""
    near_ties: Whole
    """of those, the ones whose two texts score alike"""
    chrf: Number
    """of the export's texts against our own engine's"""
    bleu: Number
    lost: Number | None = None
    """chrF points against references, where there were any"""


@setting
class Stored:
    """A file of the export."""

    bytes: Whole
    sha256: str


@setting
class About:
    """export.json"""

    format: int
    program: Program
    type: Type
    positions: Annotated[int, Ge(1)]
    """that the model serves"""
    origin: Origin
    versions: dict[str, str]
    files: dict[str, Stored]
    probed: Probed | None = None


class Export:
    """An export, opened from its folder. The model is loaded when it is first asked."""

    def __init__(self, path: Path, about: About, config: RunConfig, *, workers: int | None = None, threads: int | None = None):
        self.path, self.about, self.config, self.workers, self.threads = path, about, config, workers, threads
        self.checkpoint = about.origin.checkpoint
        self.source, self.target, self.joint = load_tokenizers(path)
        refuse_other_sizes(path, self.source, self.target, config.model)

    @classmethod
    def open(cls, path: str | Path, *, workers: int | None = None, threads: int | None = None) -> "Export":
        """Raises CheckpointError: no export, one of a newer format, or a file is not as it was written."""
        path = Path(path)
        with wrong_with_the_run():
            about = read_about(path)
            for name in sorted(about.files.keys() - THEIR_FILES - {CONFIG}):
                content_of(path, about, name)
            unwatched = {CONFIG, *files_of_tokenizers(path)} - about.files.keys()
            if unwatched:
                raise CheckpointError(f"{shown(path / ABOUT)}: files: lacks {', '.join(sorted(unwatched))}; export again")
            config = read_config(path, about)
            return cls(path, about, config, workers=workers, threads=threads)

    @cached_property
    def engine(self) -> "CTranslate2":
        """Raises ConfigError: CTranslate2 is not installed; CheckpointError: its files are damaged."""
        from hexapla.interop.ctranslate2_search import CTranslate2

        with wrong_with_the_run():
            files = {name: content_of(self.path, self.about, name) for name in sorted(self.about.files.keys() & THEIR_FILES)}
        kind, positions = QUANTISATION[self.about.type], self.about.positions
        shared = {"workers": self.workers, "threads": self.threads}
        return CTranslate2(shown(self.path), files, self.config.model, self.source, self.target, type=kind, positions=positions, **shared)

    def searched(
        self,
        sources: Mapping[int, Sequence[int]],
        strategy: Strategy,
        rules: Rules,
        *,
        n_best: int,
        prefix: Sequence[int],
        batch_size: int,
        deterministic: bool,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The outputs of each source by its number. Raises ConfigError: what CTranslate2 cannot do as we do it."""
        if deterministic:
            raise ConfigError("--deterministic: CTranslate2 does not promise the last bit; leave it out, or use --engine own")
        return self.engine.searched(sources, strategy, rules, n_best=n_best, prefix=prefix, batch_size=batch_size)


def open_export(path: str | Path, checkpoint: str = "best", *, workers: int | None = None, threads: int | None = None) -> Export:
    """The export in `path`, or the one that was made of `checkpoint` of the run in `path`.

    Batches are searched by so many `workers` (unset: one for each processor, or one where `threads` are given) of so many `threads`
    (unset: one).
    Raises CheckpointError: there is none, or it was made of other weights; ConfigError: CTranslate2 is not installed, or there are several.
    """
    needs_ctranslate2()
    path = Path(path)
    if os.path.lexists(path / ABOUT):
        export = Export.open(path, workers=workers, threads=threads)
        if checkpoint not in ("best", export.checkpoint):
            raise CheckpointError(f"{shown(path)}: was made of {export.checkpoint}, and {checkpoint} is asked for; export that one")
        return export
    put_back_all(path / EXPORTS)
    found = [folder for kind in get_args(Type) if os.path.lexists((folder := default_place(path, kind)) / ABOUT)]
    if not found:
        raise CheckpointError(f"{shown(path)}: has no export to CTranslate2; make one: hexapla export {shown(path)} --to ctranslate2")
    if len(found) > 1:
        raise ConfigError(f"{shown(path)}: has {len(found)} exports; give one in place of the run: {', '.join(map(shown, found))}")
    export = Export.open(found[0], workers=workers, threads=threads)
    folders = CheckpointFolders(path / CHECKPOINTS)
    manifest = read_whole(lambda: folders.named(checkpoint), read_manifest)
    if manifest[WEIGHTS]["sha256"] != export.about.origin.weights:
        raise CheckpointError(
            f"{shown(found[0])}: was made of {export.checkpoint}, whose weights are not those of {checkpoint} now; "
            f"export again with --overwrite, or give that folder in place of the run"
        )
    return export


def default_place(run: Path, kind: Type) -> Path:
    return run / EXPORTS / f"ctranslate2-{kind}"


def read_about(path: Path) -> About:
    """export.json. Raises CheckpointError, DataError."""
    file = path / ABOUT
    values = read_json_table(file)
    refuse_newer(path, values)
    try:
        about = from_mapping(About, values, where=shown(file))
    except ConfigError as error:
        raise CheckpointError(f"{error}; export again") from None
    if about.format != FORMAT or not about.files.keys() <= THEIR_FILES | TOKENIZER_FILES | {CONFIG}:
        raise CheckpointError(f"{shown(file)}: not as it was written; export again")
    return about


def read_config(path: Path, about: About) -> RunConfig:
    values = strict_toml(content_of(path, about, CONFIG), shown(path / CONFIG))
    try:
        return from_mapping(RunConfig, values, where=shown(path / CONFIG))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None


def content_of(path: Path, about: About, name: str) -> bytes:
    """A file's bytes, which are those that the export was written with. Raises CheckpointError, DataError."""
    stored = about.files[name]
    with as_written(path / name, {"bytes": stored.bytes, "sha256": stored.sha256}) as stream:
        content = bytearray(stream.size)
        stream.fill(memoryview(content))
    return bytes(content)


def needs_ctranslate2() -> Any:
    """The module. Raises ConfigError: it is not installed."""
    try:
        import ctranslate2
    except ImportError as error:
        raise ConfigError(f"CTranslate2 cannot be used ({error}); install it: pip install 'hexapla[ctranslate2]'") from None
    return ctranslate2
