"""The learning rate's peak and closed form."""

import pytest
from computed import lines, measured, rows

from hexapla.explanation.schedule import SETTINGS


def test_every_shown_rate_is_equation_3():
    for step, *rates in rows("schedule"):
        expected = [d**-0.5 * (step**-0.5 if step > warmup else step * warmup**-1.5) for d, warmup in SETTINGS]
        assert rates == pytest.approx(expected, rel=1e-12)


def test_the_peak_is_at_warmup_and_is_1_over_the_root_of_d_model_times_warmup():
    assert measured("schedule")["peak_step"] == 4000
    assert measured("schedule")["peak"] == pytest.approx(1 / (512 * 4000) ** 0.5) == pytest.approx(6.9877e-4, rel=1e-4)
    for line, (d_model, warmup) in zip(lines("schedule"), SETTINGS, strict=True):
        assert abs(line.x[line.y.index(max(line.y))] - warmup) <= 200
        assert max(line.y) == pytest.approx((d_model * warmup) ** -0.5, rel=0.02)
