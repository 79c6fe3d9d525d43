"""hexapla score: how likely a model finds given translations."""

from typing import Annotated

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import AsJson, BatchSize, CheckpointName, Deterministic, MaxSource, RunFolder, Threads, use_threads


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
    import math

    use_threads(threads)
    from hexapla.data.corpus import read_pairs
    from hexapla.runs import Run
    from hexapla.workflow.score import score as score_pairs

    opened = Run.open(run, checkpoint=checkpoint)
    pairs = list(read_pairs(source, target))  # all of it first, since files that do not match are refused before a line is written
    scores = score_pairs(
        opened, [s for s, _ in pairs], [t for _, t in pairs], max_source=max_source, batch_size=batch_size, deterministic=deterministic
    )
    if as_json:
        rows = [{"log_prob": s.log_prob, "length": s.length, "perplexity": s.perplexity} for s in scores]
        write_lines(json.dumps(row) for row in rows)
    else:
        write_lines(f"{s.log_prob:.4f}\t{s.length}\t{s.perplexity:.4f}" for s in scores)
    log_prob, tokens = math.fsum(s.log_prob for s in scores), sum(s.length for s in scores)
    say(f"{len(scores):,} pairs, {tokens:,} tokens: log-probability {log_prob:.2f}, perplexity {math.exp(-log_prob / max(tokens, 1)):.4f}")
