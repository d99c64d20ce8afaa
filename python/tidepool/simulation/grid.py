"""Grids of policies, sizes and traces on all cores, or on a cluster.

Work is handed to a concurrent.futures Executor as picklable jobs.  A job
streams its trace once, through all its cells.  The replay loops release the
interpreter lock, so threads run on all cores; ``dask.distributed``'s
``Client.get_executor()`` runs the same jobs on a cluster, whose workers must
be able to open the trace under the same name.  Results depend on nothing but
trace, policy, size, seed and options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    as_completed,
)
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import NamedTuple

from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec
from tidepool.simulation.events import references
from tidepool.simulation.future import Future as NextUses
from tidepool.simulation.options import Options
from tidepool.simulation.replay import Replay, frames_made, is_as_recorded, replay_bytes
from tidepool.simulation.results import Result
from tidepool.simulation.sampled import SampledReplay
from tidepool.simulation.sampler import SampledChunk, Sampler
from tidepool.simulation.sizes import count_pages
from tidepool.simulation.ssd import Ssd, Tier, tier_bytes
from tidepool.traces.model import Chunk, Trace

COUNTED_BYTES = 1 << 26  # of a cache: above, counting the trace's pages is worth a pass

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Cell:
    """One replay to be made of a trace."""

    spec: PolicySpec
    frames: int
    seed: int = 0
    ssd: Ssd | None = None

    @property
    def offline(self) -> bool:
        """Whether it needs to know the future."""
        return self.spec.policy.handle is None


@dataclass(frozen=True)
class Job:
    """Cells that are replayed together in one pass over a trace.

    ``pages`` is an upper bound of the trace's pages, if known.
    """

    trace: Trace
    cells: tuple[Cell, ...]
    options: Options
    pages: int | None = None


class _Memory(NamedTuple):
    """What cells have in common that share the replay of memory."""

    cell: Cell  # without the SSD
    at_eviction: bool  # of the SSD

    @classmethod
    def of(cls, cell: Cell) -> _Memory:
        return cls(replace(cell, ssd=None), cell.ssd is not None and cell.ssd.at_eviction)


def run_job(job: Job, progress: Progress | None = None) -> list[Result]:
    """Replay a job; return a result per cell, in their order.

    ``progress`` is told the number of events times cells that were done; of
    a sampled replay, the whole trace's events.  Cells that differ in their SSD
    alone share the replay of memory, if pages come to it at the same time.
    """
    offline = any(cell.offline for cell in job.cells)
    _check_memory(job)
    replays: dict[_Memory, Replay | SampledReplay] = {}
    tiers: dict[Cell, Tier] = {}
    for cell in job.cells:
        memory = _Memory.of(cell)
        replay = replays.get(memory) or _replay(cell, job)
        replays[memory] = replay
        if cell.ssd is not None:
            tiers[cell] = _attached(replay, cell.ssd)
    steps = len(job.cells) / len(replays)
    position = total = 0
    with NextUses() as future:
        if offline:
            for _, chunk, _ in _parts(job):
                future.feed(chunk)
                if progress:
                    progress(0)
        for whole, chunk, part in _parts(job):
            next_use = future.next_use(position, len(chunk)) if offline else None
            for memory, replay in replays.items():
                known = next_use if memory.cell.offline else None
                if isinstance(replay, SampledReplay):
                    assert part is not None
                    replay.feed(position, part, known)
                else:
                    replay.feed(position, chunk, known)
                if progress:
                    progress(round(len(whole) * steps))
            total += references(whole)
            position += len(chunk)
    results = {
        memory: replay.result(job.trace, total)
        if isinstance(replay, SampledReplay)
        else replay.result(job.trace)
        for memory, replay in replays.items()
    }
    return [
        replace(results[_Memory.of(cell)], ssd=tiers[cell].result() if cell in tiers else None)
        for cell in job.cells
    ]


def _parts(job: Job) -> Iterator[tuple[Chunk, Chunk, SampledChunk | None]]:
    """Yield each chunk, what is replayed of it, and, if that is a sample, its place."""
    options = job.options
    if options.sampling is None:
        yield from ((chunk, chunk, None) for chunk in job.trace.chunks())
        return
    sampler = Sampler(options.sampling, options.correlation_window)
    for whole in job.trace.chunks():
        part = sampler.take(whole)
        yield whole, part.chunk, part


def _replay(cell: Cell, job: Job) -> Replay | SampledReplay:
    what = (cell.spec, cell.frames, cell.seed, job.options)
    if job.options.sampling is not None:
        return SampledReplay(*what, job.options.sampling, job.pages)
    as_recorded = is_as_recorded(job.trace.recorded, cell.spec, cell.frames, job.options)
    return Replay(*what, pages=job.pages, as_recorded=as_recorded)


def _attached(replay: Replay | SampledReplay, ssd: Ssd) -> Tier:
    if isinstance(replay, SampledReplay):
        raise TidepoolError("a tier on an SSD cannot be sampled", "Leave out the sampling.")
    return replay.attach(ssd)


def _check_memory(job: Job) -> None:
    """Raise MemoryError if the replays cannot fit: the system would end the process instead."""
    most = [_most_frames(cell, job.options, job.pages) for cell in job.cells]
    needed = sum(
        replay_bytes(cell.spec, frames) for cell, frames in zip(job.cells, most, strict=True)
    )
    needed += sum(tier_bytes(cell.ssd) for cell in job.cells if cell.ssd is not None)
    most += [cell.ssd.frames for cell in job.cells if cell.ssd is not None]
    if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise MemoryError(f"{needed / 2**30:.0f} GB are needed for caches of {max(most)} frames")


def _most_frames(cell: Cell, options: Options, pages: int | None) -> int:
    """Return how many frames the cell's cache has at most."""
    rate = options.sampling.rate if options.sampling else 1
    asked = max(cell.frames, *(size for _, size in options.resize), 1)
    return frames_made(max(1, round(rate * asked)), options, pages)


def bound_of_pages(
    trace: Trace, cells: Sequence[Cell], options: Options, executor: Executor | None = None
) -> int | None:
    """Return an upper bound of the trace's pages, which is also one of the frames a cache needs.

    The number of events is a bound; if a cache that large would still take more
    than COUNTED_BYTES, the pages are counted in a pass over the trace.
    """

    def needed(pages: int | None) -> int:
        frames = [(cell.spec, _most_frames(cell, options, pages)) for cell in cells]
        return max((replay_bytes(*each) for each in frames), default=0)

    if options.resize or needed(trace.length) <= COUNTED_BYTES:
        return trace.length
    if executor is not None:
        return executor.submit(count_pages, trace).result()
    return count_pages(trace)


def plan(
    trace: Trace,
    cells: Sequence[Cell],
    options: Options,
    workers: int,
    pages: int | None = None,
) -> list[Job]:
    """Split the cells of a trace into jobs, about two per worker; each cell is done once.

    Offline cells stay together: they share the look ahead.  Cells are dealt
    out from the largest down, so that jobs are of similar size.
    """
    cells = list(dict.fromkeys(cells))
    offline = tuple(cell for cell in cells if cell.offline)
    online = sorted((cell for cell in cells if not cell.offline), key=lambda cell: -cell.frames)
    count = max(1, min(len(online), 2 * workers))
    jobs = [Job(trace, offline, options, pages)] if offline else []
    for i in range(count):
        if mine := tuple(online[i::count]):
            jobs.append(Job(trace, mine, options, pages))
    return jobs


def simulate(
    work: Iterable[tuple[Trace, Sequence[Cell]]],
    options: Options | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    pages: Sequence[int | None] | None = None,
) -> list[Result]:
    """Replay all cells of all traces; return the results in the order given.

    Without an executor, as many threads as there are cores (or ``workers``)
    are used.  ``progress`` is called, from any of those threads, with the
    events times cells done; on another executor, once per finished job.
    ``pages`` holds the distinct pages of each trace, where known; where not,
    they may be counted (bound_of_pages).
    """
    options = options or Options()
    work = [(trace, tuple(cells)) for trace, cells in work]
    bounds = [
        known if known is not None else bound_of_pages(trace, cells, options, executor)
        for (trace, cells), known in zip(work, pages or [None] * len(work), strict=True)
    ]
    stopped = Event()

    def report(done: int) -> None:
        if stopped.is_set():
            raise CancelledError
        if progress:
            progress(done)

    workers = workers or os.cpu_count() or 1
    jobs = [
        (i, job)
        for i, (trace, cells) in enumerate(work)
        for job in plan(trace, cells, options, workers, bounds[i])
    ]
    if executor is not None:
        found = _run(executor, jobs, run_job, progress)
    else:
        with ThreadPoolExecutor(workers) as threads:
            try:
                found = _run(threads, jobs, partial(run_job, progress=report), None)
            except BaseException:
                stopped.set()  # the jobs that are running, so that leaving does not wait for them
                raise
    return [found[i, cell] for i, (_, cells) in enumerate(work) for cell in cells]


def _run(
    executor: Executor,
    jobs: Sequence[tuple[int, Job]],
    function: Callable[[Job], list[Result]],
    progress: Progress | None,
) -> dict[tuple[int, Cell], Result]:
    futures: dict[Future[list[Result]], tuple[int, Job]] = {
        executor.submit(function, job): (i, job) for i, job in jobs
    }
    found = {}
    try:
        for future in as_completed(futures):
            i, job = futures[future]
            for cell, result in zip(job.cells, future.result(), strict=True):
                found[i, cell] = result
            if progress:
                progress((job.trace.length or 0) * len(job.cells))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return found
