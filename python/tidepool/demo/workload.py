"""The demo's workload: requests to YCSB's table and, now and then, queries of TPC-H's.

Every client draws each of its transactions from the same mix, by a seed of
its own: all runs do the same work.  Only when clients' references meet
differs from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidepool.server import Instance
from tidepool.workloads import tpch, ycsb

CLIENTS = 8
SEED = 1
DAYS = 2526  # of l_shipdate, from 1992-01-02 on

# A query's days, which begin with a random one, and the query.  The rows are found
# by the BRIN index, so that their pages go through shared buffers as all else; a
# scan of the whole table would go through a ring, whatever the algorithm.
QUERIES = {
    # Q1 of a twentieth of the days
    "pricing": (
        126,
        """
        SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
            sum(l_extendedprice * (1 - l_discount)), avg(l_discount), count(*)
        FROM lineitem WHERE {range} GROUP BY l_returnflag, l_linestatus
        """,
    ),
    # Q6 of a quarter of a year
    "revenue": (
        91,
        """
        SELECT sum(l_extendedprice * l_discount) FROM lineitem
        WHERE {range} AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
        """,
    ),
    # Q14 of a month
    "promotion": (
        30,
        """
        SELECT sum(l_extendedprice * (1 - l_discount)) FILTER (WHERE p_type LIKE 'PROMO%')
            / sum(l_extendedprice * (1 - l_discount))
        FROM lineitem JOIN part ON l_partkey = p_partkey WHERE {range}
        """,
    ),
}
# Of so many transactions one is a query of each kind: many short ones rather than
# a few long ones, since runs differ by which of them happen to overlap.  Queries
# make three references for two that requests make.
PER_QUERY = 350
UPDATES = 17  # of so many


@dataclass(frozen=True)
class Work:
    """What is loaded and done, ``scale`` times the usual.

    The usual is 240 MB, of which lineitem has 90 and usertable 130, and 16 MB
    of shared buffers.  Of the sizes from 16 to 64 MB this tells algorithms
    apart best: by up to 8 percentage points of hit ratio, where two runs
    under the same algorithm differ by about 1 (750,000 references, recorded
    under clock and lirs, replayed).
    """

    scale: float = 1.0

    @property
    def records(self) -> int:
        """Of usertable."""
        return max(1, round(100_000 * self.scale))

    @property
    def scale_factor(self) -> float:
        """TPC-H's."""
        return max(tpch.LEAST_SCALE, 0.1 * self.scale)

    @property
    def frames(self) -> int:
        """Shared buffers; clients must find some that are not pinned."""
        return max(128, round(2048 * self.scale))

    @property
    def transactions(self) -> int:
        """Of each client."""
        return max(10, round(8000 * self.scale))

    @property
    def disk(self) -> int:
        """Bytes that all of this takes at most while it runs."""
        return round(0.2e9 + 0.8e9 * self.scale)

    def load(self, instance: Instance, progress: Callable[[str], None]) -> None:
        """Load the tables into the database ``postgres``; ``progress`` is told what begins."""
        tpch.load(
            instance, self.scale_factor, ("part", "lineitem"), clustered=True, progress=progress
        )
        progress("loading usertable")
        ycsb.load(instance, self.records)

    def command(self, instance: Instance, database: str) -> list[str | Path]:
        """Write the scripts into the instance's directory; return what pgbench is called with."""
        scripts = {name: (1, _script(name)) for name in QUERIES}
        scripts["update"] = (UPDATES, ycsb.update_script(self.records))
        others = sum(weight for weight, _ in scripts.values())
        scripts["read"] = (PER_QUERY - others, ycsb.read_script(self.records))
        command: list[str | Path] = [instance.bin / "pgbench", "--no-vacuum", "--progress=1"]
        # A client draws by its thread's seed, so each has a thread.
        command += [f"--client={CLIENTS}", f"--jobs={CLIENTS}", f"--random-seed={SEED}"]
        command += [f"--transactions={self.transactions}"]
        for name, (weight, text) in scripts.items():
            path = instance.directory / f"{name}.sql"
            path.write_text(text)
            command.append(f"--file={path}@{weight}")
        return [*command, database]


def _script(query: str) -> str:
    days, text = QUERIES[query]
    first = "date '1992-01-02' + :day"
    sql = text.format(range=f"l_shipdate BETWEEN {first} AND {first} + {days - 1}")
    return f"\\set day random(0, {DAYS - days})\n{' '.join(sql.split())};\n"
