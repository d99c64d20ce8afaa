"""Grids replayed."""

from __future__ import annotations

from collections.abc import Sequence

from tidepool.experiments.backend import Backend
from tidepool.experiments.plan import Grid
from tidepool.simulation import Result, simulate

Replayed = tuple[Grid, list[Result]]


def replayed(grids: Sequence[Grid], where: Backend) -> list[Replayed]:
    """Replay grids with the same options; return each with a result per cell."""
    steps = [(grid.input.trace.length, len(set(grid.cells))) for grid in grids]
    known = [length * cells for length, cells in steps if length is not None]
    total = sum(known) if len(known) == len(steps) else None
    name = grids[0].input.name if len(grids) == 1 else f"{len(grids)} traces"
    with where.bar(f"simulating {name}", total) as advance:
        results = simulate(
            [(grid.input.trace, grid.cells) for grid in grids],
            grids[0].options,
            where.executor,
            where.workers,
            advance,
            [grid.input.known_pages for grid in grids],
        )
    done = []
    for grid in grids:
        mine, results = results[: len(grid.cells)], results[len(grid.cells) :]
        done.append((grid, mine))
    return done
