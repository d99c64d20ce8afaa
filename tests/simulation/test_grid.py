"""Grids: the same results whoever computes them, in the order asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from simulation.generated import Event, EventTrace, PageTrace, phases, zipf
from tidepool import parse_policy
from tidepool.errors import TraceError
from tidepool.simulation import Cell, Options, Result, Sampling, simulate
from tidepool.simulation.grid import plan
from tidepool.traces import Chunk, Kind, Trace

TRACES = [zipf(300, 9000), phases(300, 9000)]
CELLS = [
    Cell(parse_policy(spec), frames, seed)
    for spec in ("arc", "opt", "clock:max_usage=2", "lru")
    for frames in (200, 10, 50)
    for seed in (0, 7)
]
WORK = [(trace, CELLS) for trace in TRACES]


def facts(results: list[Result]) -> list[tuple[object, ...]]:
    return [
        (r.trace, r.policy, tuple(r.params.items()), r.frames, r.requests, r.misses, r.seed)
        for r in results
    ]


def test_results_come_in_the_order_asked_for() -> None:
    found = [(r.trace, r.policy, r.frames, r.seed) for r in simulate(WORK)]
    assert found == [
        (trace.name, cell.spec.policy.name, cell.frames, cell.seed)
        for trace in TRACES
        for cell in CELLS
    ]


@pytest.mark.parametrize("options", [Options(), Options(warmup=500, sampling=Sampling(0.5, 3))])
def test_workers_and_executors_make_no_difference(options: Options) -> None:
    expected = facts(simulate(WORK, options, workers=1))
    assert facts(simulate(WORK, options, workers=2)) == expected
    assert facts(simulate(WORK, options, workers=9)) == expected
    with ThreadPoolExecutor(2) as threads:
        assert facts(simulate(WORK, options, threads)) == expected


def test_jobs_can_be_sent_to_other_processes() -> None:
    events = [Event(i * i % 37, Kind.WRITE) for i in range(300)]
    trace = EventTrace(events, relations={0: "t"})
    cells = [Cell(parse_policy(spec), 10) for spec in ("clock:max_usage=1,initial=0", "opt")]
    options = Options(interval=50, per_relation=True)
    with ProcessPoolExecutor(1) as processes:
        found = simulate([(trace, cells)], options, processes)
    assert facts(found) == facts(simulate([(trace, cells)], options))
    assert found[0].relations[0].name == "t"
    assert found[0].series is not None


def test_jobs_cover_each_cell_once() -> None:
    for workers in (1, 2, 5):
        jobs = plan(TRACES[0], [*CELLS, *CELLS], Options(), workers)
        assert sorted(map(str, (cell for job in jobs for cell in job.cells))) == sorted(
            map(str, CELLS)
        )
        assert sum(any(cell.offline for cell in job.cells) for job in jobs) == 1


@pytest.mark.parametrize("sampling", [None, Sampling(0.3)])
def test_progress_adds_up_to_events_times_cells(sampling: Sampling | None) -> None:
    done = []
    simulate(WORK, Options(sampling=sampling), progress=done.append)
    assert sum(done) == sum(trace.length or 0 for trace in TRACES) * len(CELLS)
    done.clear()
    with ThreadPoolExecutor(2) as threads:
        simulate(WORK, Options(sampling=sampling), threads, progress=done.append)
    assert sum(done) == sum(trace.length or 0 for trace in TRACES) * len(CELLS)


class DamagedTrace(PageTrace):
    def chunks(self) -> Iterator[Chunk]:
        yield from super().chunks()
        raise TraceError("the end is missing")


@pytest.mark.parametrize("workers", [1, 2])
def test_damage_found_late_is_raised(workers: int) -> None:
    with pytest.raises(TraceError, match="the end is missing"):
        simulate([(DamagedTrace([1, 2, 3]), CELLS)], workers=workers)


class EndlessTrace(Trace):
    name = "endless"

    def __init__(self) -> None:
        self.handed_out = 0
        self.begun = threading.Event()

    def chunks(self) -> Iterator[Chunk]:
        chunk = next(PageTrace(range(100)).chunks())
        while True:
            self.handed_out += 1
            self.begun.set()
            yield chunk


def test_a_failure_stops_the_jobs_that_are_running() -> None:
    """An interrupt must not wait for replays that take hours."""
    endless = EndlessTrace()

    class FailingTrace(PageTrace):
        def chunks(self) -> Iterator[Chunk]:
            endless.begun.wait(10)
            raise KeyboardInterrupt
            yield

    begin = time.monotonic()
    cells = [Cell(parse_policy("lru"), 10)]
    with pytest.raises(KeyboardInterrupt):
        simulate([(endless, cells), (FailingTrace([1]), cells)], workers=2)
    assert time.monotonic() - begin < 5
    stopped = endless.handed_out
    time.sleep(0.05)
    assert endless.handed_out == stopped
