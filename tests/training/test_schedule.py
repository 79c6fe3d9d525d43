import itertools
import math

import pytest

from hexapla.config.training import Constant, Cosine, InverseSqrt, Paper
from hexapla.training.schedule import learning_rate

STEPS = 1000


def rate(schedule, step, d_model=512):
    return learning_rate(schedule, step, d_model=d_model, steps=STEPS)


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 512**-0.5 * 4000**-1.5), (2000, 512**-0.5 * 2000 * 4000**-1.5), (4000, 512**-0.5 * 4000**-0.5), (100_000, 512**-0.5 * 1e5**-0.5)],
)
def test_the_papers_rate_is_equation_3(step, expected):
    assert rate(Paper(), step) == pytest.approx(expected, rel=1e-12)


def test_the_papers_base_model_peaks_at_7e_4():
    rates = [rate(Paper(), step) for step in range(1, 8001)]
    assert rates.index(max(rates)) + 1 == 4000
    assert max(rates) == pytest.approx(6.99e-4, rel=1e-3)
    assert rate(Paper(scale=2.0), 4000) == pytest.approx(2 * max(rates))
    assert rate(Paper(), 4000, d_model=128) == pytest.approx(2 * max(rates))


def test_inverse_square_root_rises_in_a_line_and_falls_by_its_root():
    schedule = InverseSqrt(peak=2e-3, warmup=100)
    assert [rate(schedule, step) for step in (1, 50, 100, 400, 10_000)] == pytest.approx([2e-5, 1e-3, 2e-3, 1e-3, 2e-4])


def test_the_paper_is_an_inverse_square_root_of_a_peak_that_follows_from_width_and_warmup():
    same = InverseSqrt(peak=512**-0.5 * 4000**-0.5, warmup=4000)
    for step in (1, 3999, 4000, 4001, 50_000):
        assert rate(same, step) == pytest.approx(rate(Paper(), step), rel=1e-12)


def test_a_cosine_ends_at_its_floor_and_stays_there():
    schedule = Cosine(peak=1e-3, warmup=100, floor=1e-5)
    assert rate(schedule, 1) == pytest.approx(1e-5)
    assert rate(schedule, 100) == pytest.approx(1e-3)
    assert rate(schedule, 550) == pytest.approx((1e-3 + 1e-5) / 2)
    assert rate(schedule, 325) == pytest.approx(1e-5 + (1e-3 - 1e-5) * (1 + math.cos(math.pi / 4)) / 2)
    assert [rate(schedule, step) for step in (STEPS, STEPS + 1, 5 * STEPS)] == pytest.approx([1e-5] * 3)


@pytest.mark.parametrize("warmup", [STEPS, 2 * STEPS])
def test_a_cosine_that_is_all_warmup_stays_finite(warmup):
    rates = [rate(Cosine(peak=1e-3, warmup=warmup), step) for step in (1, STEPS // 2, STEPS)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(1e-3 * min(1, STEPS / warmup))


def test_a_constant_is_one_after_its_warmup():
    assert [rate(Constant(peak=1e-3), step) for step in (1, 2, STEPS)] == [1e-3] * 3
    assert [rate(Constant(peak=1e-3, warmup=10), step) for step in (1, 5, 10, 11)] == pytest.approx([1e-4, 5e-4, 1e-3, 1e-3])


@pytest.mark.parametrize(
    "schedule",
    [Paper(warmup=50), InverseSqrt(warmup=50), Cosine(warmup=50), Constant(warmup=50), Constant()],
    ids=lambda schedule: schedule.kind,
)
def test_no_rate_jumps_and_none_is_negative(schedule):
    rates = [rate(schedule, step) for step in range(1, STEPS + 1)]
    assert min(rates) >= 0
    largest = max(rates)
    assert largest > 0
    assert max(abs(b - a) for a, b in itertools.pairwise(rates)) <= largest / 50 * 1.001
