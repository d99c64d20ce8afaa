"""Replaying grids for a command: traces in turn here, all at once on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tidepool.cli.bar import bar
from tidepool.cli.cluster import Backend
from tidepool.cli.inputs import Input
from tidepool.errors import TidepoolError
from tidepool.simulation import Cell, Options, Result, simulate


@dataclass(frozen=True)
class Grid:
    """Replays of one trace with one set of options."""

    input: Input
    cells: Sequence[Cell]
    options: Options


def replay_grids(grids: Iterable[Grid], backend: Backend) -> Iterator[tuple[Grid, list[Result]]]:
    """Yield each grid with a result per cell, in their order.

    Here a trace is let go of when its grid is done, before the next one is
    read.  A cluster gets the traces that are replayed alike together, so that
    its workers need not wait for the last replay of each.
    """
    if backend.executor is None:
        for grid in grids:
            yield from _run([grid], backend)
    else:
        for _, alike in groupby(grids, key=lambda grid: grid.options):
            yield from _run(list(alike), backend)


def _run(grids: Sequence[Grid], backend: Backend) -> Iterator[tuple[Grid, list[Result]]]:
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
        )
    for grid in grids:
        mine, results = results[: len(grid.cells)], results[len(grid.cells) :]
        if any(result.requests == 0 for result in mine):
            raise warmup_too_long(grid.input)
        yield grid, mine


def warmup_too_long(input: Input) -> TidepoolError:
    """Return the error that nothing of a trace was counted."""
    return TidepoolError(
        f"{input.name}: the trace is not longer than the warm-up",
        "Lower --warmup, or give it as a share (20%).",
    )
