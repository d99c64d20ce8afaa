"""Replays against naive ones: misses and everything else that is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simulation import naive
from simulation.generated import Event, EventTrace, looping, phases, traces, zipf
from tidepool import TidepoolError, parse_policy, policies
from tidepool.generators import RedsetLike, TpchScans
from tidepool.simulation import Cell, Options, Result, simulate
from tidepool.traces import Flag, Kind, Trace, page_number

CACHES: dict[str, Callable[[int], naive.Cache]] = {
    "lru": naive.LRU,
    "clock": naive.Clock,
    "clock:max_usage=1,initial=0": lambda frames: naive.Clock(frames, 1, 0),
    "arc": naive.ARC,
}

each_policy = pytest.mark.parametrize("policy", CACHES)


def run(trace: Trace, policy: str, frames: int, seed: int = 0, **options: Any) -> Result:
    """One replay, on one thread."""
    cell = Cell(parse_policy(policy), frames, seed)
    return simulate([(trace, [cell])], Options(**options), workers=1)[0]


def lengths_of(result: Result) -> NDArray[np.int64]:
    """References in each interval."""
    return np.diff(result.interval_ends, prepend=0)


def counts_of(result: Result) -> naive.Counts:
    assert result.hit_ratio == pytest.approx(
        1 - result.misses / result.requests if result.requests else 0
    )
    series = [] if result.series is None else (1 - result.series) * lengths_of(result)
    return naive.Counts(
        requests=result.requests,
        misses=result.misses,
        refused=result.refused,
        correlated=result.correlated,
        write_backs=result.write_backs,
        forgotten=result.forgotten,
        series=[round(float(misses)) for misses in series],
        relations={r.relation << 2 | r.fork: (r.requests, r.misses) for r in result.relations},
    )


@each_policy
@given(
    trace=traces(),
    frames=st.integers(1, 12),
    warmup=st.integers(0, 30),
    interval=st.integers(0, 20),
    window=st.sampled_from([0, 0, 1, 6]),
)
def test_replay_counts_as_the_naive_one(
    policy: str, trace: EventTrace, frames: int, warmup: int, interval: int, window: int
) -> None:
    result = run(
        trace,
        policy,
        frames,
        warmup=warmup,
        interval=interval,
        correlation_window=window,
        per_relation=True,
    )
    expected = naive.replay(CACHES[policy](frames), trace.events, warmup, interval, window)
    assert counts_of(result) == expected


@each_policy
@given(trace=traces(plain=True), frames=st.integers(1, 12))
def test_plain_events_take_the_fast_path_to_the_same_counts(
    policy: str, trace: EventTrace, frames: int
) -> None:
    result = run(trace, policy, frames)
    expected = naive.replay(CACHES[policy](frames), trace.events)
    expected.relations = {}
    assert counts_of(result) == expected


@each_policy
@pytest.mark.parametrize("make", [zipf, phases, looping])
@pytest.mark.parametrize("frames", [1, 17, 100, 399, 1000])
def test_longer_traces(policy: str, make: Callable[..., Trace], frames: int) -> None:
    trace = make(400, 6000)
    events = [Event(int(page)) for chunk in trace.chunks() for page in chunk.page]
    assert run(trace, policy, frames).misses == naive.replay(CACHES[policy](frames), events).misses


@given(
    trace=traces(),
    frames=st.integers(1, 8),
    resize=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=4, unique_by=lambda r: r[0]
    ),
    warmup=st.integers(0, 20),
)
def test_resize_evicts_the_coldest_and_writes_them_back(
    trace: EventTrace, frames: int, resize: list[tuple[int, int]], warmup: int
) -> None:
    result = run(trace, "lru", frames, resize=tuple(resize), warmup=warmup)
    expected = naive.replay(naive.LRU(frames), trace.events, warmup=warmup, resize=resize)
    expected.relations = {}
    assert counts_of(result) == expected


def test_dirty_pages_are_written_back_when_the_pool_shrinks() -> None:
    events = [Event(1, Kind.WRITE), Event(2, Kind.WRITE), Event(3), Event(3)]
    result = run(EventTrace(events), "lru", 3, resize=((3, 1),))
    assert (result.misses, result.write_backs) == (3, 2)


@pytest.mark.parametrize("policy", [policy.name for policy in policies()])
def test_resize_there_and_back_costs_misses_and_nothing_else(policy: str) -> None:
    trace = zipf(400, 20000)
    whole = run(trace, policy, 200).misses
    shrunk = run(trace, policy, 200, resize=((5000, 20), (10000, 200))).misses
    small = run(trace, policy, 20).misses
    assert whole < shrunk < small


@each_policy
@given(trace=traces(), cuts=st.lists(st.integers(0, 120), max_size=20))
def test_chunk_boundaries_make_no_difference(
    policy: str, trace: EventTrace, cuts: list[int]
) -> None:
    options: dict[str, Any] = {
        "warmup": 3, "interval": 7, "correlation_window": 3, "per_relation": True,
        "resize": ((10, 2), (20, 6)),
    }  # fmt: skip
    other = EventTrace(trace.events, tuple(min(c, len(trace.events)) for c in cuts))
    assert counts_of(run(trace, policy, 4, **options)) == counts_of(
        run(other, policy, 4, **options)
    )


@given(trace=traces(), warmup=st.integers(0, 130), frames=st.integers(1, 6))
def test_relations_add_up_to_the_totals(trace: EventTrace, warmup: int, frames: int) -> None:
    for policy in ("clock", "opt"):
        result = run(trace, policy, frames, warmup=warmup, per_relation=True)
        assert sum(r.requests for r in result.relations) == result.requests
        assert sum(r.misses for r in result.relations) == result.misses


@given(trace=traces(), interval=st.integers(1, 20), frames=st.integers(1, 6))
def test_intervals_add_up_to_the_totals(trace: EventTrace, interval: int, frames: int) -> None:
    result = run(trace, "lru", frames, interval=interval)
    assert result.series is not None
    assert round(float(((1 - result.series) * lengths_of(result)).sum())) == result.misses


def test_the_last_interval_is_as_long_as_the_trace_goes_on() -> None:
    trace = EventTrace([Event(page) for page in (1, 2, 1, 2, 1, 3, 4)])
    for interval, ends, series in (
        (3, [3, 6, 7], [1 / 3, 2 / 3, 0]),
        (7, [7], [3 / 7]),
        (9, [7], [3 / 7]),
    ):
        result = run(trace, "lru", 4, interval=interval, warmup=2)
        assert result.interval_ends.tolist() == ends
        assert result.series == pytest.approx(series)
        record = result.to_json()
        assert (record["interval"], record["last_interval"]) == (interval, np.diff([0, *ends])[-1])
    assert run(trace, "lru", 4).to_json().keys().isdisjoint({"interval", "last_interval"})


def test_warmup_longer_than_the_trace_counts_nothing() -> None:
    trace = EventTrace([Event(1, Kind.WRITE), Event(2, Kind.WRITE), Event(1, Kind.FORGET, count=1)])
    result = run(trace, "lru", 1, warmup=5, per_relation=True)
    assert (result.requests, result.misses, result.hit_ratio) == (0, 0, 0.0)
    assert (result.write_backs, result.forgotten) == (0, 0)
    assert [(r.requests, r.misses) for r in result.relations] == [(0, 0)]


def test_correlation_window_is_per_backend_and_in_microseconds() -> None:
    events = [
        Event(7, time=0, backend=1),
        Event(7, time=10, backend=1),  # repeats
        Event(7, time=25, backend=1),  # too late for a window of 10
        Event(7, time=26, backend=2),  # another backend
        Event(7, time=27, backend=1),  # repeats: backend 2 was between, not in its own stream
        Event(8, time=28, backend=1),
        Event(7, time=29, backend=1),  # another page was between
    ]
    assert run(EventTrace(events), "lru", 4, correlation_window=10).correlated == 2
    assert run(EventTrace(events), "lru", 4, correlation_window=15).correlated == 3
    assert run(EventTrace(events), "lru", 4).correlated == 0


def test_flags_of_the_trace_are_heeded() -> None:
    events = [Event(1), Event(2), Event(1, flags=Flag.CORRELATED), Event(3), Event(1)]
    assert run(EventTrace(events), "lru", 2).misses == 4
    assert run(EventTrace([e._replace(flags=0) for e in events]), "lru", 2).misses == 3


def test_relations_are_named() -> None:
    events = [Event(page_number(5, 1)), Event(page_number(6, 1)), Event(page_number(5, 1, fork=2))]
    result = run(EventTrace(events, relations={5: "accounts"}), "lru", 4, per_relation=True)
    assert [(r.name, r.fork, r.requests) for r in result.relations] == [
        ("accounts", 0, 1),
        ("accounts", 2, 1),
        ("6", 0, 1),
    ]


def test_forget_to_the_end_of_a_fork_leaves_the_others() -> None:
    pages = [page_number(1, block, fork) for fork in (0, 1) for block in (0, 1, 2)]
    forget = Event(page_number(1, 1), Kind.FORGET)
    events = [Event(page) for page in pages] + [forget] + [Event(page) for page in pages]
    for policy in ("lru", "opt"):
        result = run(EventTrace(events), policy, 10)
        assert (result.forgotten, result.misses) == (2, 8)


def test_results_as_json_begin_with_the_promised_keys() -> None:
    result = run(zipf(50, 500), "clock:max_usage=2", 10, interval=100, per_relation=True)
    record = result.to_json()
    assert list(record)[:9] == [
        "trace", "policy", "params", "frames", "requests", "misses", "hit_ratio", "seconds", "seed",
    ]  # fmt: skip
    assert record["params"] == {"max_usage": 2, "initial": 1}
    assert len(record["series"]) == 5
    assert record["relations"][0]["requests"] == 500


def test_opt_cannot_be_resized() -> None:
    with pytest.raises(TidepoolError, match="only pools of online policies can be resized"):
        run(zipf(10, 10), "opt", 4, resize=((3, 2),))


def test_empty_chunks_are_passed_over() -> None:
    trace = EventTrace([Event(1), Event(1)], cuts=(0, 0, 1, 1, 2))
    for policy in ("lru", "opt"):
        assert run(trace, policy, 1).misses == 1


def test_pages_of_64_bits() -> None:
    pages = np.array([2**64 - 1, 0, 2**63, 2**64 - 1, 2**63], dtype=np.uint64)
    events = [Event(int(page)) for page in pages]
    for policy in ("lru", "arc", "opt"):
        assert run(EventTrace(events), policy, 3).misses == 3


# ---- scans ----


def test_a_registry_as_small_as_a_servers() -> None:
    """Scans that find no place are not predicted; with enough places there is no difference."""
    trace = RedsetLike(pages=3000, seed=1)
    plenty, few, many = (run(trace, "pbm", 300, scans=scans).misses for scans in (0, 1, 4096))
    assert few > 1.01 * plenty
    assert many == plenty
    with pytest.raises(TidepoolError, match="scans must be from 0 to 65536"):
        Options(scans=65537)


# ---- why pages were evicted ----


def reasons(result: Result) -> tuple[int, int, int, int]:
    return (
        result.predicted_evictions,
        result.frequency_evictions,
        result.recency_evictions,
        result.premature_evictions,
    )


@pytest.mark.parametrize("policy", ["pbm", "pbm_pq"])
def test_why_pages_were_evicted(policy: str) -> None:
    """Each eviction has a reason: scans alone go by prediction, lookups never do."""
    scans = TpchScans(pages=400, streams=3, queries=3, seed=1)
    result = run(scans, policy, 100)
    predicted, frequency, recency, premature = reasons(result)
    assert predicted > 0 and predicted + frequency + recency == result.misses - 100
    assert premature <= predicted
    lookups = run(zipf(100, 2000), policy, 10)
    predicted, frequency, recency, premature = reasons(lookups)
    assert frequency + recency == lookups.misses - 10
    assert (predicted, premature) == (0, 0)
    assert reasons(run(scans, "lru", 100)) == (0, 0, 0, 0)
    assert result.to_json()["predicted_evictions"] == result.predicted_evictions
