"""An evaluation for people (a table) and for other programs (lines of columns)."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from hexapla.evaluation.scoring import FALLING, Evaluation, MetricName

SIGNIFICANT = 0.05


def table(evaluation: Evaluation) -> Group:
    """For a terminal: the numbers first, the signatures to quote under them."""
    signatures = Text(
        "\n".join(f"{score.name}  {signature(evaluation, metric)}" for metric, score in evaluation.scores.items()), style="dim"
    )
    return Group(compared(evaluation, evaluation.against) if evaluation.against else alone(evaluation), signatures)


def alone(evaluation: Evaluation) -> Table:
    rows = Table(title=Text(f"{evaluation.name}, {len(evaluation.hypotheses)} lines"), title_justify="left")
    rows.add_column("score", no_wrap=True)
    rows.add_column("value", justify="right", no_wrap=True)
    rows.add_column("from")
    for metric, score in evaluation.scores.items():
        rows.add_row(f"{score.name} {direction(metric)}", f"{score.value:.2f}", Text(score.detail))
    return rows


def compared(evaluation: Evaluation, against: Evaluation) -> Table:
    rows = Table(
        title=Text(f"{evaluation.name} (1) against {against.name} (2), {len(evaluation.hypotheses)} lines"),
        caption=Text(f"mean ± half of the 95% interval, by resampling; * p < {SIGNIFICANT}"),
        title_justify="left",
        caption_justify="left",
    )
    rows.add_column("score", no_wrap=True)
    for column in ("1", "1 resampled", "2", "2 resampled", "1 - 2", "p"):
        rows.add_column(column, justify="right", no_wrap=True)
    for metric, score in evaluation.scores.items():
        test = evaluation.comparisons[metric]
        rows.add_row(
            f"{score.name} {direction(metric)}",
            f"{score.value:.2f}",
            str(test.interval),
            f"{against[metric]:.2f}",
            str(test.against_interval),
            f"{test.difference:+.2f}",
            f"{test.p_value:.3f}{'*' if test.p_value < SIGNIFICANT else ' '}",
        )
    return rows


def lines(evaluation: Evaluation) -> list[str]:
    """One line a score, columns divided by tabs: name, value, signature, detail; with a second system also its value,
    the difference and p."""
    rows = []
    for metric, score in evaluation.scores.items():
        columns = [score.name, f"{score.value:.2f}", signature(evaluation, metric), score.detail]
        if evaluation.against:
            test = evaluation.comparisons[metric]
            columns += [f"{evaluation.against[metric]:.2f}", f"{test.difference:+.2f}", f"{test.p_value:.4f}"]
        rows.append("\t".join(columns))
    return rows


def signature(evaluation: Evaluation, metric: MetricName) -> str:
    score = evaluation.scores[metric].signature
    return f"{score}|{evaluation.comparisons[metric].signature}" if evaluation.against else score


def direction(metric: MetricName) -> str:
    return "↓" if metric in FALLING else "↑"
