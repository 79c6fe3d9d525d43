"""From decoding options to a strategy and rules, starting from what the run is configured with."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from hexapla.errors import ConfigError

if TYPE_CHECKING:
    from hexapla.config.decoding import Rules, Strategy
    from hexapla.data.tokenizer import Tokenizer


def chosen_strategy(
    *,
    beam: int | None,
    greedy: bool,
    sample: bool,
    penalty: str | None,
    length_penalty: float | None,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
) -> "Callable[[Strategy], Strategy]":
    """A function from the configured strategy to the one asked for; options that contradict each other are refused at once."""
    from hexapla.config.decoding import Beam, Sample
    from hexapla.config.edge import checked

    searching = given(width=beam, penalty=penalty, length_penalty=length_penalty)
    sampling = given(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    if (beam is not None) + greedy + sample > 1:
        raise ConfigError("--beam, --greedy and --sample: give one of them")
    if (sample or greedy) and searching:
        raise ConfigError(f"{option(searching)}: has no part in {'--sample' if sample else '--greedy'}; leave one of them out")
    if sampling and not sample:
        raise ConfigError(f"{option(sampling)}: changes how tokens are drawn, so it needs --sample")
    if sample:
        drawn = checked(Sample(**sampling))
        return lambda configured: drawn
    if greedy:
        return lambda configured: Beam(width=1)
    if not searching:
        return lambda configured: configured
    checked(Beam(**searching))
    return lambda configured: replace(configured if isinstance(configured, Beam) else Beam(), **searching)


def chosen_rules(
    configured: "Rules",
    target: "Tokenizer",
    *,
    max_source: int | None,
    suppress: list[str] | None,
    no_repeat: int | None,
    min_length: int | None,
    max_length: int | None,
    max_extra: int | None,
) -> "Rules":
    """The run's rules, changed by what is given; `suppress` names pieces of the target. Raises ConfigError: there is no such piece."""
    changes = given(max_source=max_source, no_repeat=no_repeat, min_length=min_length, max_length=max_length, max_extra=max_extra)
    if suppress:
        changes["suppress"] = (*configured.suppress, *(id_of(piece, target) for piece in suppress))
    return replace(configured, **changes)


def id_of(piece: str, target: "Tokenizer") -> int:
    pieces = target.pieces(range(target.vocab_size))
    if piece not in pieces:
        near = get_close_matches(piece, pieces, n=3, cutoff=0.5)
        hint = f"; near it are {', '.join(near)}" if near else ""
        raise ConfigError(f"--suppress {piece}: no piece of the target vocabulary{hint}")
    return pieces.index(piece)


def given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def option(settings: Mapping[str, Any]) -> str:
    """The first of `settings` as the user wrote it."""
    name, value = next(iter(settings.items()))
    return f"--{name.replace('_', '-').replace('width', 'beam')} {value}"
