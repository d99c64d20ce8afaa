#!/usr/bin/env python3
"""The SSD paper's figures on a live server: an SSD between memory and a slow disk.

Canim et al., PVLDB 2010.  A server whose tables are on an emulated disk (a seek
takes 8 ms, 150 MB/s; devices.py), beside an emulated SSD of 6, 12 and 24 % of
the data, under several policies; beside the same server without a tier, and
stock PostgreSQL.  Three workloads, each with one stream and with eight:
- ods: an operational data store (ods.py);
- tpcc: transactions like TPC-C's (tpcc.py);
- tpch: queries like TPC-H's Q1 and Q6 over ranges of dates (streams.py).

All servers do the same work, warmed in the same way (ssd_runs.py).  The server
without a tier runs first and last; others are compared with the mean.
"absorbed" is by how much less time the disk's arm spent on reads, as the
emulator counts it: that does not depend on how busy this machine is.  Times do.

Goals, on ods with an SSD of 24 %: at least 85 % of the disk's read time absorbed,
at least 4 times as fast with one stream and 5 times with eight; the best policy
at least 5 % faster than tac, at no more bytes written.

Needs root and FUSE, make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from common import OUT, count, report
from devices import require, skipped
from live import STOCK, programs, told
from ssd_runs import (
    BLOCK,
    COSTS,
    NONE,
    Bench,
    Found,
    Load,
    Server,
    hit_ratio,
    measure,
    ods_load,
    prepared,
    tpcc_load,
    tpch_load,
)

from tidepool.plots import save, style

SHARES = (0.06, 0.12, 0.24)
POLICIES = ("page_temperature", "tac", "arc", "lru")
STREAMS = (1, 8)
GOAL_ABSORBED = 0.85
GOAL_FASTER = {1: 4.0, 8: 5.0}
GOAL_OF_TAC = 0.95
NEW, TAC = "page_temperature", "tac"


@dataclass(frozen=True)
class Run:
    """One measured run, and how it compares with the server without a tier.

    Attributes:
        faster: how many times.
        absorbed: share of the disk's time for reads that was saved.
    """

    workload: str
    streams: int
    server: str
    share: float
    seconds: float
    faster: float
    disk_seconds: float
    absorbed: float
    hit_ratio: float
    written_mb: float
    dropped: int
    warming: str


def compared(load: Load, streams: int, server: Server, found: Found, peers: Sequence[Found]) -> Run:
    tier = found.tier
    disk = found.disk.read_seconds
    return Run(
        load.name,
        streams,
        server.name,
        server.share if server.has_tier else 0.0,
        found.seconds,
        mean(peer.seconds for peer in peers) / found.seconds,
        disk,
        1 - disk / mean(peer.disk.read_seconds for peer in peers),
        hit_ratio(tier),
        tier["writes"] * BLOCK / 1e6 if tier else 0.0,
        tier["dropped"] if tier else 0,
        " ".join(f"{ratio:.3f}" for ratio in found.warming),
    )


def runs(bench: Bench, streams: int, args: argparse.Namespace) -> Iterator[Run]:
    """Run all servers with so many streams."""
    buffers = round(args.memory * bench.pages) + args.catalogs
    plain = Server(NONE, 0, buffers)
    peers = [(plain, told_of(bench, plain, streams))]
    found = []
    servers = [Server(STOCK, 0, buffers)] if args.stock else []
    servers += [Server(name, share, buffers) for share in args.ssd for name in args.policies]
    for server in servers:
        found.append((server, told_of(bench, server, streams)))
    if not args.quick:
        peers.append((plain, told_of(bench, plain, streams)))
    for server, one in (*peers, *found):
        yield compared(bench.load, streams, server, one, [peer for _, peer in peers])


def told_of(bench: Bench, server: Server, streams: int) -> Found:
    found = measure(bench, server, streams)
    tier = found.tier
    costs = ", ".join(f"{tier[name]:.0f}" for name in COSTS) if tier else ""
    more = f", {hit_ratio(tier):.3f} hits, {tier['writes']} written, costs {costs}" if tier else ""
    print(
        f"  {bench.load.name}, {streams} streams, {server.name} {server.share:.0%}:"
        f" {found.seconds:.1f} s, disk reads {found.disk.read_seconds:.1f} s{more}",
        file=sys.stderr,
        flush=True,
    )
    return found


# ---- what is shown ----

COLUMNS = (
    *("workload", "streams", "server", "SSD, % of data", "s", "x as fast", "disk reads, s"),
    *("absorbed, %", "hits, %", "MB written", "dropped"),
)


def cells(run: Run) -> tuple[str, ...]:
    return (
        *(run.workload, str(run.streams), run.server, f"{100 * run.share:.0f}"),
        *(f"{run.seconds:.1f}", f"{run.faster:.2f}", f"{run.disk_seconds:.1f}"),
        *(f"{100 * run.absorbed:.1f}", f"{100 * run.hit_ratio:.1f}", f"{run.written_mb:.1f}"),
        str(run.dropped),
    )


def goals(found: Sequence[Run]) -> None:
    """Tell which goals are reached, of those that these runs are about."""
    for streams, faster in GOAL_FASTER.items():
        of = {
            run.server: run
            for run in found
            if (run.workload, run.streams, run.share) == ("ods", streams, 0.24)
        }
        if not of:
            continue
        best = min(of.values(), key=lambda run: run.seconds)
        print(
            f"ods, {streams} streams, 24 %: {best.server} {best.faster:.2f} x as fast (goal"
            f" {faster:g}), {best.absorbed:.1%} absorbed (goal {GOAL_ABSORBED:.0%})"
        )
        if TAC in of and NEW in of:
            new, tac = of[NEW], of[TAC]
            print(
                f"  {NEW}: {new.seconds / tac.seconds:.3f} of tac's time (goal {GOAL_OF_TAC}),"
                f" {new.disk_seconds / tac.disk_seconds:.3f} of the disk's read time,"
                f" {new.written_mb / max(tac.written_mb, 0.01):.2f} of its writes"
            )


def picture(found: Sequence[Run]) -> None:
    """Speed and absorbed read time by size, and hit ratios while warming; a row for each load."""
    kinds = list(dict.fromkeys((run.workload, run.streams) for run in found))
    figure, axes = style.panels(3 * len(kinds) + len(kinds) % 2, 1.7, 1)
    axes = axes[: 3 * len(kinds)]
    places = iter(axes)
    for kind in kinds:
        mine = [run for run in found if (run.workload, run.streams) == kind and run.share > 0]
        title = f"{kind[0]}, {kind[1]} stream{'s' if kind[1] > 1 else ''}"
        policies = list(dict.fromkeys(run.server for run in mine))
        largest = max(run.share for run in mine)
        faster, absorbed, warming = next(places), next(places), next(places)
        for i, policy in enumerate(policies):
            of = sorted((r for r in mine if r.server == policy), key=lambda run: run.share)
            look = style.line_style(i, policy)
            at = [100 * run.share for run in of]
            faster.plot(at, [run.faster for run in of], label=policy, **look)
            absorbed.plot(at, [100 * run.absorbed for run in of], label=policy, **look)
            last = next(run for run in of if run.share == largest)
            ratios = [100 * float(ratio) for ratio in last.warming.split()]
            warming.plot(range(1, len(ratios) + 1), ratios, label=policy, **look)
        style.dress(faster, title, "SSD, % of the data", "times as fast")
        style.dress(absorbed, title, "SSD, % of the data", "read time absorbed, %")
        style.dress(warming, f"{title}, {largest:.0%}", "twelfths of the warm-up", "hits, %")
        for axis in (faster, absorbed, warming):
            axis.set_ylim(bottom=0)
    style.legend_below(figure, axes)
    save(figure, OUT / "ssd_live.png")


# ---- the whole ----


def earlier(names: Sequence[str]) -> list[Run]:
    """Return the rows of the last table that are not of these workloads and streams."""
    path = OUT / "ssd_live_runs.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    kinds = Run.__annotations__
    cast = {"str": str, "int": int, "float": float}
    found = [Run(**{name: cast[kinds[name]](row[name]) for name in kinds}) for row in rows]
    return [run for run in found if f"{run.workload}-{run.streams}" not in names]


def keep(found: Sequence[Run]) -> None:
    """Write all rows, from which further runs go on (--add)."""
    OUT.mkdir(exist_ok=True)
    with (OUT / "ssd_live_runs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Run.__annotations__)
        writer.writerows([getattr(run, name) for name in Run.__annotations__] for run in found)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--workloads", nargs="+", choices=("ods", "tpcc", "tpch"), default=["ods", "tpcc", "tpch"])
    add("--streams", nargs="+", type=count, default=list(STREAMS), metavar="N")
    add("--ssd", nargs="+", type=float, default=list(SHARES), metavar="SHARE", help="of the data")
    add("--policies", nargs="+", default=list(POLICIES), metavar="NAME")
    add("--memory", type=float, default=0.025, metavar="SHARE", help="of the data; %(default)s")
    add("--catalogs", type=count, default=256, metavar="N", help="buffers besides; %(default)s")
    add("--scale", type=float, default=0.25, metavar="FACTOR", help="of ods and tpch; %(default)s")
    add("--warehouses", type=count, default=4, metavar="N", help="of tpcc; %(default)s")
    add("--units", type=count, metavar="N", help="queries or transactions that are measured")
    add("--no-stock", dest="stock", action="store_false", help="leave out stock PostgreSQL")
    add("--add", action="store_true", help="to the last table, which keeps its other rows")
    add("--quick", action="store_true", help="one size, two policies, the server without once")
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(ssd=[0.24], policies=[NEW, TAC], scale=0.1, warehouses=2, stock=False)
        args = parser.parse_args()
    return args


def load_of(name: str, args: argparse.Namespace) -> Load:
    if name == "ods":
        return ods_load(args.scale, args.units or 96)
    if name == "tpcc":
        return tpcc_load(args.warehouses, args.units or 400)
    return tpch_load(args.scale, args.units or 24)


def main() -> None:
    args = arguments()
    require()
    if args.stock:
        programs(STOCK)  # fails at once if it is not there
    names = [f"{name}-{streams}" for name in args.workloads for streams in args.streams]
    found = earlier(names) if args.add else []
    for name in args.workloads:
        with prepared(load_of(name, args)) as bench:
            for streams in args.streams:
                found += runs(bench, streams, args)
                keep(found)
    report("ssd_live", "an SSD below memory", COLUMNS, [cells(run) for run in found], width=150)
    goals(found)
    picture(found)


if __name__ == "__main__":
    told(skipped(main))
