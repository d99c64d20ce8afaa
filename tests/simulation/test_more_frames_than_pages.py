"""A cache larger than the trace takes no more memory than one as large, and counts the same."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.generated import EventTrace, PageTrace, traces, zipf
from simulation.test_replay import run
from tidepool import parse_policy, policies
from tidepool.policies import PolicySpec
from tidepool.simulation import Cell, Options, Result, Sampling, count_pages, simulate
from tidepool.simulation.future import Future
from tidepool.simulation.grid import COUNTED_BYTES, bound_of_pages
from tidepool.simulation.replay import Replay, replay_bytes
from tidepool.simulation.sizes import MAX_FRAMES
from tidepool.traces import Trace

SPECS = [policy.name for policy in policies()] + [
    "opt",
    "opt:bypass=on",
    "2q:kin=1%",
    "lirs:hir=90%",
]


def replayed(
    trace: Trace, spec: PolicySpec, frames: int, pages: int | None, **given: Any
) -> Result:
    """One replay in a cache of ``frames`` frames, or of as many as the trace has pages."""
    replay = Replay(spec, frames, 3, Options(**given), pages=pages)
    chunks = [chunk for chunk in trace.chunks() if len(chunk)]
    with Future() as future:
        for chunk in chunks:
            future.feed(chunk)
        position = 0
        for chunk in chunks:
            next_use = future.next_use(position, len(chunk))
            replay.feed(position, chunk, None if spec.policy.handle else next_use)
            position += len(chunk)
    return replace(replay.result(trace), seconds=0.0)


@pytest.mark.parametrize("spec", SPECS)
@given(
    trace=traces(),
    more=st.integers(0, 40),
    window=st.sampled_from([0, 3]),
    batch=st.sampled_from([1, 5]),
)
def test_nothing_changes(spec: str, trace: EventTrace, more: int, window: int, batch: int) -> None:
    pages = count_pages(trace)
    options = {"warmup": 5, "correlation_window": window, "batch": batch}
    parsed = parse_policy(spec)
    whole = replayed(trace, parsed, pages + more, None, **options)
    bounded = replayed(trace, parsed, pages + more, pages, **options)
    assert whole == bounded
    assert bounded.frames == pages + more  # what was asked for
    if "bypass" not in spec:
        assert bounded.write_backs == bounded.refused == 0


@pytest.mark.parametrize("spec", SPECS)
def test_the_largest_cache_there_is(spec: str) -> None:
    """Terabytes, in which every page is missed once."""
    trace = zipf(300, 4000)
    result = run(trace, spec, MAX_FRAMES)
    assert result.frames == MAX_FRAMES
    assert result.misses == (count_pages(trace) if "bypass" not in spec else result.misses)


class OfUnknownLength(PageTrace):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.length = None


def test_pages_are_counted_only_where_it_saves_much() -> None:
    lru = parse_policy("lru")
    trace = OfUnknownLength(np.arange(5000) % 70)
    frames = COUNTED_BYTES // replay_bytes(lru, 1)

    def bound(trace: Trace, sizes: Sequence[int], **given: Any) -> int | None:
        options = Options(**given)
        return bound_of_pages(trace, [Cell(lru, size) for size in sizes], options)

    assert bound(trace, [10, frames]) is None
    assert bound(trace, [10, frames + 1]) == 70
    assert bound(trace, [frames + 1], sampling=Sampling(0.1)) is None
    assert bound(trace, [11 * frames], sampling=Sampling(0.1)) == 70
    assert bound(trace, [frames + 1], resize=((5, 10),)) is None
    assert bound(PageTrace(trace.pages), [frames + 1]) == 5000  # few enough
    with ThreadPoolExecutor(1) as executor:
        cells = [Cell(lru, MAX_FRAMES)]
        assert bound_of_pages(trace, cells, Options(), executor) == 70
        (result,) = simulate([(trace, cells)], executor=executor)
        assert result.misses == 70


@pytest.mark.parametrize("spec", ["lru", "arc", "opt"])
def test_samples(spec: str) -> None:
    """Also where the sample has more pages than its share."""
    trace = OfUnknownLength(zipf(300, 4000).pages)
    for seed in range(5):
        sampling = Sampling(0.2, seed)
        plenty = run(trace, spec, 20_000, sampling=sampling)
        most = run(trace, spec, MAX_FRAMES, sampling=sampling)
        assert (most.misses, most.error) == (plenty.misses, plenty.error)


def test_a_resized_pool_keeps_its_size() -> None:
    """Which page goes when it shrinks depends on how large it was."""
    trace = zipf(300, 4000)
    shrunk = run(trace, "2q", 400, resize=((2000, 100),))
    exact = replayed(trace, parse_policy("2q"), 400, None, resize=((2000, 100),))
    assert shrunk.misses == exact.misses
