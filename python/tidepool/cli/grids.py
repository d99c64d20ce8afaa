"""Replaying grids for a command: traces in turn here, all at once on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tidepool.cli.bar import bar
from tidepool.cli.cluster import Backend
from tidepool.cli.failures import Failures
from tidepool.errors import TidepoolError, TraceError
from tidepool.options import Input
from tidepool.simulation import Cell, Options, Result, simulate


@dataclass(frozen=True)
class Grid:
    """Replays of one trace with one set of options."""

    input: Input
    cells: Sequence[Cell]
    options: Options


Replayed = tuple[Grid, list[Result]]


def replay_grids(
    inputs: Iterable[Input],
    grids_of: Callable[[Input], Iterable[Grid]],
    backend: Backend,
    failures: Failures,
) -> Iterator[Replayed]:
    """Yield each grid of each input with a result per cell, in their order.

    Here a trace is let go of when its grids are done, before the next one is
    read.  A cluster gets all traces with the same options at once, so that its
    workers do not wait for the last replay of each.  A trace that is damaged or
    has nothing to count is reported and skipped.
    """
    grids = _made(inputs, grids_of, failures)
    if backend.executor is None:
        for grid in grids:
            yield from _replay([grid], backend, failures)
    else:
        for _, alike in groupby(grids, key=lambda grid: grid.options):
            yield from _replay(list(alike), backend, failures)


def _made(
    inputs: Iterable[Input], grids_of: Callable[[Input], Iterable[Grid]], failures: Failures
) -> Iterator[Grid]:
    for input in inputs:
        grids: list[Grid] = []
        with failures.reported():
            grids = list(grids_of(input))
        yield from grids


def _replay(grids: Sequence[Grid], backend: Backend, failures: Failures) -> Iterator[Replayed]:
    done: list[Replayed] = []
    each_alone = False
    with failures.reported():
        try:
            done = _results(grids, backend)
        except TraceError:
            if len(grids) == 1:
                raise
            each_alone = True  # one is damaged: find it
    for grid in grids if each_alone else ():
        yield from _replay([grid], backend, failures)
    for grid, results in done:
        with failures.reported():
            if any(result.requests == 0 for result in results):
                raise warmup_too_long(grid.input)
            yield grid, results


def _results(grids: Sequence[Grid], backend: Backend) -> list[Replayed]:
    steps = [(grid.input.trace.length, len(set(grid.cells))) for grid in grids]
    known = [length * cells for length, cells in steps if length is not None]
    total = sum(known) if len(known) == len(steps) else None
    name = grids[0].input.name if len(grids) == 1 else f"{len(grids)} traces"
    with bar(f"simulating {name}", total) as advance:
        results = simulate(
            [(grid.input.trace, grid.cells) for grid in grids],
            grids[0].options,
            backend.executor,
            backend.workers,
            advance,
            [grid.input.known_pages for grid in grids],
        )
    done = []
    for grid in grids:
        mine, results = results[: len(grid.cells)], results[len(grid.cells) :]
        done.append((grid, mine))
    return done


def warmup_too_long(input: Input) -> TidepoolError:
    """Return the error for a trace of which nothing was counted."""
    return TidepoolError(
        f"{input.name}: the trace is not longer than the warm-up",
        "Lower --warmup, or give it as a share (20%).",
    )
