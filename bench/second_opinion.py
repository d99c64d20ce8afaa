#!/usr/bin/env python3
"""Miss counts of libCacheSim, as a second opinion on the simulator's.

Both replay the same references: of the generated traces below, cut down to
page numbers, and of any traces given as arguments.  The difference is ours
less theirs, in percent of their misses.  Policies that draw at random are
compared by the means of several runs.  Where the two disagree, and which is
right by the paper: docs/second-opinion.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import libcachesim
import matplotlib.pyplot as plt
import numpy as np
from common import OUT, report
from numpy.typing import NDArray

from tidepool import InMemoryTrace, open_trace, parse_policy, write_trace
from tidepool.generators import HotCold, Loop, OltpScan, Shifting, Zipf
from tidepool.simulation import Cell, simulate
from tidepool.traces.model import Kind, Trace

SHARES = (0.01, 0.05, 0.1, 0.3, 0.6)  # frames, of the distinct pages
HASH_POWER = 14  # of libCacheSim's hash tables; 2^14 buckets start up fast
RUNS = 4  # of policies that draw at random


@dataclass(frozen=True)
class Pair:
    """A policy of ours, and what comes nearest to it in libCacheSim."""

    ours: str
    theirs: Callable[..., libcachesim.CacheBase]
    runs: int = 1


def mq(frames: int, **common: int) -> libcachesim.CacheBase:
    """With our default lifetime; theirs is 10,000 references at any size."""
    return libcachesim.MQ(frames, lifetime=frames, **common)


PAIRS = (
    Pair("fifo", libcachesim.FIFO),
    Pair("lru", libcachesim.LRU),
    Pair("opt", libcachesim.Belady),
    Pair("clock:max_usage=1,initial=0", libcachesim.Clock),
    Pair("clock:max_usage=1", libcachesim.Clock),
    Pair("sieve", libcachesim.Sieve),
    Pair("mq", mq),
    Pair("2q", libcachesim.TwoQ),
    Pair("arc", libcachesim.ARC),
    Pair("lru_k", libcachesim.LRUK),
    Pair("lru_k:history=0", libcachesim.LRUK),
    Pair("lirs:ghosts=4", libcachesim.LIRS),
    Pair("s3fifo", libcachesim.S3FIFO),
    Pair("clock2q_plus", libcachesim.Clock2QPlus),
    Pair("w_tinylfu", libcachesim.WTinyLFU),
    Pair("hyperbolic:sample=64", libcachesim.Hyperbolic, RUNS),
    Pair("random", libcachesim.Random, RUNS),
)


@dataclass(frozen=True)
class Comparison:
    """Misses of one policy on one trace with one size, on both sides."""

    pair: Pair
    trace: str
    frames: int
    theirs: float
    ours: float

    @property
    def difference(self) -> float:
        """Ours less theirs, in percent of theirs."""
        return 100 * (self.ours - self.theirs) / self.theirs


def generated(length: int = 200_000, pages: int = 5_000) -> list[Trace]:
    """Traces of this many references to about this many pages."""
    return [
        Zipf(pages=pages, length=length, alpha=0.9),
        Loop(pages=pages, length=length),
        HotCold(pages=pages, length=length),
        Shifting(pages=pages, length=length, working_set=pages // 10, phase=length // 40),
        OltpScan(pages=pages, length=length, scan_blocks=pages // 5),
    ]


def short_name(trace: Trace) -> str:
    """Return the generator's name without its parameters, the file's without its folder."""
    return trace.name.partition("(")[0].rpartition("/")[2]


def references_alone(trace: Trace) -> InMemoryTrace:
    """Return the trace without flags, writes and scans, which libCacheSim does not know."""
    parts: list[NDArray[np.uint64]] = []
    for chunk in trace.chunks():
        if chunk.kind is None:
            parts.append(chunk.page)
        else:
            parts.append(chunk.page[(chunk.kind == Kind.READ) | (chunk.kind == Kind.WRITE)])
    return InMemoryTrace.from_arrays(trace.name, np.concatenate(parts))


def their_misses(pair: Pair, frames: int, path: Path, references: int) -> float:
    counts = []
    for _ in range(pair.runs):
        reader = libcachesim.TraceReader(
            str(path),
            libcachesim.TraceType.ORACLE_GENERAL_TRACE,
            libcachesim.ReaderInitParam(ignore_obj_size=True),
        )
        miss_ratio, _ = pair.theirs(frames, hashpower=HASH_POWER).process_trace(reader)
        counts.append(round(miss_ratio * references))
    return fmean(counts)


def our_misses(pairs: Iterable[Pair], sizes: list[int], trace: Trace) -> Iterator[float]:
    """Yield the misses of each pair with each size, in that order."""
    runs = [(pair, frames) for pair in pairs for frames in sizes]
    results = iter(
        simulate(
            [
                (
                    trace,
                    [
                        Cell(parse_policy(pair.ours), frames, seed)
                        for pair, frames in runs
                        for seed in range(pair.runs)
                    ],
                )
            ]
        )
    )
    for pair, _ in runs:
        yield fmean(next(results).misses for _ in range(pair.runs))


def compare(
    trace: Trace, pairs: Iterable[Pair] = PAIRS, shares: Iterable[float] = SHARES
) -> list[Comparison]:
    """Replay the trace on both sides: every pair with every size."""
    pairs = list(pairs)
    plain = references_alone(trace)
    distinct = len(np.unique(np.concatenate([chunk.page for chunk in plain.chunks()])))
    sizes = [max(1, round(share * distinct)) for share in shares]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.oracleGeneral"
        write_trace(plain, path)
        ours = our_misses(pairs, sizes, plain)
        for pair in pairs:
            for frames in sizes:
                theirs = their_misses(pair, frames, path, plain.length)
                found.append(Comparison(pair, short_name(trace), frames, theirs, next(ours)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="*", help="traces to compare on, with the generated ones")
    parser.add_argument("--only-given", action="store_true", help="not on the generated traces")
    parser.add_argument("--policy", action="append", help="only these")
    parser.add_argument("--length", type=int, default=200_000)
    parser.add_argument("--pages", type=int, default=5_000)
    args = parser.parse_args()

    pairs = [pair for pair in PAIRS if not args.policy or pair.ours in args.policy]
    traces = [] if args.only_given else generated(args.length, args.pages)
    traces += [open_trace(path) for path in args.trace]
    found = [comparison for trace in traces for comparison in compare(trace, pairs)]
    report(
        "second_opinion",
        "Misses of libCacheSim and of Tidepool",
        ("policy", "trace", "frames", "theirs", "ours", "difference %"),
        [(c.pair.ours, c.trace, c.frames, c.theirs, c.ours, c.difference) for c in found],
    )
    summary = []
    for pair in pairs:
        of_pair = [c for c in found if c.pair == pair]
        worst = max(of_pair, key=lambda c: abs(c.difference))
        summary.append(
            (
                pair.ours,
                f"{sum(c.difference == 0 for c in of_pair)} of {len(of_pair)}",
                worst.difference,
                f"{worst.trace}, {worst.frames}",
                fmean(c.difference for c in of_pair),
                fmean(abs(c.difference) for c in of_pair),
            )
        )
    report(
        "second_opinion_summary",
        "Differences, in percent of libCacheSim's misses",
        ("policy", "equal", "worst %", "where", "mean %", "mean size %"),
        summary,
    )
    picture(found)


def picture(found: list[Comparison]) -> None:
    rows = list(dict.fromkeys(c.pair.ours for c in found))
    columns = list(dict.fromkeys((c.trace, c.frames) for c in found))
    values = np.full((len(rows), len(columns)), np.nan)
    for c in found:
        values[rows.index(c.pair.ours), columns.index((c.trace, c.frames))] = c.difference
    figure, axes = plt.subplots(figsize=(2 + 0.35 * len(columns), 1.5 + 0.3 * len(rows)))
    figure.set_layout_engine("constrained")
    image = axes.imshow(values, cmap="RdBu_r", vmin=-10, vmax=10, aspect="auto")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(
        range(len(columns)), [f"{trace}, {frames}" for trace, frames in columns], rotation=90
    )
    axes.tick_params(labelsize=7)
    axes.set_title("Misses, Tidepool's less libCacheSim's, in percent", fontsize=9)
    figure.colorbar(image, extend="both")
    figure.savefig(OUT / "second_opinion.png", dpi=150)


if __name__ == "__main__":
    main()
