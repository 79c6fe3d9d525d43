"""hexapla explain: the claims of the paper, each computed now."""

from pathlib import Path
from typing import Annotated

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import AsJson
from hexapla.explanation.parts import Language


def explain(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="What to explain; without one the topics are listed.")] = None,
    lang: Annotated[Language, typer.Option(metavar="en|zh", help="English or Chinese.")] = "en",
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw a picture for a slide; needs matplotlib.")] = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Another seed draws other random numbers.")] = 1,
) -> None:
    """Compute a claim of the paper: formula, numbers, plot, and what to make of it. Ends with 1 where a claim does not hold."""
    import json

    from hexapla.explanation.topics import TITLES, topic_of

    if topic is None:
        if as_json:
            write_lines(
                [json.dumps({name: {"en": title.en, "zh": title.zh} for name, title in TITLES.items()}, ensure_ascii=False, indent=2)]
            )
        else:
            write_lines(f"{name:14} {title.of(lang)}" for name, title in TITLES.items())
        return
    topic_of(topic)
    from hexapla.workflow.explain import explain as explain_topic
    from hexapla.workflow.explain import render

    explanation = explain_topic(topic, seed=seed)
    if png is not None:
        from hexapla.workflow.explain_picture import picture

        png.write_bytes(picture(explanation, lang))
        say(f"wrote {png}")
    if as_json:
        write_lines([json.dumps(explanation.to_json(), ensure_ascii=False, indent=2)])
    else:
        from rich.console import Console

        Console(highlight=False).print(render(explanation, lang))
    broken = [name for name, claim in explanation.claims.items() if not claim.holds]
    if broken:
        say(f"explain {topic}: not as expected: {', '.join(broken)}; please report it with the command and its output")
        raise typer.Exit(1)
