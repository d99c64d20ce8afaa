"""Replays of the recordings, and how they compare with what the server counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tidepool.amounts import count, percent, percent_change
from tidepool.cli.printing import print_table
from tidepool.demo.live import Run
from tidepool.plots import Point, Reads
from tidepool.policies import parse_policy
from tidepool.simulation import Cell, Curve, Options, Result, simulate
from tidepool.traces import Trace

# as in the server: its algorithms' seed, and bufferpool.batch_threshold
SEED = 1
OPTIONS = Options(batch=32)

SIZES = tuple(2 ** (i / 2) for i in range(-4, 7))  # of a curve, in shared buffers


@dataclass(frozen=True)
class Row:
    """A run and its simulations.

    Attributes:
        run: what the server counted.
        own: the run's own recording, replayed under its algorithm.
        optimum: the same under OPT.
        foretold: the first run's recording, replayed under this algorithm.
    """

    run: Run
    own: Result
    optimum: Result
    foretold: Result

    def reads(self) -> Reads:
        """Blocks read, live and simulated.

        A new page is a miss as well, by which the counts differ.
        """
        new = self.run.extends
        return Reads(
            self.run.algorithm, self.run.reads, self.own.misses - new, self.optimum.misses - new
        )


def cells(runs: Sequence[Run]) -> list[list[Cell]]:
    """What to replay of each run's recording: itself, OPT, and of the first the curves."""
    found = [[_cell(name, run.frames) for name in (run.algorithm, "opt")] for run in runs]
    names = [*(run.algorithm for run in runs), "opt"]
    found[0] = [_cell(name, round(size * runs[0].frames)) for name in names for size in SIZES]
    return found


def _cell(policy: str, frames: int) -> Cell:
    return Cell(parse_policy(policy), frames, SEED)


def replay(
    runs: Sequence[Run], traces: Sequence[Trace], progress: Callable[[int], None]
) -> tuple[list[Row], list[Curve]]:
    """Replay the runs' traces; return a row for each run, and the curves of the first."""
    grids = cells(runs)
    work = list(zip(traces, grids, strict=True))
    results = iter(simulate(work, OPTIONS, progress=progress))
    found = [{cell: next(results) for cell in grid} for grid in grids]
    rows = []
    for run, mine in zip(runs, found, strict=True):
        own, optimum = (_cell(name, run.frames) for name in (run.algorithm, "opt"))
        rows.append(Row(run, mine[own], mine[optimum], found[0][own]))
    return rows, _curves(found[0])


def _curves(results: Mapping[Cell, Result]) -> list[Curve]:
    specs = dict.fromkeys(cell.spec for cell in results)
    return [
        Curve(
            trace=mine[0].trace,
            policy=str(spec),
            frames=np.array([result.frames for result in mine]),
            miss_ratio=np.array([1 - result.hit_ratio for result in mine]),
            requests=mine[0].requests,
        )
        for spec in specs
        if (mine := [result for cell, result in results.items() if cell.spec == spec])
    ]


def points(rows: Sequence[Row]) -> list[Point]:
    """What the server met, to be drawn over the curves."""
    trace = rows[0].own.trace
    return [
        Point(trace, str(parse_policy(row.run.algorithm)), row.run.frames, 1 - row.run.hit_ratio)
        for row in rows
    ]


def print_rows(title: str, rows: Sequence[Row]) -> None:
    """Print a line for each run."""
    first = rows[0].run
    print_table(
        title,
        (
            "algorithm",
            "blocks\nread",
            f"to\n{first.algorithm}",
            "hit ratio\nlive",
            "hit ratio\nsimulated",
            "\noptimum",
            f"foretold from\n{first.algorithm}'s run",
        ),
        [
            (
                row.run.algorithm,
                count(row.run.reads),
                percent_change(row.run.reads / first.reads - 1) if row.run != first else "",
                percent(row.run.hit_ratio),
                percent(row.own.hit_ratio),
                percent(row.optimum.hit_ratio),
                percent(row.foretold.hit_ratio) if row.run != first else "",
            )
            for row in rows
        ],
    )
