"""hexapla score: how likely a model finds given translations."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import AsJson, BatchSize, CheckpointName, Deterministic, MaxSource, RunFolder, Threads, refuse_absent, use_threads

if TYPE_CHECKING:
    from hexapla.workflow.score import Score


def score(
    run: RunFolder,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Target text: line i translates line i of the source.")],
    as_json: AsJson = False,
    max_source: MaxSource = None,
    deterministic: Deterministic = False,
    batch_size: BatchSize = 64,
    checkpoint: CheckpointName = "best",
    threads: Threads = None,
) -> None:
    """Write log-probability, length in tokens and perplexity of each pair, separated by tabs; the corpus' on stderr."""
    import json
    from itertools import islice

    refuse_absent(run, source, target)
    use_threads(threads)
    from hexapla.data.corpus import can_be_read_again, read_pairs
    from hexapla.runs import Run
    from hexapla.workflow.score import CHUNK, Score, refuse_unscorable, score_stream

    opened = Run.open(run, checkpoint=checkpoint)
    if can_be_read_again(source, target):  # what does not match is refused before a line is written
        refuse_unscorable(opened, read_pairs(source, target), max_source=max_source)
    pairs = read_pairs(source, target)
    scores = score_stream(opened, pairs, max_source=max_source, batch_size=batch_size, deterministic=deterministic, chunk=CHUNK)
    count, tokens, log_prob = 0, 0, 0.0
    while some := list(islice(scores, CHUNK)):
        if as_json:
            write_lines(json.dumps(as_object(s)) for s in some)
        else:
            write_lines(f"{s.log_prob:.4f}\t{s.length}\t{s.perplexity:.4f}" for s in some)
        count, tokens = count + len(some), tokens + sum(s.length for s in some)
        log_prob = math.fsum([log_prob, *(s.log_prob for s in some)])
    corpus = Score(log_prob, max(tokens, 1))
    say(f"{count:,} pairs, {tokens:,} tokens: log-probability {log_prob:.2f}, perplexity {corpus.perplexity:.4f}")


def as_object(score: "Score") -> dict[str, float | None]:
    """JSON has no infinity."""
    perplexity = score.perplexity if math.isfinite(score.perplexity) else None
    return {"log_prob": score.log_prob, "length": score.length, "perplexity": perplexity}
