"""Which references missed, one by one: they add up to the totals, under every policy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.generated import EventTrace, traces, zipf
from tidepool import parse_policy, policies
from tidepool.simulation import Layout, LayoutReplay, Options, PoolSpec
from tidepool.simulation.events import positioned
from tidepool.simulation.future import Future
from tidepool.simulation.replay import Replay
from tidepool.traces import Chunk
from tidepool.traces.columns import references

NAMES = [policy.name for policy in policies()]


@given(traces(), st.sampled_from(NAMES), st.integers(1, 8), st.integers(0, 20))
def test_they_add_up(trace: EventTrace, policy: str, frames: int, warmup: int) -> None:
    replay = Replay(parse_policy(policy), frames, 0, Options(warmup=warmup), per_event=True)
    everything = Replay(parse_policy(policy), frames, 0, Options())
    missed = 0
    for position, chunk in positioned(trace):
        replay.feed(position, chunk)
        everything.feed(position, chunk)
        rows = replay.missed()
        assert len(rows) == len(chunk)
        assert not rows[~references(chunk)].any()
        missed += int(rows.sum())
    assert missed == everything.result(trace).misses  # those of the warm-up, too


def test_of_lru_by_hand() -> None:
    replay = Replay(parse_policy("lru"), 2, per_event=True)
    for pages, expected in (([1, 2, 1, 3], "mmhm"), ([1, 2, 2], "hmh"), ([3], "m")):
        replay.feed(0, Chunk(np.array(pages, np.uint64)))
        assert "".join("m" if miss else "h" for miss in replay.missed()) == expected


def test_of_opt() -> None:
    trace = zipf(50, 2000)
    replay = Replay(parse_policy("opt"), 10, per_event=True)
    missed = 0
    with Future() as future:
        for _, chunk in positioned(trace):
            future.feed(chunk)
        for position, chunk in positioned(trace):
            replay.feed(position, chunk, future.next_use(position, len(chunk)))
            missed += int(replay.missed().sum())
    assert missed == replay.result(trace).misses > 0


@pytest.mark.parametrize("policy", ["clock", "arc", "pbm"])
def test_of_a_layout(policy: str) -> None:
    trace = zipf(200, 4000)
    spec = parse_policy(policy)
    layout = Layout(spec, 60, (PoolSpec("hot", spec, 20, (0,)),))
    replay = LayoutReplay(layout, per_event=True)
    missed = 0
    for position, chunk in positioned(trace):
        replay.feed(position, chunk)
        missed += int(replay.missed().sum())
    assert missed == replay.result(trace).misses > 0
