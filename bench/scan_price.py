#!/usr/bin/env python3
"""What a scan pays on the server for being announced, where all pages are resident.

Two servers run side by side under the same algorithm: one has places for scans,
the other has none (bufferpool.max_scans = 0).  Clients of both take turns on one
CPU; see pgbench.py.  The difference of their times, divided by the scans,
blocks or tuples of a query, is the price of one.

begin and end   scans that are left after their first row: sequential, bitmap (of
                200 to 300 blocks), and index scans in the table's order.  With
                the search for a scan to meet.
advance         a scan of a whole table with a row for each block: of eight
                blocks, after which a scan says where it is.
mark            an index scan in another order than the table's: of a tuple.

Goals: 2 microseconds for begin and end together, 50 nanoseconds for an advance.
"no announcement" is a second server without places: what the method cannot tell
apart.

Only our server is needed (make postgres).
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from common import count, report
from live import copied, huge_pages, scratch, serving, told
from patterns import SETTINGS
from pgbench import Side, Workload, against, all_hits, medians, pool_counters, share_one_cpu

from tidepool.errors import TidepoolError
from tidepool.server import Instance

NONE = {"bufferpool.max_scans": "0"}
SCANS = 1000  # of a query
BITMAPS = 200  # likewise: to make one takes longer
WIDE_BLOCKS = 512  # seven rows each
LONE_BLOCKS = 4000  # a row each
SCATTERED_ROWS = 20_000
TURN = 0.06  # seconds, of at least some queries
BEGIN_GOAL, ADVANCE_GOAL = 2000, 50  # nanoseconds


@dataclass(frozen=True)
class Case:
    """A query whose scans pay.

    Attributes:
        of: scans, blocks or tuples in a query.
        announces: scans that a query announces.
        goal: in nanoseconds.
        plans: settings, so that the plan is the one that is meant.
    """

    name: str
    node: str
    query: str
    of: float
    announces: int
    goal: int | None
    plans: Sequence[str]


def _left_early(table: str, condition: str, scans: int = SCANS) -> str:
    return (
        f"SELECT count(*) FROM generate_series(1, {scans}) g,"
        f" LATERAL (SELECT id FROM {table} WHERE {condition} LIMIT 1) s"
    )


_NO_SEQUENTIAL = "enable_seqscan=off"
CASES = (
    Case(
        "sequential, begin and end",
        "Seq Scan on wide",
        _left_early("wide", "id <> g"),
        *(SCANS, SCANS, BEGIN_GOAL),
        ("enable_indexscan=off", "enable_bitmapscan=off"),
    ),
    Case(
        "bitmap, begin and end",
        "Bitmap Heap Scan on lone",
        _left_early("lone", f"id > {LONE_BLOCKS - 300} + g % 100", BITMAPS),
        *(BITMAPS, BITMAPS, BEGIN_GOAL),
        (_NO_SEQUENTIAL, "enable_indexscan=off"),
    ),
    Case(
        "index, begin and end",
        "Index Scan using wide_id on wide",
        _left_early("wide", "id > g ORDER BY id"),
        *(SCANS, SCANS, BEGIN_GOAL),
        (_NO_SEQUENTIAL, "enable_bitmapscan=off", "enable_indexonlyscan=off"),
    ),
    Case(
        "advance, by eight blocks",
        "Seq Scan on lone",
        "SELECT count(*) FROM lone",
        *(LONE_BLOCKS / 8, 1, ADVANCE_GOAL),
        ("enable_indexonlyscan=off",),
    ),
    Case(
        "mark, of a tuple",
        "Index Scan using scattered_id on scattered",
        "SELECT sum(v) FROM scattered WHERE id > 0",
        *(SCATTERED_ROWS, 0, None),
        (_NO_SEQUENTIAL, "enable_bitmapscan=off"),
    ),
)


def make(instance: Instance) -> None:
    """Make the tables."""
    instance.query(
        "CREATE EXTENSION pg_bufferpool",
        "CREATE TABLE wide AS SELECT n AS id, CAST('' AS char(1000)) AS pad"
        f" FROM generate_series(1, {7 * WIDE_BLOCKS}) n",
        "CREATE INDEX wide_id ON wide (id)",
        "CREATE TABLE lone (id int, pad text)",
        "ALTER TABLE lone ALTER pad SET STORAGE PLAIN",
        f"INSERT INTO lone SELECT n, repeat('x', 6000) FROM generate_series(1, {LONE_BLOCKS}) n",
        "CREATE INDEX lone_id ON lone (id)",
        "CREATE TABLE scattered AS SELECT 1 + (hashint4(n) & 1048575) AS id, n AS v,"
        f" CAST('' AS char(300)) AS pad FROM generate_series(1, {SCATTERED_ROWS}) n",
        "CREATE INDEX scattered_id ON scattered (id)",
        "VACUUM (FREEZE, ANALYZE)",
    )


def check(instance: Instance) -> None:
    """Raise TidepoolError unless all queries scan and announce as is meant."""
    for case in CASES:
        settings = "; ".join(f"SET {setting}" for setting in case.plans)
        plan = instance.query(f"{settings}; EXPLAIN (COSTS off) {case.query}")
        if case.node not in plan:
            raise TidepoolError(f"this is no {case.node}:\n{case.query}\n{plan}")
        before = pool_counters(instance)["scans_begun"]
        instance.query(f"{settings}; {case.query}", "SELECT pg_sleep(0)")
        begun = pool_counters(instance)["scans_begun"] - before
        if begun != case.announces:
            raise TidepoolError(f"{case.name}: {begun} scans are announced, not {case.announces}")


def measure(
    directories: Sequence[Path],
    algorithm: str,
    settings: Mapping[str, str],
    other: Mapping[str, str],
    start: int,
    rounds: int,
) -> list[np.ndarray]:
    """Start both servers and let them take turns; return nanoseconds [round] of each case.

    Who is started first changes with the number of the start.
    """
    places = list(zip(directories, (NONE, other), strict=True))
    with ExitStack() as stack:
        servers = {}
        for directory, scans in places if start % 2 else reversed(places):
            given = {**settings, **scans}
            servers[directory] = stack.enter_context(serving(directory, algorithm, given))
            check_or_warm(servers[directory], scans)
        peer, ours = (servers[directory] for directory in directories)
        share_one_cpu(peer, ours)
        found = []
        with all_hits(peer), all_hits(ours):
            for case in CASES:
                work = Workload(case.name, (f"{case.query};\n",), turn=TURN, settings=case.plans)
                pair = against(partial(Side, peer, work), [Side(ours, work)], rounds)
                found.append(1e9 * (pair[:, 1] - pair[:, 0]) / case.of)
        return found


def check_or_warm(instance: Instance, scans: Mapping[str, str]) -> None:
    """Bring all in; where scans are announced, check that they are."""
    if scans is not NONE:
        check(instance)
    for table in ("wide", "lone", "scattered"):
        instance.query(f"SELECT sum(length(pad)) FROM {table}")
    for table in ("wide", "lone", "scattered"):
        instance.query(
            "SET enable_seqscan = off; SET enable_bitmapscan = off;"
            f" SELECT count(id) FROM {table} WHERE id > 0"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--algorithm", default="pbm", metavar="NAME", help="pbm")
    add("--starts", type=count, default=4, metavar="N", help="of both servers; 4")
    add("--rounds", type=count, default=40, metavar="N", help="after each; 40")
    add("--quick", action="store_true", help="a minute: 2 starts, 15 rounds")
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(starts=2, rounds=15)
        args = parser.parse_args()
    with scratch() as one:
        with serving(one, "clock") as instance:
            make(instance)
        with copied(one) as two:
            settings = {**SETTINGS, "shared_buffers": "256MB"}
            settings["huge_pages"] = huge_pages((one, two), settings)
            columns = {}
            for name, other in (("no announcement", NONE), ("price", {})):
                starts = [
                    measure((one, two), args.algorithm, settings, other, start, args.rounds)
                    for start in range(args.starts)
                ]
                columns[name] = [medians(of_case) for of_case in zip(*starts, strict=True)]
    show(args, columns)


def show(args: argparse.Namespace, columns: Mapping[str, Sequence[tuple]]) -> None:
    """Print the table, with "?" where two standard errors may decide about a goal."""
    rows = []
    for i, case in enumerate(CASES):
        price, error = (float(value) for value in columns["price"][i])
        verdict = ""
        if case.goal is not None:
            verdict = "reached" if price <= case.goal else "MISSED"
            if abs(price - case.goal) <= 2 * error:
                verdict += "?"
        cells = [f"{of_case[i][0]:.0f} ± {of_case[i][1]:.0f}" for of_case in columns.values()]
        rows.append((case.name, *cells, case.goal or "", verdict))
    title = f"{args.algorithm}: nanoseconds that an announced scan takes longer"
    report("scan_price", title, ("", *columns, "goal", "reached"), rows)


if __name__ == "__main__":
    told(main)
