"""Bars, lines and shades, cell by cell."""

import pytest

from hexapla.workflow.terminal_plot import axis, bar, label_rows, lines, shade, tick


@pytest.mark.parametrize(("value", "text"), [(0, ""), (0.0001, "▏"), (0.3, "█▎"), (0.5, "██"), (1, "████")])
def test_a_bar_is_as_long_as_its_value_and_what_is_not_zero_is_seen(value, text):
    assert bar(value, 1, "cyan", False, 4).plain == text
    assert bar(value, 1, "cyan", True, 4).plain == "#" * max(text.count("█"), bool(value))


@pytest.mark.parametrize(("value", "mark"), [(0, " "), (0.01, "░"), (0.25, "░"), (0.26, "▒"), (0.6, "▓"), (1, "█")])
def test_a_shade_is_as_dark_as_its_value(value, mark):
    assert shade(value, plain=False) == mark
    assert shade(value, plain=True).isascii()


def test_an_axis_is_linear_from_0_or_by_ratios():
    assert [axis([2, 4], False, from_zero=True).share(x) for x in (0, 1, 4)] == [0, 0.25, 1]
    assert [axis([2, 4], False, from_zero=False).share(x) for x in (2, 3, 4)] == [0, 0.5, 1]
    assert axis([1, 100], True, from_zero=True).share(10) == pytest.approx(0.5)
    assert axis([1, 100], True, from_zero=True).at(0.5) == pytest.approx(10)
    assert axis([-1, 3], False, from_zero=True).at(0.25) == 0
    assert axis([5], False, from_zero=False).share(5) == 0


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (100.0, "100"), (0.33, "0.33"), (2.3e-26, "2.3e-26"), (1e7, "1e+07")])
def test_ticks_are_short(value, text):
    assert tick(value) == text


@pytest.mark.parametrize("shares", [[0.5, 0.5, 0.5], [1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.9, 0.1, 0.88]])
def test_names_stand_in_rows_of_their_own_in_the_order_of_the_lines(shares):
    rows = label_rows(shares, 6)
    assert len(set(rows)) == len(rows)
    assert all(0 <= row < 6 for row in rows)
    assert [rows[i] for i in sorted(range(len(shares)), key=lambda i: -shares[i])] == sorted(rows)


def drawn(series, plain, **options):
    settings = {"cells": 20, "rows": 5, "log_x": False, "log_y": False} | options
    return [text.plain for text in lines(series, "x", plain=plain, **settings)]


def test_a_straight_line_goes_from_corner_to_corner():
    *rows, below = drawn([("up", (0, 1), (0, 4))], plain=True)
    cells = [row.split("|")[1] for row in rows]
    assert [cell.rstrip(" up").rstrip()[-1] for cell in cells] == ["*"] * 5
    assert [cell.index("*") for cell in cells] == sorted((cell.index("*") for cell in cells), reverse=True)
    assert cells[-1][0] == "*" and rows[0].endswith("* up")
    assert [row.split("|")[0].strip() for row in rows] == ["4", "", "2", "", "0"]
    assert below.split() == ["0", "x", "1"]


def test_braille_has_eight_dots_a_cell():
    *rows, _ = drawn([("", (0, 1), (0, 0))], plain=False)
    assert rows[-1].strip().strip("0 ┤") == "⣀" * 14
    assert [set(row.strip(" 10.5┤│")) for row in rows[:-1]] == [set()] * 4


def test_a_logarithmic_line_of_powers_is_straight():
    straight = drawn([("", (0, 1, 2, 3), (0, 1, 2, 3))], plain=False, rows=8)
    powers = drawn([("", (0, 1, 2, 3), (1, 10, 100, 1000))], plain=False, rows=8, log_y=True, cells=21)
    assert [row.split("┤")[-1].split("│")[-1] for row in straight[:-1]] == [row.split("┤")[-1].split("│")[-1] for row in powers[:-1]]


def test_the_second_line_has_another_mark():
    text = "\n".join(drawn([("one", (0, 1), (0, 1)), ("two", (0, 1), (1, 0))], plain=True))
    assert "*" in text and "o" in text.replace("one", "").replace("two", "")
    assert "one" in text and "two" in text
