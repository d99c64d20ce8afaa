"""What the experiments on live servers share: instances filled by pgbench, and paired throughput.

Machines are noisy, so throughputs are never compared across minutes: the
sides of a comparison run by turns for a fraction of a second each, and what
is reported is the median over the rounds of the ratio within a round.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidepool.server import Instance

ROOT = Path(__file__).resolve().parent.parent
OURS = ROOT / "build" / "pgsql" / "bin"
STOCK = ROOT / "build" / "pgsql-stock" / "bin"
LIBRARIES = "pg_bp_lru,pg_bp_osic,pg_bp_arc,pg_bp_lirs,pg_bp_rcrd,pg_bp_car,pg_bp_lab"

SLICE = 0.4  # seconds that one side runs before it is another's turn


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


@contextmanager
def instances(
    bins: Sequence[Path], settings: Mapping[str, str], scale: int
) -> Iterator[list[Instance]]:
    """Started instances filled by pgbench, one for each directory of programs; removed at the end.

    Autovacuum is off and everything is vacuumed, so that what reads writes nothing.
    """
    made: list[Instance] = []
    try:
        for place in bins:
            instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-bench-")), place)
            made.append(instance)
            instance.create({"autovacuum": "off", "fsync": "off", "jit": "off", **settings})
            instance.start()
            command = ("pgbench", "-i", "-q", "-s", str(scale), "--unlogged-tables")
            run = instance.run(instance.bin / command[0], *command[1:])
            if run.returncode != 0:
                raise SystemExit(f"pgbench could not fill the tables:\n{run.stdout}")
            instance.query("VACUUM (FREEZE, ANALYZE)")
            instance.query("CHECKPOINT")
        yield made
    finally:
        for instance in made:
            instance.remove()


def restart(instance: Instance, settings: Mapping[str, str], bin_: Path | None = None) -> None:
    """Start again with other settings, perhaps by other programs, and bring the tables in."""
    instance.stop()
    instance.bin = bin_ or instance.bin
    instance.configure(settings)
    instance.start()
    instance.query("SELECT count(*) FROM pgbench_accounts")
    instance.query("SET enable_seqscan = off; SELECT count(aid) FROM pgbench_accounts")


def run(
    instance: Instance, workload: Workload, transactions: int, settings: Mapping[str, str]
) -> float:
    """Return the transactions per second of all clients, of whom each does so many."""
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
    done = instance.run(*command)
    found = re.search(r"tps = ([\d.]+) \(without initial", done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"pgbench failed:\n{done.stdout}")
    return float(found.group(1))


def transactions_for(instance: Instance, workload: Workload, seconds: float = SLICE) -> int:
    """How many transactions of each client take about so long."""
    count = 1
    while (speed := run(instance, workload, count, {}) / workload.clients) * seconds > 2 * count:
        count = max(2 * count, round(speed * seconds))
    return max(1, round(speed * seconds))


def paired(sides: Sequence[Callable[[], float]], rounds: int) -> list[list[float]]:
    """Run all sides by turns; return each one's throughputs relative to the first's of the round.

    Every round begins with the next side, so that none profits from its place.
    """
    ratios: list[list[float]] = [[] for _ in sides]
    for turn in range(rounds):
        speeds = {}
        for step in range(len(sides)):
            i = (turn + step) % len(sides)
            speeds[i] = sides[i]()
        for i, speed in speeds.items():
            ratios[i].append(speed / speeds[0])
    return ratios


def slower(ratios: Sequence[float]) -> float:
    """Return by how many per cent of time a side was slower, by the median."""
    return 100 * (1 / statistics.median(ratios) - 1)


def algorithms(instance: Instance) -> list[str]:
    """Return the names that bufferpool.algorithm knows; the server is ours, with all libraries."""
    instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
    return instance.query("SELECT * FROM pg_bufferpool_algorithms()").splitlines()


def counters(instance: Instance) -> dict[str, int]:
    """Return the pool's counters."""
    text = instance.query("SELECT to_jsonb(s) - 'stats_reset' FROM pg_stat_bufferpool s")
    return {name: int(value) for name, value in re.findall(r'"(\w+)": (\d+)', text)}
