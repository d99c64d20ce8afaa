#!/usr/bin/env python3
"""What pinned pages cost a search for a victim.

Streams of queries scan random 36 % of a table of which 30 % is cached, as in
scan_mix.py, but simulated: each scan reads 64 blocks ahead, 16 with one
request, and keeps them pinned until it comes to them.  A look is a frame that
a search asks about, whether it is usable: in a server, a look at a buffer's
header under the pool's lock.

Of each policy: misses; looks per search, mean, 99th percentile and most; and
the time of the replay as a multiple of clock's, the least of several runs in
turn.  The goal is 4 looks in the mean.  Policies that sample (random,
hyperbolic, lean_evict, watt, pbm, page_temperature) look at their samples.
"""

from __future__ import annotations

import argparse
from math import inf

import numpy as np
from common import report

from tidepool import parse_policy, policies
from tidepool.generators import TpchScans
from tidepool.simulation import Options
from tidepool.simulation.replay import Replay
from tidepool.traces import InMemoryTrace, load
from tidepool.traces.scans import read_ahead

PAGES = 11_564  # of scan_mix.py's table
FRAMES = round(0.3 * PAGES)
SELECTIVITY = 0.36
SPEED = 1000.0

COLUMNS = ("policy", "misses", "hits, %", "searches", "looks", "99 %", "most", "x clock's time")


def mix(streams: int, queries: int, ahead: int, seed: int) -> InMemoryTrace:
    """Return the references and pins of so many queries, which read so many blocks ahead."""
    scans = TpchScans(
        pages=PAGES,
        streams=streams,
        queries=queries // streams,
        selectivity=SELECTIVITY,
        speed=SPEED,
        bitmap=True,
        seed=seed,
    )
    return load(read_ahead(scans, ahead))


def replayed(trace: InMemoryTrace, policy: str, options: Options) -> Replay:
    """Return the finished replay."""
    replay = Replay(parse_policy(policy), FRAMES, options=options)
    position = 0
    for chunk in trace.chunks():
        replay.feed(position, chunk)
        position += len(chunk)
    return replay


def measure(trace: InMemoryTrace, names: list[str], runs: int) -> list[tuple]:
    """Return a row for each policy."""
    seconds = dict.fromkeys(names, inf)
    for _ in range(runs):
        for name in names:
            seconds[name] = min(seconds[name], replayed(trace, name, Options()).seconds)
    rows = []
    for name in names:
        result = replayed(trace, name, Options(per_search=True)).result(trace)
        looks = result.looks
        assert looks is not None
        rows.append(
            (
                name,
                result.misses,
                f"{100 * result.hit_ratio:.1f}",
                len(looks),
                f"{looks.mean():.2f}",
                f"{np.percentile(looks, 99):.0f}",
                int(looks.max()),
                f"{seconds[name] / seconds['clock']:.1f}",
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    known = [policy.name for policy in policies() if policy.handle is not None]
    add("--policies", nargs="+", default=known, metavar="POLICY", help="default: all; clock always")
    add("--streams", nargs="+", type=int, default=[1, 8, 16], metavar="N", help="1 8 16")
    add("--queries", type=int, default=64, metavar="N", help="of all streams together; 64")
    add("--ahead", type=int, default=64, metavar="BLOCKS", help="that a scan reads ahead; 64")
    add("--runs", type=int, default=5, help="of which the fastest counts; 5")
    add("--seed", type=int, default=0, help="of the queries; 0")
    add("--quick", action="store_true", help="16 queries, one run")
    args = parser.parse_args()
    if args.quick:
        args.queries, args.runs = 16, 1
    names = list(dict.fromkeys(["clock", *args.policies]))
    for streams in args.streams:
        trace = mix(streams, args.queries, args.ahead, args.seed)
        title = f"{streams} streams, {args.ahead} blocks ahead; {PAGES:,} pages, {FRAMES:,} frames"
        report(f"victim_search_{streams}", title, COLUMNS, measure(trace, names, args.runs))


if __name__ == "__main__":
    main()
