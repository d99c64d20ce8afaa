"""OPT: against a naive one, against an exhaustive search, and never beaten."""

from __future__ import annotations

import errno
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation import naive
from simulation.generated import Event, EventTrace, PageTrace, looping, phases, traces, zipf
from simulation.test_replay import run
from tidepool import PolicySpec, TidepoolError, parse_policy, policies
from tidepool.simulation import Cell, simulate
from tidepool.simulation.future import Future
from tidepool.traces import Kind, Trace

OPTS = (parse_policy("opt"), parse_policy("opt:bypass=on"))


@given(trace=traces(), frames=st.integers(1, 8), warmup=st.integers(0, 20), bypass=st.booleans())
def test_opt_misses_as_the_naive_one(
    trace: EventTrace, frames: int, warmup: int, bypass: bool
) -> None:
    result = run(trace, f"opt:bypass={'on' if bypass else 'off'}", frames, warmup=warmup)
    expected = naive.replay(naive.OPT(frames, trace.events, bypass), trace.events, warmup)
    assert (result.requests, result.misses, result.refused) == (
        expected.requests,
        expected.misses,
        expected.refused,
    )


def fewest_misses(events: tuple[Event, ...], frames: int, bypass: bool) -> int:
    """By trying every victim at every miss."""

    @cache
    def from_here(i: int, resident: frozenset[int]) -> int:
        if i == len(events):
            return 0
        event = events[i]
        if event.kind == Kind.FORGET:
            return from_here(i + 1, frozenset(p for p in resident if not naive.forgets(event, p)))
        if not event.is_reference or event.page in resident:
            return from_here(i + 1, resident)
        choices = [resident - {p} for p in resident] if len(resident) == frames else [resident]
        after = [from_here(i + 1, rest | {event.page}) for rest in choices]
        if bypass:
            after.append(from_here(i + 1, resident))
        return 1 + min(after)

    return from_here(0, frozenset())


@given(
    trace=traces(plain=True, max_size=24),
    frames=st.integers(1, 3),
    bypass=st.booleans(),
)
def test_no_choice_of_victims_misses_less(trace: EventTrace, frames: int, bypass: bool) -> None:
    result = run(trace, f"opt:bypass={'on' if bypass else 'off'}", frames)
    assert result.misses == fewest_misses(tuple(trace.events), frames, bypass)


def assert_never_beaten(trace: Trace, frames: int) -> None:
    """Demand paging has to admit what it misses.

    A policy that refuses pages (keep does) is not bound to that, and may
    miss less than the best that is: it is measured against OPT with bypass.
    """
    online = [PolicySpec(policy) for policy in policies()]
    cells = [Cell(spec, frames) for spec in (*OPTS, *online)]
    opt, bypass, *results = simulate([(trace, cells)], workers=1)
    assert bypass.misses <= opt.misses
    for result in results:
        best = bypass if result.refused else opt
        assert best.misses <= result.misses, result.policy


@given(trace=traces(), frames=st.integers(1, 10))
def test_no_policy_misses_less(trace: EventTrace, frames: int) -> None:
    assert_never_beaten(trace, frames)


@pytest.mark.parametrize("trace", [zipf(300, 8000), phases(300, 8000), looping(300, 8000)])
@pytest.mark.parametrize("frames", [3, 30, 150, 299])
def test_longer_traces(trace: Trace, frames: int) -> None:
    assert_never_beaten(trace, frames)


def test_forgotten_pages_make_way_first() -> None:
    """A page that will be dropped before it is referenced again is worth nothing."""
    a, b, c = 1, 2, 3
    events = [
        Event(a), Event(b), Event(c),  # c takes the place of a, though a is referenced sooner
        Event(a, Kind.FORGET, count=1),
        Event(a), Event(b),
    ]  # fmt: skip
    assert run(EventTrace(events), "opt", 2).misses == 4


@pytest.mark.parametrize("bypass", ["on", "off"])
def test_look_ahead_in_a_file_equals_that_in_memory(
    bypass: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = zipf(5000, 40000)
    trace.rows = 1 << 12
    expected = run(trace, f"opt:bypass={bypass}", 500).misses
    monkeypatch.setattr("tidepool.simulation.future.FIRST_ROOM", 1 << 10)
    monkeypatch.setattr("tidepool.simulation.grid.NextUses", lambda: Future(in_memory_events=3000))
    assert run(trace, f"opt:bypass={bypass}", 500).misses == expected


def test_no_room_for_the_look_ahead_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    monkeypatch.setattr("tidepool.simulation.grid.NextUses", lambda: Future(in_memory_events=0))
    trace = PageTrace(np.arange(1 << 21), rows=1 << 20)
    with pytest.raises(TidepoolError, match="No space left") as raised:
        run(trace, "opt", 10)
    assert raised.value.hint is not None and "TMPDIR" in raised.value.hint


def test_warmup_and_series_of_opt() -> None:
    trace = zipf(300, 10000)
    whole = run(trace, "opt", 50, interval=1000)
    late = run(trace, "opt", 50, warmup=4000)
    assert whole.series is not None
    misses = ((1 - whole.series) * 1000).round()
    assert misses.sum() == whole.misses
    assert misses[4:].sum() == late.misses
