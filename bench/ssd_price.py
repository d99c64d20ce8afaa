#!/usr/bin/env python3
"""What an SSD tier costs where it can gain nothing.

Two servers of ours run side by side on the same data, one with a tier, and take
turns on the same CPUs:
- hits: everything is in shared buffers, so the tier has nothing to do; pgbench's
  select-only, scans, index lookups and updates, as in hit_path.py;
- misses: two blocks are read for each transaction of select-only, as in
  miss_path.py, from files that the operating system has cached.  The tier's
  file is in memory, so about as fast ("as fast"), or on this machine's disk and
  read around the cache, so slower ("slower").  The tier measures both and should
  notice.

"none" is a second server without a tier: what the method cannot tell apart.
Positive numbers are per cent of time.  Goals: hits, nothing that can be measured;
misses, at most 3 %.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from common import count, report
from live import copied, huge_pages, read_all, scratch, serving, told
from miss_path import TURN, Server, take_turns
from pgbench import (
    BUFFERS,
    CPUS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    UPDATES,
    Price,
    Side,
    against,
    all_hits,
    fill,
    initialize,
    medians,
    prices,
    share_one_cpu,
    throughput,
    warm,
)

from tidepool.server import server_account

NAME = "clock"  # the algorithm of shared buffers
HITS = (SELECT_ONLY, SCAN, LOOKUPS, UPDATES)
CLIENTS = (1, 8)
GOAL = 3.0
MISS_BUFFERS = "64MB"
WARM = 4  # seconds
TIER_PAGES = 16_384
PLACES = {"as fast": Path("/dev/shm"), "slower": None}  # None: where the data is


@contextmanager
def ssd(where: Path | None) -> Iterator[Path]:
    """Give a directory for a tier's file."""
    directory = Path(tempfile.mkdtemp(prefix="tidepool-bench-ssd-", dir=where))
    try:
        if account := server_account():
            os.chown(directory, account.pw_uid, account.pw_gid)
        yield directory
    finally:
        shutil.rmtree(directory)


def tier_on(directory: Path) -> dict[str, str]:
    return {"bufferpool.ssd_path": str(directory), "bufferpool.ssd_size": str(TIER_PAGES)}


# ---- hits ----


def hits(args: argparse.Namespace) -> list[tuple[str, ...]]:
    """Compare a server with a tier, and one without, with one without."""
    with scratch() as one, ssd(PLACES["as fast"]) as place:
        fill(one)
        settings = {"shared_buffers": BUFFERS}
        settings["huge_pages"] = huge_pages([one], settings)
        rows = []
        with copied(one) as two:
            for kind, tier in (("none", {}), ("tier", tier_on(place))):
                starts = [
                    of_start((one, two), settings, tier, start, args.rounds)
                    for start in range(args.starts)
                ]
                found = [prices(of_work)[0] for of_work in zip(*starts, strict=True)]
                rows.append((kind, *map(str, found)))
                print("; ".join(rows[-1]), flush=True)
        return rows


def of_start(
    directories: Sequence[Path],
    settings: Mapping[str, str],
    tier: Mapping[str, str],
    start: int,
    rounds: int,
) -> list:
    """Start both servers, the first of which has no tier, and let them take turns."""
    order = list(zip(directories, ({}, tier), strict=True))
    with ExitStack() as stack:
        servers = {}
        for directory, more in order if start % 2 else reversed(order):
            servers[directory] = stack.enter_context(serving(directory, NAME, {**settings, **more}))
            warm(servers[directory])
        peer, server = (servers[directory] for directory in directories)
        share_one_cpu(peer, server)
        with all_hits(peer), all_hits(server):
            return [
                against(partial(Side, peer, work), [Side(server, work)], rounds) for work in HITS
            ]


# ---- misses ----


def misses(args: argparse.Namespace) -> list[tuple[str, ...]]:
    """The same where every transaction misses."""
    os.sched_setaffinity(0, CPUS[-2:])
    rows = []
    with scratch() as one:
        settings = {"shared_buffers": MISS_BUFFERS, "max_connections": "50"}
        with serving(one, NAME, settings) as instance:
            initialize(instance, args.scale)
            instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
            instance.query("VACUUM (FREEZE, ANALYZE)")
        settings["huge_pages"] = huge_pages([one], settings)
        with copied(one) as two, ExitStack() as stack:
            kinds = {"none": {}} | {
                kind: tier_on(stack.enter_context(ssd(where))) for kind, where in PLACES.items()
            }
            for kind, tier in kinds.items():
                for clients in CLIENTS:
                    rows.append(missed((one, two), settings, (kind, tier), clients, args))
                    print("; ".join(rows[-1]), flush=True)
    return rows


def missed(
    directories: Sequence[Path],
    settings: Mapping[str, str],
    kind: tuple[str, Mapping[str, str]],
    clients: int,
    args: argparse.Namespace,
) -> tuple[str, ...]:
    ratios, tiers = [], []
    name, tier = kind
    for start in range(args.starts):
        order = list(zip(directories, ({}, tier), strict=True))
        with ExitStack() as stack:
            pair = []
            for directory, more in order if start % 2 else reversed(order):
                read_all(directory)
                both = {**settings, **more}
                pair.append(Server(NAME, stack.enter_context(serving(directory, NAME, both))))
            if start % 2 == 0:
                pair.reverse()
            for server in pair:
                throughput(server.instance, SELECT_ONLY, WARM, {})
            found = take_turns(pair, clients, args.turns, Random(start), length=TURN, pin=True)
            ratios.append(100 / found.ratios - 100)
            if tier:
                tiers.append(pair[1].instance.query(_TIER))
    price = Price(*(float(value) for value in medians(ratios)))
    verdict = "" if name == "none" else "reached" if price.median <= GOAL else "MISSED"
    if abs(price.median - GOAL) < 2 * price.error and verdict:
        verdict += "?"
    return (name, str(clients), str(price), *(tiers[-1] if tiers else "||").split("|"), verdict)


_TIER = """SELECT round(ssd_read_time), round(disk_random_read_time), round(hits * 100.0 / reads)
    FROM pg_stat_ssd_tier"""


# ---- the whole ----


def show_hits(args: argparse.Namespace) -> None:
    columns = ("% slower than without a tier", *(work.name for work in HITS))
    report("ssd_price_hits", "price of a tier where everything is a hit", columns, hits(args))


def show_misses(args: argparse.Namespace) -> None:
    columns = ("SSD", "clients", "% slower", "SSD, us", "disk, us", "hits, %", f"goal {GOAL:g} %")
    title = "price of a tier where misses cost a copy"
    report("ssd_price_misses", title, columns, misses(args), width=120)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {"hits": show_hits, "misses": show_misses}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", choices=PARTS, help="one of the two parts")
    add("--starts", type=count, default=4, help="of both servers, %(default)s")
    add("--rounds", type=count, default=20, help="of hits, after each, %(default)s")
    add("--turns", type=count, default=100, help="of misses, after each, %(default)s")
    add("--scale", type=count, default=20, help="of pgbench's tables for misses, %(default)s")
    add("--quick", action="store_true", help="two starts, ten rounds of hits")
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(starts=2, rounds=10)
        args = parser.parse_args()
    for name, show in PARTS.items():
        if args.only in (None, name):
            show(args)


if __name__ == "__main__":
    told(main)
