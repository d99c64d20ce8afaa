#!/usr/bin/env python3
"""Whether the background writer spares queries the writing of dirty victims, and what it costs.

pgbench updates rows, or reads three for each that it updates, of a table that
is several times as large as shared_buffers.  PostgreSQL as it comes and ours,
restarted for each algorithm, take turns; see pgbench.py.  While it is not its
turn a server's background writer is stopped, too, or it would have all the
time in the world.  "stock" in the table is stock PostgreSQL as the other
server.

For a large pool: --buffers 4GB --scale 500 --turn 5 pbm

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
import os
import signal
from contextlib import ExitStack
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from common import report
from live import STOCK, counters, scratch, serving, told
from pgbench import (
    Price,
    Side,
    Workload,
    against,
    algorithms,
    cpu_seconds,
    pool_counters,
    prices,
    share_one_cpu,
    throughput,
)

from tidepool.errors import TidepoolError
from tidepool.server import Instance

QUICK = ["clock", "cooling", "lru", "arc", "pbm"]
CLIENTS = 4
LOADING = "1GB"  # of shared buffers, while the table is filled


@dataclass(frozen=True)
class Setting:
    """What the options say.

    Attributes:
        scale: of pgbench's table, 13 MB each.
        turn: seconds.
        rounds: turns of each side.
        server: settings of both servers.
    """

    scale: int
    turn: float
    rounds: int
    server: dict[str, str]

    def workloads(self) -> list[Workload]:
        """What clients do."""
        row = f"\\set aid random(1, {100_000 * self.scale})\n"
        update = f"{row}UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n"
        select = f"{row}SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
        return [
            Workload("updates", (update,), CLIENTS, self.turn),
            Workload("updates and reads", (update, select, select, select), CLIENTS, self.turn),
        ]


@dataclass(frozen=True)
class Pages:
    """What pg_stat_io has counted, of tables and indexes.

    Attributes:
        evictions: by clients.
        dirty: those of which clients had to write the page first.
        cleaned: pages that the background writer wrote.
    """

    evictions: int
    dirty: int
    cleaned: int

    def __sub__(self, earlier: Pages) -> Pages:
        return Pages(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    @property
    def dirty_percent(self) -> float:
        return 100 * self.dirty / max(1, self.evictions)


def pages(instance: Instance) -> Pages:
    """Read the counters when all sessions have ended."""
    counters(instance)
    row = instance.query(
        "SELECT sum(evictions) FILTER (WHERE backend_type = 'client backend'),"
        " sum(writes) FILTER (WHERE backend_type = 'client backend'),"
        " sum(writes) FILTER (WHERE backend_type = 'background writer')"
        " FROM pg_stat_io WHERE object = 'relation' AND context = 'normal'"
    )
    return Pages(*map(int, row.split("|")))


class Turns(Side):
    """A side whose background writer has its turns with it.

    Attributes:
        cpu: seconds that the background writer has used in them.
    """

    def __init__(self, instance: Instance, workload: Workload) -> None:
        """Start pgbench; stop it and the background writer."""
        self._writer = int(
            instance.query(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"
            )
        )
        super().__init__(instance, workload)
        self._before = cpu_seconds(self._writer)
        self.cpu = 0.0

    def _send(self, number: signal.Signals) -> None:
        super()._send(number)
        os.kill(self._writer, number)

    def end(self) -> None:
        """End pgbench, and leave the background writer to itself."""
        self.cpu = cpu_seconds(self._writer) - self._before
        os.kill(self._writer, signal.SIGCONT)
        super().end()


# ---- a comparison ----


@dataclass(frozen=True)
class Found:
    """What the turns of one server have come to.

    Attributes:
        cpu: per cent of the time that the background writer used.
        pool: our own counters; all 0 for stock.
    """

    pages: Pages
    cpu: float
    pool: dict[str, int]


def pool_of(instance: Instance, server: str) -> dict[str, int]:
    return {} if server == STOCK else pool_counters(instance)


def fill(directory: Path, scale: int) -> None:
    """Make pgbench's tables in a data directory that live.scratch has made."""
    with serving(directory, STOCK, {"shared_buffers": LOADING}) as instance:
        run = instance.run(instance.bin / "pgbench", "-i", "-q", "-F", "90", "-s", str(scale))
        if run.returncode != 0:
            raise TidepoolError(f"pgbench could not fill its tables:\n{run.stdout}")
        instance.query("VACUUM (FREEZE, ANALYZE)")


def replace_all(instance: Instance, workload: Workload) -> None:
    """Work until each buffer was replaced, on average, so that as many are dirty as always."""
    buffers = int(instance.query("SELECT setting FROM pg_settings WHERE name = 'shared_buffers'"))
    while pages(instance).evictions < buffers:
        throughput(instance, workload, 1, {})


def compare(
    servers: dict[str, Instance], server: str, setting: Setting, workload: Workload
) -> tuple[Found, Found, Price]:
    """Let both take turns; return what stock did, what the other did, and its price."""
    sides: dict[str, Turns] = {}

    def side(name: str) -> Turns:
        sides[name] = Turns(servers[name], workload)
        return sides[name]

    for instance in servers.values():
        replace_all(instance, workload)
    before = {name: pages(instance) for name, instance in servers.items()}
    pool_before = pool_of(servers["other"], server)
    measured = against(partial(side, "peer"), [side("other")], setting.rounds)
    pool_after = pool_of(servers["other"], server)
    pool = {name: pool_after[name] - pool_before[name] for name in pool_after}
    if pool:
        pool["cleaner_longest_hold"] = pool_after["cleaner_longest_hold"]
    peer, other = (
        Found(
            pages(servers[name]) - before[name],
            100 * sides[name].cpu / sum(end - begin for begin, end in sides[name].turns),
            pool if name == "other" else {},
        )
        for name in ("peer", "other")
    )
    return peer, other, prices([measured])[0]


def row(server: str, peer: Found, other: Found, price: Price) -> list[str]:
    """What is ours, and what stock did meanwhile."""
    evictions = max(1, other.pages.evictions)
    return [
        server,
        str(other.pages.evictions),
        str(other.pages.dirty),
        f"{other.pages.dirty_percent:.1f} ({peer.pages.dirty_percent:.1f})",
        str(other.pages.cleaned),
        str(other.pool.get("cleaned", "")),
        f"{other.pool.get('cleaner_looks', 0) / evictions:.1f}",
        str(other.pool.get("cleaner_longest_hold", "")),
        f"{other.cpu:.1f} ({peer.cpu:.1f})",
        str(price),
    ]


COLUMNS = [
    "(stock in brackets)",
    "evictions",
    "dirty",
    "% dirty",
    "cleaned",
    "pool's count",
    "looks each",
    "longest hold",
    "writer's % CPU",
    "% slower",
]


def compare_all(one: Path, two: Path, server: str, setting: Setting) -> list[list[str]]:
    """A row for each workload."""
    with ExitStack() as stack:
        servers = {
            "peer": stack.enter_context(serving(one, STOCK, setting.server)),
            "other": stack.enter_context(serving(two, server, setting.server)),
        }
        share_one_cpu(*servers.values())
        rows = [
            row(server, *compare(servers, server, setting, workload))
            for workload in setting.workloads()
        ]
    print("\n".join("; ".join(cells) for cells in rows), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithm", nargs="*", help="all by default")
    parser.add_argument("--buffers", default="128MB", help="shared_buffers, %(default)s")
    parser.add_argument(
        "--scale", type=int, default=40, help="of the table, 13 MB each, %(default)s"
    )
    parser.add_argument("--turn", type=float, default=2, help="seconds of a turn, %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each side, %(default)s")
    parser.add_argument("--delay", default="20ms", help="bgwriter_delay, %(default)s")
    parser.add_argument("--pages", default="1000", help="bgwriter_lru_maxpages, %(default)s")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"turns of half a second, a fifth of the rounds, {' '.join(QUICK)}",
    )
    options = parser.parse_args()
    setting = Setting(
        options.scale,
        0.5 if options.quick else options.turn,
        max(2, options.rounds // 5) if options.quick else options.rounds,
        {
            "shared_buffers": options.buffers,
            "bgwriter_delay": options.delay,
            "bgwriter_lru_maxpages": options.pages,
            "max_wal_size": "100GB",  # no checkpoint cleans meanwhile
            "full_page_writes": "off",
            "synchronous_commit": "off",
        },
    )
    with scratch() as one, scratch() as two:
        fill(one, setting.scale)
        fill(two, setting.scale)
        known = algorithms(two)
        names = options.algorithm or (QUICK if options.quick else known)
        tables = list(
            zip(*(compare_all(one, two, name, setting) for name in [STOCK, *names]), strict=True)
        )
    for workload, rows in zip(setting.workloads(), tables, strict=True):
        title = (
            f"{workload.name}, {options.buffers} of {13 * setting.scale} MB,"
            f" {options.pages} pages in {options.delay}"
        )
        report(f"background_writer_{workload.name.replace(' ', '_')}", title, COLUMNS, rows)


if __name__ == "__main__":
    told(main)
