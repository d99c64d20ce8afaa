"""Replays of what a server ran, which report, choose and give up when its processes did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulation.generated import Event, chunk_of
from tidepool import parse_policy
from tidepool.simulation import (
    Cell,
    Layout,
    Options,
    PoolSpec,
    recorded_layout,
    simulate,
    simulate_layouts,
)
from tidepool.traces import Flag, InMemoryTrace, Kind
from tidepool.traces.provenance import Recorded, RecordedPool

FRAMES = 2
FULL = [Event(1), Event(2)]  # 1 is colder
# nobody knows that they came in until they were reported
REPORT = Event(0, Kind.REPORTED)


def trace_of(events: list[Event], policy: str = "lru", **recorded: object) -> InMemoryTrace:
    ran = Recorded("18.6", policy, "", 1, FRAMES, 64, 32, 1.0, dropped=0, reports=True)
    return InMemoryTrace("recorded", [chunk_of(events)], recorded=replace(ran, **recorded))  # type: ignore[arg-type]


def missed(
    events: list[Event], policy: str = "lru", batch: int = 32, seed: int = 1, **recorded: object
) -> int:
    trace = trace_of(events, policy, **recorded)
    frames = trace.recorded.buffers  # type: ignore[union-attr]
    cell = Cell(parse_policy(policy), frames, seed)
    (result,) = simulate([(trace, [cell])], Options(batch=batch))
    return result.misses


def chosen(page: int, backend: int = 1, flags: int = 0) -> Event:
    return Event(page, Kind.CHOSEN, flags, backend=backend)


def given_up(backend: int = 1, flags: int = 0) -> Event:
    return Event(3, Kind.GIVEN_UP, flags, backend=backend)


def left(backend: int = 1) -> Event:
    return Event(3, Kind.LEFT, backend=backend)


def test_who_chooses_does_not_learn_of_what_comes_later() -> None:
    later = [Event(1), REPORT, Event(3, backend=1)]
    assert missed([*FULL, REPORT, chosen(3), *later, Event(2)]) == 3  # 1 leaves
    assert missed([*FULL, REPORT, chosen(3), *later, Event(1)]) == 4
    assert missed([*FULL, REPORT, *later, Event(2)]) == 4
    assert missed([*FULL, REPORT, *later, Event(1)]) == 3


@pytest.mark.parametrize("policy", ["lru", "clock", "random"])
def test_a_page_is_found_until_it_leaves(policy: str) -> None:
    events = [*FULL, REPORT, chosen(3), Event(1), Event(2)]
    assert missed(events, policy) == 2
    for leaves in (left(), Event(3, backend=1)):
        found = [missed([*events, leaves, Event(page)], policy) for page in (1, 2)]
        others = leaves.kind == Kind.READ
        assert sorted(found) == [2 + others, 3 + others]


def test_a_page_whose_frame_is_given_up_stays() -> None:
    events = [*FULL, REPORT, chosen(3), Event(1), given_up(), Event(1), Event(2)]
    assert missed(events) == 2
    # once backend 1 has reported it, 1 is in its old place: the next to go
    again = [chosen(3), Event(3, backend=1)]
    for before in (events, [*FULL, REPORT, chosen(3), given_up()]):
        assert missed([*before, *again, Event(2)]) == 3
        assert missed([*before, *again, Event(1)]) == 4


@pytest.mark.parametrize("policy", ["lru", "clock", "random"])
def test_a_page_that_ceases_to_exist_after_it_was_chosen(policy: str) -> None:
    forgotten = Event(0, Kind.FORGET)  # all
    events = [*FULL, REPORT, chosen(3), forgotten]
    for after in ([left()], [given_up()], [given_up(flags=Flag.FREED)], []):
        comes = [*events, *after, Event(3, backend=1), Event(4), Event(3), Event(4)]
        assert missed(comes, policy) == 4
        assert missed([*comes, chosen(5), Event(5, backend=1), Event(5)], policy) == 5


def test_a_choice_of_which_no_more_is_said_is_given_up() -> None:
    assert missed([*FULL, REPORT, chosen(3), chosen(4), Event(4, backend=1), Event(2)]) == 3


@pytest.mark.parametrize("policy", ["lru", "clock"])
def test_a_choice_that_is_not_needed_here_is_given_up(policy: str) -> None:
    """Where the replay has another past than the server, the page may be there."""
    events = [*FULL, REPORT, chosen(3), left(), Event(2, backend=1), Event(4)]
    assert missed([*events, Event(2), Event(4)], policy) == 3  # the empty frame took 4


def test_nobody_else_chooses_a_frame_that_is_chosen() -> None:
    events = [*FULL, chosen(3, 1), chosen(4, 2), Event(3, backend=1), Event(4, backend=2)]
    for seed in range(8):
        assert missed([*events, Event(3), Event(4)], "random", seed=seed) == 4
        again = [chosen(3, 1), given_up(1), chosen(3, 2), Event(3, backend=2)]
        assert missed([*FULL, *again, Event(3)], "random", seed=seed) == 3


# ---- random numbers ----

PAGES = np.random.default_rng(1).integers(0, 40, 2000).tolist()


def at_random(before: list[Event], backend: int = 1, seed: int = 1) -> int:
    events = [*before, *[Event(page, backend=backend) for page in PAGES]]
    return missed(events, "random", seed=seed, buffers=20, reports=False)


@pytest.mark.parametrize("backend", [0, 1])
def test_each_process_has_its_own(backend: int) -> None:
    def process(former: int) -> list[Event]:
        return [Event(0, Kind.PROCESS, backend=backend, count=former)]

    found = [at_random(process(former), backend) for former in range(4)]
    assert found[0] == at_random([], backend) and len(set(found)) > 1
    other = [Event(0, Kind.PROCESS, backend=7, count=1)]
    assert at_random([*process(3), *other], backend) == found[3]
    used = [Event(page, backend=backend) for page in PAGES[:200]]
    later = {at_random([*process(2), *used, *process(former)], backend) for former in range(4)}
    assert len(later) > 1


def test_a_frame_that_was_freed_goes_to_who_has_not_chosen() -> None:
    freed = given_up(flags=Flag.FREED)
    events = [*FULL, REPORT, chosen(3, 1), chosen(3, 2), Event(3, backend=2), freed, Event(4)]
    assert missed(events) == 4
    assert missed([*events, Event(3), Event(4)]) == 4
    assert missed([*FULL, REPORT, chosen(3), freed, Event(4), Event(2), Event(4)]) == 3


def test_a_search_that_goes_on_has_moved_its_hand() -> None:
    in_use = chosen(3, flags=Flag.IN_USE)
    events = [chosen(3), Event(3, backend=1)]
    assert missed([*FULL, *events, Event(2)], "clock") == 3
    assert missed([*FULL, in_use, *events, Event(1)], "clock") == 3
    assert (
        missed([*FULL, REPORT, in_use, Event(2)]) == missed([*FULL, REPORT, in_use, Event(1)]) == 2
    )


def test_reports_of_full_queues() -> None:
    """They are what counts, not how much is queued; in other replays that does."""
    due = Event(0, Kind.REPORTED, Flag.DUE)
    events = [*FULL, REPORT, Event(1), due, chosen(3), Event(3, backend=1), Event(1)]
    assert missed(events) == 3
    assert missed(events, reports=False) == 4
    del events[4]
    assert missed(events) == 4
    many = [*FULL, REPORT, *[Event(1), Event(2)] * 20, Event(1)]
    many += [chosen(3), Event(3, backend=1)]
    assert missed([*many, Event(2)]) == 3  # 1 goes: nobody has heard of the hits
    assert missed([*many, Event(1)]) == 4
    assert missed([*many, Event(1)], reports=False) == 4  # 32 of 41 were reported


@pytest.mark.parametrize("other", ["policy", "frames", "batch"])
def test_in_replays_of_anything_else_choices_are_their_own(other: str) -> None:
    events = [*FULL, REPORT, chosen(3), Event(1), REPORT, Event(3, Kind.WRITE, backend=1)]
    events += [Event(1), Event(2), Event(0, Kind.REPORTED, backend=1), given_up(), left(), Event(1)]
    trace = trace_of(events, "fifo" if other == "policy" else "lru")
    trace_without = trace_of([e for e in events if e.kind < Kind.CHOSEN], "lru", reports=False)
    cell = Cell(parse_policy("lru"), 1 if other == "frames" else FRAMES, 1)
    options = Options(batch=3 if other == "batch" else 32)
    (found,) = simulate([(trace, [cell])], options)
    (expected,) = simulate([(trace_without, [cell])], options)
    assert (found.misses, found.write_backs) == (expected.misses, expected.write_backs)


def test_choices_in_pools() -> None:
    """Each is that of one pool's algorithm."""
    pools = tuple(
        RecordedPool(number, name, "lru", "", buffers)
        for number, name, buffers in ((0, "DEFAULT", 2), (1, "hot", 2))
    )
    events = [*FULL, REPORT, chosen(3), Event(1), REPORT, Event(3, backend=1), Event(1)]
    trace = trace_of(events, buffers=4, pools=pools)
    (chunk,) = trace.chunks()
    numbered = InMemoryTrace(
        "pools",
        [replace(chunk, pool=np.ones(len(chunk), np.uint8))],
        recorded=trace.recorded,
    )
    layout = recorded_layout(trace.recorded)  # type: ignore[arg-type]
    (result,) = simulate_layouts(numbered, [layout], 1, Options(batch=32))
    assert [pool.misses for pool in result.pools] == [0, 4]
    lru = parse_policy("lru")
    own = Layout(lru, 4, (PoolSpec("hot", lru, 2, (0,)),))
    (result,) = simulate_layouts(numbered, [own], 1, Options(batch=32))
    assert [pool.misses for pool in result.pools] == [0, 3]
