"""What keeps a server from its policy's choice, replayed: pinned pages, hits told late."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation import naive
from simulation.generated import Event, EventTrace, chunk_of, traces
from simulation.modelled import Modelled
from simulation.test_replay import counts_of, run
from tidepool import TidepoolError, parse_policy, policies
from tidepool.generators import TpchScans
from tidepool.simulation import Cell, Options, Sampling, simulate
from tidepool.simulation.replay import Replay
from tidepool.traces import Flag, Kind
from tidepool.traces.scans import read_ahead


def misses(events: list[Event], policy: str = "lru", frames: int = 2, **options: Any) -> int:
    return run(EventTrace(events), policy, frames, **options).misses


def pinned(page: int) -> Event:
    return Event(page, Kind.PINNED)


def unpinned(page: int) -> Event:
    return Event(page, Kind.UNPINNED)


# ---- pins ----


def test_a_pinned_page_is_passed_over() -> None:
    assert misses([Event(1), Event(2), Event(3), Event(1)]) == 4
    assert misses([Event(1), Event(2), pinned(1), Event(3), Event(1)]) == 3


def test_it_is_pinned_until_the_trace_says_otherwise() -> None:
    events = [Event(1), Event(2), pinned(1), pinned(1), Event(3), Event(4), Event(1)]
    assert misses(events) == 4  # 3 and 4 take turns in the other frame
    events.insert(4, unpinned(1))
    assert misses(events) == 5


def test_a_page_that_comes_back_is_not_pinned() -> None:
    forget = Event(1, Kind.FORGET, count=1)
    events = [Event(1), Event(2), pinned(1), forget, Event(1), Event(2), Event(3), Event(1)]
    assert misses(events) == 5
    del events[3]
    assert misses(events) == 3
    events = [Event(1), Event(2), pinned(1), pinned(2), Event(3)]  # 1 goes nevertheless
    events += [unpinned(2), Event(1), Event(3), Event(2), Event(1)]
    assert misses(events) == 6


def test_if_all_are_pinned_one_goes_nevertheless() -> None:
    assert misses([Event(1), Event(2), pinned(1), pinned(2), Event(3), Event(2)]) == 3


def test_pages_that_are_not_there_and_opt_take_no_notice() -> None:
    assert misses([pinned(9), Event(1), Event(2), pinned(9), Event(3), Event(2)]) == 3
    events = [Event(1), Event(2), pinned(1), Event(3), Event(2)]
    assert misses(events, "opt") == misses([e for e in events if e.kind != Kind.PINNED], "opt") == 3


def test_a_page_that_becomes_dirty_is_written_back() -> None:
    events = [Event(1), Event(2), Event(1, Kind.DIRTIED), Event(9, Kind.DIRTIED), Event(3)]
    result = run(EventTrace(events), "lru", 2)
    assert (result.requests, result.misses, result.write_backs) == (3, 3, 1)
    del events[2]
    assert run(EventTrace(events), "lru", 2).write_backs == 0


def test_write_aware_policies_learn_that_pages_become_dirty() -> None:
    """Of pages referenced alike, watt keeps the one that was changed."""
    spec = "watt:write_cost=1000,sample=8,epoch=1"
    events = [Event(1), Event(2), Event(3)]
    for page in (1, 2, 3):
        changed = [*events, Event(page, Kind.DIRTIED), Event(4), Event(page)]
        assert misses(changed, spec, 3) == 4


@st.composite
def with_pins(draw: st.DrawFn, most: int) -> list[Event]:
    """Events in which some references pin their page, at most so many at a time."""
    held: list[int] = []
    events = []
    for event in draw(traces()).events:
        events.append(event._replace(time=None))
        what = draw(st.integers(0, 3))
        if event.kind == Kind.FORGET:
            events += [unpinned(page) for page in held]
            held.clear()
        elif event.is_reference and what == 0 and len(held) < most and event.page not in held:
            held.append(event.page)
            events.append(pinned(event.page))
        elif what == 1 and held:
            events.append(unpinned(held.pop(draw(st.integers(0, len(held) - 1)))))
    return events


@pytest.mark.parametrize("policy", [p.name for p in policies() if p.handle is not None])
@given(events=with_pins(most=3))
def test_every_policy_leaves_pinned_pages_alone(policy: str, events: list[Event]) -> None:
    """A page that was pinned when it was there is found there as long as it is pinned."""
    replay = Replay(parse_policy(policy), 4)
    held: set[int] = set()
    before = replay.totals()
    for position, event in enumerate(events):
        replay.feed(position, chunk_of([event]))
        after = replay.totals()
        if event.is_reference:
            assert event.page not in held or after.misses == before.misses
            refused = after.refused > before.refused
        elif event.kind == Kind.PINNED and not refused:
            held.add(event.page)
        elif event.kind == Kind.UNPINNED:
            held.discard(event.page)
        before = after


FRAMES = 12


def walk_with_pins(most: int, length: int = 500) -> list[Event]:
    """References of which many pin their page, so that most victims are not the first choice."""
    random = Random(most)
    held: list[int] = []
    events = []
    for _ in range(length):
        page = int(5 * FRAMES * random.random() ** 2)
        kind = Kind.WRITE if random.random() < 0.2 else Kind.READ
        events.append(Event(page, kind, random.choice([0, 0, 0, Flag.CORRELATED, Flag.VACUUM])))
        if random.random() < 0.01:
            events.append(Event(random.choice(held or [page]), Kind.FORGET, count=4))
        elif random.random() < 0.4 and len(held) < most and page not in held:
            held.append(page)
            events.append(pinned(page))
        elif random.random() < 0.4 and held:
            events.append(unpinned(held.pop(random.randrange(len(held)))))
    return events


@pytest.mark.parametrize("policy", [p.name for p in policies() if p.handle is not None])
@pytest.mark.parametrize("most", [FRAMES // 2, FRAMES - 1, FRAMES + 2])
def test_pins_count_as_in_the_naive_replay(policy: str, most: int) -> None:
    """Under the policy's model, which is asked for a victim among the pages not pinned."""
    events = walk_with_pins(most)
    result = run(EventTrace(events), policy, FRAMES)
    expected = naive.replay(Modelled(policy, FRAMES), events)
    expected.relations = {}
    assert counts_of(result) == expected
    if not result.refused:  # what is never evicted needs no pin
        free = [event for event in events if event.kind not in (Kind.PINNED, Kind.UNPINNED)]
        assert counts_of(run(EventTrace(free), policy, FRAMES)) != expected


# ---- looks ----


def looks(events: list[Event], policy: str = "lru", frames: int = 3) -> list[int]:
    result = run(EventTrace(events), policy, frames, per_search=True)
    assert result.looks is not None
    return result.looks.tolist()


def test_looks_of_each_search() -> None:
    loads = [Event(1), Event(2), Event(3)]
    assert looks(loads) == []
    assert looks([*loads, Event(4), Event(5)]) == [1, 1]
    two = [*loads, pinned(1), pinned(2)]
    assert looks([*two, Event(4), Event(5), unpinned(1), Event(6)]) == [3, 3, 1]
    assert looks([*two, pinned(3), Event(4)]) == [6]  # all, and all again
    assert looks([*loads, Event(4), Event(5)], "keep") == [0, 0]
    assert looks([*loads, Event(4), Event(5)], "opt") == []
    assert run(EventTrace(loads), "lru", 3).looks is None


@given(events=with_pins(most=3))
def test_to_count_looks_changes_nothing(events: list[Event]) -> None:
    for policy in ("clock", "lirs"):
        counted = run(EventTrace(events), policy, 4, per_search=True)
        assert counted.misses == misses(events, policy, 4)


SAMPLERS = {"random", "hyperbolic", "lean_evict", "watt", "pbm", "page_temperature"}


@pytest.mark.parametrize(
    "policy", [p.name for p in policies() if p.handle is not None and p.name not in SAMPLERS]
)
def test_pinned_pages_are_not_met_again_and_again(policy: str) -> None:
    """Eight scans that read 48 blocks ahead: up to 384 of 1,200 frames are pinned."""
    scans = TpchScans(pages=4000, streams=8, queries=2, speed=1000.0, bitmap=True)
    cell = Cell(parse_policy(policy), 1200)
    (result,) = simulate([(read_ahead(scans, 48), [cell])], Options(per_search=True))
    assert result.looks is not None
    assert len(result.looks) > 10_000
    assert result.looks.mean() <= 4


# ---- queues ----


def misses_of_lru(events: list[Event], frames: int, batch: int) -> int:
    """LRU whose backends queue what they have to tell: page, its frame, whether it came in."""
    stack: list[int] = []  # pages that LRU knows of
    frame_of: dict[int, int] = {}
    queues: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    found = 0

    def commit(backend: int) -> None:
        for page, frame, came_in in queues.pop(backend, []):
            if frame_of.get(page) == frame and (came_in or page in stack):
                if page in stack:
                    stack.remove(page)
                stack.insert(0, page)

    def queue(backend: int, page: int, came_in: bool, size: int) -> None:
        queues[backend].append((page, frame_of[page], came_in))
        if len(queues[backend]) >= size:
            commit(backend)

    for event in events:
        if event.kind == Kind.REPORTED:
            commit(event.backend)
        elif event.page not in frame_of:
            found += 1
            frame = len(frame_of)
            if frame == frames:
                commit(event.backend)
                if not stack:  # all have yet to be told of
                    for backend in sorted(queues):
                        if any(came_in for _, _, came_in in queues[backend]):
                            commit(backend)
                frame = frame_of.pop(stack.pop())
            frame_of[event.page] = frame
            if batch == 0:
                stack.insert(0, event.page)
            else:  # no lock for this alone
                queue(event.backend, event.page, True, max(batch, 2))
        elif not event.flags & (Flag.CORRELATED | Flag.VACUUM):
            queue(event.backend, event.page, False, batch)
    return found


references = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from([Kind.READ, Kind.READ, Kind.READ, Kind.REPORTED]),
        st.sampled_from([0, 0, 0, Flag.CORRELATED]),
        st.none(),
        st.integers(0, 2),
    ),
    max_size=120,
)


@given(rows=references, frames=st.integers(1, 8), batch=st.sampled_from([0, 1, 2, 3, 7, 1024]))
def test_queues_of_hits(
    rows: list[tuple[int, int, int, None, int]], frames: int, batch: int
) -> None:
    events = [Event(*row) for row in rows]
    assert misses(events, frames=frames, batch=batch) == misses_of_lru(events, frames, batch)


@given(rows=references, frames=st.integers(1, 8), batch=st.sampled_from([1, 2, 7, 1024]))
def test_the_clock_has_no_queues(
    rows: list[tuple[int, int, int, None, int]], frames: int, batch: int
) -> None:
    """A server runs PostgreSQL's own."""
    events = [Event(*row) for row in rows]
    queues, none = (misses(events, "clock", frames=frames, batch=n) for n in (batch, 0))
    assert queues == none


def test_a_hit_that_is_told_late_is_lost() -> None:
    events = [Event(1), Event(2), Event(1), Event(3, backend=1), Event(1)]
    assert misses(events) == 3
    assert misses(events, batch=2) == 4
    assert misses(events, "sieve", batch=2) == misses(events, "sieve")  # needs no lock


def test_a_report_makes_it_count() -> None:
    events = [Event(1), Event(2), Event(1), Event(0, Kind.REPORTED), Event(3, backend=1), Event(1)]
    assert misses(events, batch=2) == 3
    events[3] = Event(0, Kind.REPORTED, backend=2)  # has nothing to report
    assert misses(events, batch=2) == 4


def test_batches_that_cannot_be() -> None:
    for batch in (-1, 1025):
        with pytest.raises(TidepoolError, match="batch must be from 0 to 1024"):
            Options(batch=batch)
    with pytest.raises(TidepoolError, match="a sample has no queues of hits"):
        Options(batch=2, sampling=Sampling(0.5))
