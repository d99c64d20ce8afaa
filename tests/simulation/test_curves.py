"""Miss-ratio curves: the exact one of LRU, and those made of simulations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.generated import Event, EventTrace, PageTrace, looping, phases, traces, zipf
from simulation.test_replay import run
from tidepool import parse_policy
from tidepool.simulation import Sampling, exact_lru_curve, sampled_curves
from tidepool.traces import Kind, Trace, page_number


def assert_is_lru(trace: Trace, sizes: list[int], warmup: int = 0) -> None:
    curve = exact_lru_curve(trace, warmup)
    for frames in sizes:
        result = run(trace, "lru", frames, warmup=warmup)
        assert result.requests == curve.requests
        at = min(frames, len(curve.frames)) - 1
        assert round(curve.miss_ratio[at] * curve.requests) == result.misses, frames


@given(trace=traces(plain=True), warmup=st.integers(0, 40))
def test_exact_curve_is_lru_at_every_size(trace: EventTrace, warmup: int) -> None:
    """Forgotten pages, which leave free frames, included."""
    assert_is_lru(trace, list(range(1, 18)), warmup)


@pytest.mark.parametrize("make", [zipf, phases, looping])
def test_exact_curve_of_longer_traces(make: Callable[..., Trace]) -> None:
    assert_is_lru(make(900, 20000), [1, 2, 10, 77, 300, 700, 899, 900, 1000], warmup=3000)


def test_exact_curve_with_many_dropped_tables() -> None:
    """Times are renumbered many times over, with holes among them."""
    generator = np.random.default_rng(5)
    events = []
    for step in range(30000):
        relation = int(generator.integers(0, 6))
        if step % 97 == 0:
            events.append(Event(page_number(relation, int(generator.integers(0, 50))), Kind.FORGET))
        elif step % 31 == 0:
            block = int(generator.integers(0, 400))
            events.append(Event(page_number(relation, block), Kind.FORGET, count=20))
        else:
            events.append(Event(page_number(relation, int(generator.exponential(150)))))
    trace = EventTrace(events, cuts=tuple(range(0, 30000, 7919)))
    assert_is_lru(trace, [1, 5, 20, 100, 400, 900, 1500, 2500])


def test_exact_curve_of_references_that_never_repeat() -> None:
    curve = exact_lru_curve(PageTrace(np.arange(50)))
    assert curve.frames.tolist() == [1]
    assert curve.miss_ratio.tolist() == [1.0]


def test_exact_curve_of_nothing() -> None:
    curve = exact_lru_curve(PageTrace([]))
    assert (curve.requests, curve.miss_ratio.tolist()) == (0, [0.0])


def test_curve_between_its_points() -> None:
    curve = sampled_curves(zipf(100, 2000), [parse_policy("lru")], [10, 30], None)[0]
    assert curve.at(20) == pytest.approx((curve.miss_ratio[0] + curve.miss_ratio[1]) / 2)


def test_curves_by_simulation() -> None:
    trace = zipf(500, 10000)
    specs = [parse_policy(text) for text in ("lru", "clock:max_usage=1", "opt")]
    curves = sampled_curves(trace, specs, [200, 10, 50, 10], None, warmup=1000)
    exact = exact_lru_curve(trace, 1000)
    assert [curve.policy for curve in curves] == ["lru", "clock:max_usage=1", "opt"]
    for curve in curves:
        assert curve.frames.tolist() == [10, 50, 200]
        assert curve.error is None
        assert (np.diff(curve.miss_ratio) <= 0).all()
    assert curves[0].miss_ratio == pytest.approx(exact.miss_ratio[[9, 49, 199]])
    assert (curves[2].miss_ratio <= curves[0].miss_ratio).all()


def test_sampled_curves_carry_their_error() -> None:
    trace = zipf(5000, 50000, skew=0.8)
    curve = sampled_curves(trace, [parse_policy("lru")], [500, 2000], Sampling(0.2))[0]
    assert curve.error is not None
    assert ((curve.error > 0) & (curve.error < 0.05)).all()
