"""Sampled runs with a warm-up count what full runs count, on traces that begin differently.

A few pages with many references are in the sample or not, so that the sample's
share of the references is not the share of the pages, and what lies in the
warm-up cannot be told from that.
"""

from __future__ import annotations

import numpy as np
import pytest

from simulation.generated import PageTrace, zipf
from tidepool import parse_policy
from tidepool.simulation import Cell, Options, Result, Sampling, simulate

HALF = 60_000
SIZES = (150, 600)
RATES = (0.1, 0.2, 0.3)
SEEDS = range(6)


def two_halves(skew: float) -> PageTrace:
    """References to one page by turns with a scan; then skewed ones to other pages."""
    begin = np.arange(HALF) + 10**6
    begin[::2] = 10**6
    return PageTrace(np.concatenate([begin, zipf(4000, HALF, skew=skew).pages]), rows=10_000)


def run(policy: str, trace: PageTrace, sampling: Sampling | None = None) -> list[Result]:
    cells = [Cell(parse_policy(policy), frames) for frames in SIZES]
    return simulate([(trace, cells)], Options(warmup=HALF, sampling=sampling))


@pytest.mark.parametrize("policy", ["lru", "clock", "arc", "opt"])
@pytest.mark.parametrize("skew", [0.7, 1.0])
def test_sampled_runs_agree_with_full_ones(policy: str, skew: float) -> None:
    """Within four standard errors, as the sampled runs state them."""
    trace = two_halves(skew)
    full = run(policy, trace)
    deviations = {}
    for rate in RATES:
        for seed in SEEDS:
            for exact, sampled in zip(full, run(policy, trace, Sampling(rate, seed)), strict=True):
                assert sampled.requests == exact.requests == HALF
                assert sampled.error is not None
                deviation = (sampled.hit_ratio - exact.hit_ratio) / sampled.error
                deviations[rate, seed, exact.frames] = round(deviation, 1)
    beyond = {key: deviation for key, deviation in deviations.items() if abs(deviation) > 4}
    assert beyond == {}
