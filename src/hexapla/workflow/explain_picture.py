"""An explanation as a picture, for a slide."""

import io
from typing import TYPE_CHECKING, assert_never

from hexapla.errors import ConfigError
from hexapla.explanation.parts import Bars, Bilingual, Curves, Explanation, HeatMap, Language, Plot, in_language
from hexapla.workflow.explain import SIGNS, demanded, exact, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DOTS_PER_INCH = 10.0, 5.625, 150
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""told apart by those who see red and green alike: Okabe and Ito 2008"""
FEW_POINTS = 8
"""of a logarithmic axis that each get a tick of their own"""
STYLES = ("-", "--", "-.", ":")
CHINESE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Serif CJK SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Zen Hei",
)


def picture(explanation: Explanation, language: Language = "en") -> bytes:
    """The plots of an explanation below its title and formula, above its words: a PNG of 1500 × 844 pixels.

    Raises ConfigError: matplotlib is not installed; or no font for Chinese is, where that is asked for.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(f"--png needs matplotlib ({error}); install it: pip install 'hexapla[plots]'") from None
    with matplotlib.rc_context({"font.family": fonts(language), "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DOTS_PER_INCH)
        FigureCanvasAgg(figure)
        write_words(figure, explanation, language)
        left = 0.13 if any(isinstance(plot, Bars) for plot in explanation.plots) else 0.08
        spots = figure.add_gridspec(
            1, len(explanation.plots), left=left, right=0.97, bottom=0.46, top=0.82 - 0.03 * len(explanation.formula), wspace=0.25
        )
        for number, plot in enumerate(explanation.plots):
            draw(figure.add_subplot(spots[0, number]), plot, language)
        written = io.BytesIO()
        figure.savefig(written, format="png")
    return written.getvalue()


def fonts(language: Language) -> list[str]:
    """Which to look for a character in, one after the other."""
    from matplotlib.font_manager import fontManager

    chinese = [name for name in CHINESE_FONTS if name in fontManager.get_font_names()]
    if language == "zh" and not chinese:
        raise ConfigError(f"--png --lang zh: none of the fonts {', '.join(CHINESE_FONTS)} is installed; install one, or use --lang en")
    return ["DejaVu Sans", *chinese]


def write_words(figure: "Figure", said: Explanation, language: Language) -> None:
    figure.text(0.03, 0.94, said.title.of(language), fontsize=17, weight="bold", va="center")
    for number, formula in enumerate(said.formula):
        figure.text(0.03, 0.885 - 0.04 * number, in_language(formula, language), fontsize=10.5, color=COLOURS[0], va="center")
    below = "\n".join(wrapped(said.paragraph.of(language), 128))
    figure.text(0.03, 0.375, below, fontsize=9.5, va="top", linespacing=1.45)
    for number, claim in enumerate(said.claims.values()):
        mark = "✓" if claim.holds else "✗"
        words = f"{mark}  {claim.says.of(language)}:  {exact(claim.measured)}   ({demanded(claim, SIGNS)})"
        figure.text(0.03, 0.165 - 0.031 * number, words, fontsize=8.5, color="#333333", va="center")
    place = f"Vaswani et al. 2017, {Bilingual('section', '论文').of(language)} {said.section}   hexapla explain {said.topic}"
    figure.text(0.97, 0.02, place, fontsize=7.5, color="#777777", ha="right", va="center")


def draw(axes: "Axes", plot: Plot, language: Language) -> None:
    axes.set_title(in_language(plot.title, language), fontsize=10, loc="left")
    axes.tick_params(which="both", labelsize=8)
    match plot:
        case Curves():
            draw_curves(axes, plot, language)
        case Bars():
            names = [in_language(label, language) for label in plot.labels]
            axes.barh(names, plot.values, color=COLOURS[0])
            axes.invert_yaxis()
        case HeatMap():
            draw_heat_map(axes, plot)
        case _:
            assert_never(plot)


def draw_curves(axes: "Axes", plot: Curves, language: Language) -> None:
    for number, line in enumerate(plot.lines):
        style = STYLES[number % len(STYLES)]
        axes.plot(line.x, line.y, style, color=COLOURS[number % len(COLOURS)], label=in_language(line.name, language))
    if plot.log_x:
        axes.set_xscale("log")
        points = plot.lines[0].x
        if len(points) <= FEW_POINTS:
            axes.minorticks_off()
            axes.set_xticks(points, [f"{x:g}" for x in points])
    if plot.log_y:
        axes.set_yscale("log")
    axes.set_xlabel(in_language(plot.x_name, language), fontsize=9)
    axes.grid(alpha=0.25)
    if len(plot.lines) > 1:
        axes.legend(fontsize=8, frameon=False)


def draw_heat_map(axes: "Axes", plot: HeatMap) -> None:
    axes.imshow(plot.values, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(plot.columns)), plot.columns)
    axes.set_yticks(range(len(plot.rows)), plot.rows)
    for row, values in enumerate(plot.values):
        for column, value in enumerate(values):
            colour = "black" if value > 0.5 else "white"
            axes.text(column, row, f"{value:.3f}", ha="center", va="center", fontsize=8, color=colour)
