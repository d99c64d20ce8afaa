"""What the experiments share: replays; a table on the terminal, CSV and picture in bench/out/."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tidepool import parse_policy
from tidepool.generators import DynZipfRo, RedsetLike, TpchScans
from tidepool.simulation import Cell, count_pages, simulate
from tidepool.traces import load
from tidepool.traces.model import Trace

OUT = Path(__file__).resolve().parent / "out"


def count(text: str) -> int:
    """Read a positive number of an option; argparse reports anything else."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def seconds(text: str) -> float:
    """Read a time of an option, above 0; argparse reports anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of seconds")
    return value


def report(
    name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int = 0
) -> Path:
    """Print the rows as a table and write them to bench/out/NAME.csv; return that path.

    A table of which much is in one column needs more than the usual width.
    """
    OUT.mkdir(exist_ok=True)
    table = Table(title=title)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(
            *(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        )
    # wide enough wherever it is read, also through a pipe
    Console(width=max(100, 14 * len(columns), width)).print(table)
    path = OUT / f"{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


# PBM as its paper has it; what is ours is left out.
PAPER = "pbm:remember=0,neighbours=off,scan_history=off,frequency=off"


@dataclass(frozen=True)
class Runs:
    """A trace with the number of its references, and misses by policy and share of its pages."""

    requests: int
    pages: int
    misses: dict[tuple[str, float], int]

    def relative(self, policy: str, share: float, to: str = "opt") -> float:
        """Return the policy's misses as a multiple of another's."""
        return self.misses[policy, share] / self.misses[to, share]


def replay(trace: Trace, policies: Sequence[str], shares: Sequence[float], seed: int = 0) -> Runs:
    """Simulate every policy with frames for each share of the trace's distinct pages."""
    loaded = load(trace)
    pages = count_pages(loaded)
    runs = [(policy, share) for policy in policies for share in shares]
    cells = [
        Cell(parse_policy(policy), max(1, round(share * pages)), seed) for policy, share in runs
    ]
    results = simulate([(loaded, cells)])
    misses = {run: result.misses for run, result in zip(runs, results, strict=True)}
    return Runs(results[0].requests, pages, misses)


# ---- traces of scans, `scale` times smaller than the generators' defaults ----
#
# The scans are as many times slower, so that they overlap as the large ones do.


def tpch(scale: int, streams: int = 8, seed: int = 0, **other: bool) -> TpchScans:
    """Return streams of range scans."""
    return TpchScans(
        pages=121_000 // scale, speed=10_000 / scale, streams=streams, seed=seed, **other
    )


def redset(variant: str, scale: int, seed: int = 0) -> RedsetLike:
    """Return scans of many tables."""
    return RedsetLike(variant=variant, pages=100_000 // scale, speed=10_000 / scale, seed=seed)


def dynzipf(kind: type[DynZipfRo], scale: int, seed: int = 0) -> DynZipfRo:
    """Return point reads and scans, half and half."""
    return kind(
        pages=60_000 // scale,
        blocks=12_000 // scale,
        phase=100_000 // scale,
        rate=20_000 / scale,
        seed=seed,
    )
