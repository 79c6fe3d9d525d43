"""An explanation on a screen of 80 x 40, in both languages."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from hexapla.explanation import complexity
from hexapla.explanation.parts import Language, in_language
from hexapla.explanation.topics import TITLES, TOPICS
from hexapla.workflow.explain import explain, render, significant, unbreakable, wrapped


@pytest.fixture(scope="module")
def explanations():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(complexity, "LENGTHS", (64, 128, 256))
        return {topic: explain(topic) for topic in TOPICS}


def shown(explanation, language: Language = "en", width=80, encoding="utf-8", **options) -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace", write_through=True)
    Console(file=file, width=width, highlight=False, **options).print(render(explanation, language))
    return raw.getvalue().decode(encoding).split("\n")[:-1]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_fits_a_screen(explanations, topic, language):
    screen = shown(explanations[topic], language)
    assert len(screen) <= 39  # and the line of the prompt
    assert max(map(cell_len, screen)) <= 80
    assert screen[0] == TITLES[topic].of(language)


@pytest.mark.parametrize("topic", TOPICS)
def test_formula_numbers_plot_claims_section_and_code_are_there(explanations, topic):
    said = explanations[topic]
    text = "\n".join(shown(said, width=120))
    assert f"section {said.section}" in text
    for part in (*said.code, *(in_language(formula, "en") for formula in said.formula), *(claim.says.en for claim in said.claims.values())):
        assert part in text
    assert text.count("✓") == len(said.claims)
    assert "✗" not in text
    assert any(mark in text for mark in "⣀█▓")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("topic", TOPICS)
def test_nothing_is_cut_off_or_folded(explanations, topic, language):
    screen = shown(explanations[topic], language)
    assert not [line for line in screen if "……" in line or line.rstrip().endswith("...")]
    narrow, wide = (len(shown(explanations[topic], language, width)) for width in (80, 200))
    paragraph = explanations[topic].paragraph.of(language)
    more = len(list(wrapped(paragraph, 80))) - len(list(wrapped(paragraph, 100)))
    assert narrow - wide - more in (0, 1)  # at 80 the sources may take a line of their own


def test_columns_of_chinese_stand_below_each_other(explanations):
    lines = shown(explanations["beam"], "zh")
    start = next(number for number, line in enumerate(lines) if "论断" in line)
    places = {cell_len(line[: line.rindex(mark)]) for line, mark in zip(lines[start:], ["应为", "= ", "= ", "= ", "≥ "], strict=True)}
    assert len(places) == 1


def test_a_claim_that_does_not_hold_is_crossed(explanations):
    from dataclasses import replace

    said = explanations["masking"]
    wrong = replace(said, claims={"sums": replace(said.claims["sums"], measured=0.5)})
    assert [line[0] for line in shown(wrong)[-1:]] == ["✗"]


def test_a_terminal_without_unicode_gets_marks_of_ascii(explanations):
    screen = "\n".join(shown(explanations["schedule"], encoding="ascii"))
    assert "|" in screen and "*" in screen and "ok" in screen
    assert "\\u28" not in screen and "\\u25" not in screen


def test_english_is_parted_at_spaces_and_chinese_anywhere_but_before_a_closing_mark():
    assert list(wrapped("one two three", 7)) == ["one two", "three"]
    assert list(wrapped("点积的方差，是 softmax 的", 10)) == ["点积的方", "差，是", "softmax 的"]
    assert list(unbreakable("取（a）。")) == ["取", "（a）。"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("cells", [20, 33, 80])
def test_wrapping_loses_nothing_and_keeps_words_whole(language, cells):
    for topic in ("scaling", "beam"):
        text = explain(topic).paragraph.of(language)
        parts = list(wrapped(text, cells))
        assert "".join("".join(parts).split()) == "".join(text.split())
        assert max(map(cell_len, parts)) <= cells
        assert not any(part[0] in "，。；：）" for part in parts)
        words = re.compile(r"[A-Za-z]{2,}")
        assert words.findall("\n".join(parts)) == words.findall(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.5, "0.500"),
        (12.345, "12.3"),
        (1.0, "1.00"),
        (123.4, "123"),
        (13780.6, "13,781"),
        (0.00012, "1.20e-04"),
        (1.2e8, "1.20e+08"),
    ],
)
def test_a_table_has_three_digits_that_count(value, text):
    assert significant(value) == text
