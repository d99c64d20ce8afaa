"""What benchmarks with pgbench share: its tables on a live server, and paired throughput.

Machines are noisy, so times are never compared across minutes: the sides of a
comparison run by turns for a fraction of a second each, and what is reported
is the median over the rounds of the ratio within a round, with its standard
error, and the ratio of all processor time that the servers' sessions took.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from live import STOCK, serving

from tidepool.errors import TidepoolError
from tidepool.server import Instance

SCALE = 10  # 1,000,000 rows in 16,394 pages
# the table is less than a quarter of them, so that scans of it use no ring
BUFFERS = "1GB"
SLICE = 0.15  # seconds that one side runs before it is another's turn


@dataclass(frozen=True)
class Workload:
    """What clients do: pgbench's arguments, or a script of their own."""

    name: str
    script: str | None = None  # None: pgbench's select-only
    clients: int = 1


SELECT_ONLY = Workload("select-only")
UPDATES = Workload(
    "updates",
    "\\set aid random(1, 1000000)\n"
    "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n",
)
SCAN = Workload("full scan", "SELECT count(*) FROM pgbench_accounts;\n")
# four hits for a row (root, inner, leaf, heap), and little else
LOOKUPS = Workload(
    "index lookups",
    "SELECT sum(abalance) FROM generate_series(1, 2000) JOIN pgbench_accounts"
    " ON aid = random(1, 1000000);\n",
)
PLANS = ("max_parallel_workers_per_gather=0", "enable_hashjoin=off", "enable_mergejoin=off")


def fill(directory: Path) -> None:
    """Make pgbench's tables in a data directory that live.scratch has made.

    Everything is vacuumed, so that what reads writes nothing.
    """
    with serving(directory, STOCK, {"shared_buffers": BUFFERS}) as instance:
        run = instance.run(instance.bin / "pgbench", "-i", "-q", "-s", str(SCALE))
        if run.returncode != 0:
            raise TidepoolError(f"pgbench could not fill its tables:\n{run.stdout}")
        instance.query("VACUUM (FREEZE, ANALYZE)")


def warm(instance: Instance) -> None:
    """Bring the tables in."""
    instance.query("SELECT count(*) FROM pgbench_accounts")
    instance.query("SET enable_seqscan = off; SELECT count(aid) FROM pgbench_accounts")


@dataclass(frozen=True)
class Slice:
    """What one side did in its turn."""

    speed: float  # transactions a second, of all clients
    processor: float  # seconds that their sessions took


def processor_time(instance: Instance) -> float:
    """Return the seconds of processor time of all the server's processes that have ended."""
    pid = (instance.data / "postmaster.pid").read_text().split()[0]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def run(
    instance: Instance, workload: Workload, transactions: int, settings: Mapping[str, str]
) -> Slice:
    """Let each client do so many transactions."""
    script = ["-S"]
    if workload.script is not None:
        path = instance.directory / "script.sql"
        path.write_text(workload.script)
        path.chmod(0o644)
        script = ["-f", str(path)]
    given = [*PLANS, *(f"{name}={value}" for name, value in settings.items())]
    command = [
        *("env", "PGOPTIONS=" + " ".join(f"-c {setting}" for setting in given)),
        *(str(instance.bin / "pgbench"), "-n", "-M", "prepared", *script),
        *("-c", str(workload.clients), "-j", str(min(workload.clients, 2))),
        *("-t", str(transactions), "postgres"),
    ]
    before = processor_time(instance)
    done = instance.run(*command)
    found = re.search(r"tps = ([\d.]+) \(without initial", done.stdout)
    if done.returncode != 0 or not found:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}")
    return Slice(float(found.group(1)), processor_time(instance) - before)


def transactions_for(instance: Instance, workload: Workload, seconds: float = SLICE) -> int:
    """How many transactions of each client take about so long."""
    count = 1
    while (
        wanted := run(instance, workload, count, {}).speed / workload.clients * seconds
    ) > 2 * count:
        count = max(2 * count, round(wanted))
    return max(1, round(wanted))


def paired(sides: Sequence[Callable[[], Slice]], rounds: int) -> list[list[Slice]]:
    """Run all sides by turns; return what each did, by round.

    Every round begins with the next side, so that none profits from its place.
    """
    done: list[list[Slice]] = [[] for _ in sides]
    for turn in range(rounds):
        for step in range(len(sides)):
            i = (turn + step) % len(sides)
            done[i].append(sides[i]())
    return done


@dataclass(frozen=True)
class Price:
    """By how many per cent one side is slower than another that does the same."""

    time: float  # the median
    error: float  # its standard error
    processor: float  # of the sessions' processor time

    def __str__(self) -> str:
        return f"{self.time:+.1f} ± {self.error:.1f}, cpu {self.processor:+.1f}"


def price(base: Sequence[Slice], other: Sequence[Slice]) -> Price:
    """Compare two sides of paired()."""
    ratios = [100 * (a.speed / b.speed - 1) for a, b in zip(base, other, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    spent = sum(slice_.processor for slice_ in other) / sum(slice_.processor for slice_ in base)
    # of a normal distribution's median, whose quartiles are these
    error = 1.2533 * (high - low) / 1.349 / len(ratios) ** 0.5
    return Price(middle, error, 100 * (spent - 1))


def algorithms(directory: Path) -> list[str]:
    """Return the names that bufferpool.algorithm knows."""
    with serving(directory, "clock") as instance:
        instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
        return instance.query("SELECT * FROM pg_bufferpool_algorithms()").splitlines()


def pool_counters(instance: Instance) -> dict[str, int]:
    """Return the pool's counters by name."""
    text = instance.query("SELECT to_jsonb(s) FROM pg_stat_bufferpool s")
    return {name: value for name, value in json.loads(text).items() if isinstance(value, int)}
