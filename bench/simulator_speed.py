#!/usr/bin/env python3
"""References per second of the simulator, against libCacheSim's.

Both replay the same Zipf trace (20 million references to a million pages,
a tenth of them cached) from memory, single-threaded, in turn, several times;
the medians are compared.  libCacheSim runs its C engine through its own
Python package, over its own binary format mapped from a file, once read so
that it is in the page cache; the size of its hash table, which it leaves to
the user, is set to what is fastest for it here.  The goal is a ratio of 2,
the ambition 3.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import libcachesim
import matplotlib.pyplot as plt
import numpy as np
from common import OUT, report
from numpy.typing import NDArray

from tidepool import parse_policy
from tidepool.simulation.future import Future
from tidepool.simulation.replay import Replay
from tidepool.traces.model import CHUNK_ROWS, Chunk

# Ours, theirs.
PAIRS: list[tuple[str, Callable[..., libcachesim.CacheBase]]] = [
    ("fifo", libcachesim.FIFO),
    ("random", libcachesim.Random),
    ("clock:max_usage=1", libcachesim.Clock),
    ("lru", libcachesim.LRU),
    ("lru_k", libcachesim.LRUK),
    ("2q", libcachesim.TwoQ),
    ("mq", libcachesim.MQ),
    ("arc", libcachesim.ARC),
    ("lirs", libcachesim.LIRS),
    ("sieve", libcachesim.Sieve),
    ("s3fifo", libcachesim.S3FIFO),
    ("w_tinylfu", libcachesim.WTinyLFU),
    ("hyperbolic:sample=64", libcachesim.Hyperbolic),
    ("opt", libcachesim.Belady),
]
HASH_POWERS = (17, 18, 20, 24)


def zipf(pages: int, references: int, alpha: float, seed: int) -> NDArray[np.uint64]:
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1 / np.arange(1, pages + 1) ** alpha)
    ranks = np.searchsorted(cumulative / cumulative[-1], rng.random(references))
    return rng.permutation(pages).astype(np.uint64)[ranks]


def chunks(pages: NDArray[np.uint64]) -> list[Chunk]:
    return [Chunk(page=pages[i : i + CHUNK_ROWS]) for i in range(0, len(pages), CHUNK_ROWS)]


def write_oracle_general(
    pages: NDArray[np.uint64], next_use: NDArray[np.uint64], path: Path
) -> None:
    rows = np.zeros(
        len(pages), dtype=[("t", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")]
    )
    rows["t"] = np.arange(len(pages)) // 1000
    rows["id"] = pages
    rows["size"] = 1
    rows["next"] = next_use.astype(np.int64)  # never: -1
    rows.tofile(path)


def ours(
    name: str, frames: int, parts: list[Chunk], next_use: NDArray[np.uint64]
) -> tuple[float, float]:
    """Return seconds and miss ratio."""
    spec = parse_policy(name)
    begin = time.perf_counter()
    replay = Replay(spec, frames)
    position = 0
    for part in parts:
        future = next_use[position : position + len(part)] if name == "opt" else None
        replay.feed(position, part, future)
        position += len(part)
    seconds = time.perf_counter() - begin
    totals = replay.totals()
    return seconds, totals.misses / totals.requests


def theirs(
    make: Callable[..., libcachesim.CacheBase], frames: int, path: Path, power: int
) -> tuple[float, float]:
    """Return seconds and miss ratio."""
    reader = libcachesim.TraceReader(
        str(path),
        libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    begin = time.perf_counter()
    cache = make(frames, hashpower=power)
    miss_ratio, _ = cache.process_trace(reader)
    return time.perf_counter() - begin, miss_ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", type=int, default=20_000_000)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.1, help="of the pages that are cached")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--policy", action="append", help="only these")
    args = parser.parse_args()

    pages = zipf(args.pages, args.references, args.alpha, seed=1)
    parts = chunks(pages)
    with Future() as future:
        for part in parts:
            future.feed(part)
        next_use = np.array(future.next_use(0, args.references))
    frames = round(args.pages * args.share)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.oracleGeneral"
        write_oracle_general(pages, next_use, path)
        tuning = Path(folder) / "tuning.oracleGeneral"
        part = args.references // 10
        write_oracle_general(pages[:part], next_use[:part], tuning)
        for name, make in PAIRS:
            if args.policy and name not in args.policy:
                continue
            power = min(HASH_POWERS, key=lambda power: theirs(make, frames, tuning, power)[0])
            runs = [
                (theirs(make, frames, path, power), ours(name, frames, parts, next_use))
                for _ in range(args.repeat)
            ]
            their_speed, our_speed = (
                args.references / statistics.median(run[side][0] for run in runs) / 1e6
                for side in (0, 1)
            )
            ratio = our_speed / their_speed
            verdict = "3x" if ratio >= 3 else "2x" if ratio >= 2 else "MISSED"
            rows.append(
                (name, power, their_speed, our_speed, ratio, runs[0][0][1], runs[0][1][1], verdict)
            )
    title = (
        f"{args.references:,} Zipf({args.alpha}) references, {args.pages:,} pages, "
        f"{frames:,} frames; "
        f"million references per second, median of {args.repeat}"
    )
    columns = (
        "policy",
        "hash power",
        "libCacheSim",
        "tidepool",
        "ratio",
        "their misses",
        "our misses",
        "goal 2x",
    )
    report("simulator_speed", title, columns, rows)
    picture(rows, title)


def picture(rows: list[tuple], title: str) -> None:
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    x = np.arange(len(rows))
    axes.bar(x - 0.2, [row[2] for row in rows], 0.4, label="libCacheSim", color="#999999")
    axes.bar(x + 0.2, [row[3] for row in rows], 0.4, label="Tidepool", color="#0072B2")
    axes.set_xticks(x, [row[0].split(":")[0] for row in rows], rotation=45, ha="right")
    axes.set_ylabel("million references / s")
    axes.set_title(title, fontsize=7)
    axes.legend()
    figure.savefig(OUT / "simulator_speed.png", dpi=150)


if __name__ == "__main__":
    main()
