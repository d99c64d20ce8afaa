"""What benchmarks with pgbench share: its tables on a live server, and who is slower by how much.

Machines are noisy, so times are never compared across minutes, nor across
seconds.  Each side of a comparison has a pgbench that stays connected; all are
stopped (SIGSTOP) but one, by turns for hundredths of a second each, and what is
reported is the median over the rounds of the ratio within a round, with its
standard error.  Clients and servers share one CPU that nothing else here uses:
that spares the waking of one CPU by another, which varies more than anything.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from live import STOCK, counters, serving

from tidepool.errors import TidepoolError
from tidepool.server import Instance

SCALE = 10  # 1,000,000 rows in 16,394 pages
# the table is less than a quarter of them, so that scans of it use no ring
BUFFERS = "1GB"
PARTS = 16  # of the rows; each a table that is scanned in some milliseconds
CPUS = sorted(os.sched_getaffinity(0))
ALL_DAY = 100_000  # seconds
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Workload:
    """What clients do.

    Attributes:
        name: for a table's head.
        scripts: of pgbench, one drawn for each transaction; none: its own select-only.
        clients: how many do it.
        turn: seconds in which one client can do several transactions.
        rest: after a turn, as a share of it, until the servers have ended what was begun.
        settings: of its sessions, so that the plans are the ones that are meant.
    """

    name: str
    scripts: tuple[str, ...] = ()
    clients: int = 1
    turn: float = 0.012
    rest: float = 0.25
    settings: tuple[str, ...] = ("enable_hashjoin=off", "enable_mergejoin=off")


SELECT_ONLY = Workload("select-only")
UPDATES = Workload(
    "updates",
    (
        "\\set aid random(1, 1000000)\n"
        "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;\n",
    ),
)
SCAN = Workload(
    "full scan", tuple(f"SELECT count(*) FROM scanned_{i};\n" for i in range(PARTS)), turn=0.03
)
# four hits for a row (root, inner, leaf, heap), and little else
LOOKUPS = Workload(
    "index lookups",
    (
        "SELECT sum(abalance) FROM pgbench_accounts JOIN"
        " (SELECT random(1, 1000000) AS aid FROM generate_series(1, 300) OFFSET 0) USING (aid);\n",
    ),
)


def fill(directory: Path) -> None:
    """Make pgbench's tables, and those to scan, in a data directory that live.scratch has made.

    Everything is vacuumed, so that what reads writes nothing.
    """
    with serving(directory, STOCK, {"shared_buffers": BUFFERS}) as instance:
        initialize(instance, SCALE)
        for i in range(PARTS):
            instance.query(
                f"CREATE TABLE scanned_{i} AS"
                f" SELECT * FROM pgbench_accounts WHERE aid * {PARTS} / {SCALE}00001 = {i}"
            )
        instance.query("VACUUM (FREEZE, ANALYZE)")


def initialize(instance: Instance, scale: int) -> None:
    """Make pgbench's tables."""
    run = instance.run(instance.bin / "pgbench", "-i", "-q", "-s", str(scale))
    if run.returncode != 0:
        raise TidepoolError(f"pgbench could not fill its tables:\n{run.stdout}")


def warm(instance: Instance) -> None:
    """Bring the tables in, and the index."""
    for i in range(PARTS):
        instance.query(f"SELECT count(*) FROM scanned_{i}")
    count = "SELECT count(*) FROM pgbench_accounts"
    instance.query(f"SET enable_indexonlyscan = off; SET enable_bitmapscan = off; {count}")
    instance.query(f"SET enable_seqscan = off; {count}")


@contextmanager
def all_hits(instance: Instance) -> Iterator[None]:
    """Nothing that sessions do meanwhile may miss, except some pages of the catalogs."""
    before = counters(instance)
    yield
    done = counters(instance) - before
    if done.reads > 100 + 1e-4 * done.hits:
        raise TidepoolError(f"{done.reads} of {done.hits + done.reads} references missed")


def command(
    instance: Instance, workload: Workload, settings: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return pgbench's command line, but for how long it runs, and its environment."""
    line = [str(instance.clients / "pgbench"), "-n", "-M", "prepared"]
    for i, script in enumerate(workload.scripts):
        path = instance.directory / f"script-{i}.sql"
        path.write_text(script)
        path.chmod(0o644)
        line += ["-f", str(path)]
    if not workload.scripts:
        line.append("-S")
    line += ["-c", str(workload.clients), "-j", str(min(workload.clients, os.cpu_count() or 1))]
    given = [*workload.settings, *(f"{name}={value}" for name, value in settings.items())]
    options = " ".join(f"-c {setting}" for setting in given)
    return line, instance.environment() | {"PGOPTIONS": options}


def run_to_end(
    instance: Instance, workload: Workload, length: tuple[str, int], settings: Mapping[str, str]
) -> str:
    """Run until the end, ("-T", seconds) or ("-t", transactions); return what pgbench says."""
    line, environment = command(instance, workload, settings)
    done = subprocess.run(
        [*line, *map(str, length)],
        env=environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}")
    return done.stdout


def throughput(
    instance: Instance, workload: Workload, seconds: int, settings: Mapping[str, str]
) -> float:
    """Run for so long; return the transactions a second."""
    said = run_to_end(instance, workload, ("-T", seconds), settings)
    found = re.search(r"tps = ([\d.]+) \(without initial", said)
    if not found:
        raise TidepoolError(f"pgbench failed:\n{said}")
    return float(found.group(1))


# ---- who is slower by how much ----


def postmaster(instance: Instance) -> int:
    """Return the process that starts all others of a running server."""
    return int((instance.data / "postmaster.pid").read_text().split()[0])


def share_one_cpu(*instances: Instance) -> None:
    """Let what these servers start from now on use the last CPU only, and this process others."""
    for instance in instances:
        os.sched_setaffinity(postmaster(instance), CPUS[-1:])
    os.sched_setaffinity(0, CPUS[:-1] or CPUS)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) * 1e-9


class Side:
    """One side of a comparison: a pgbench that is stopped, but when it is its turn.

    Attributes:
        turns: when they began and ended, in seconds since the epoch.
    """

    def __init__(
        self, instance: Instance, workload: Workload, settings: Mapping[str, str] | None = None
    ) -> None:
        """Start pgbench and, when all its clients are connected, stop it."""
        self.turns: list[tuple[float, float]] = []
        self._workload = workload
        self._log = instance.directory
        line, environment = command(instance, workload, settings or {})
        environment["PGAPPNAME"] = f"side {next(_numbers)}"
        line += ["-T", str(ALL_DAY), "--log", f"--log-prefix={self._log}/transactions"]
        self._pgbench = subprocess.Popen(
            line,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        os.sched_setaffinity(self._pgbench.pid, os.sched_getaffinity(postmaster(instance)))
        connected = (
            "SELECT count(*) FROM pg_stat_activity"
            f" WHERE application_name = '{environment['PGAPPNAME']}'"
        )
        while int(instance.query(connected)) < workload.clients and self._pgbench.poll() is None:
            time.sleep(0.01)
        time.sleep(0.02)  # until they have begun
        self._send(signal.SIGSTOP)

    def _send(self, number: signal.Signals) -> None:
        if self._pgbench.poll() is not None:
            raise TidepoolError(f"pgbench failed:\n{self._pgbench.communicate()[0]}")
        self._pgbench.send_signal(number)

    def turn(self) -> None:
        """Run for a turn."""
        turn([self])

    def run_or_stop(self, run: bool) -> None:
        """Let the clients go on, or stop them."""
        self._send(signal.SIGCONT if run else signal.SIGSTOP)

    def sleep(self, share: float) -> None:
        """Sleep for this share of a turn."""
        time.sleep(self._workload.turn * share)

    def rest(self) -> None:
        """Wait until the server has ended what was begun."""
        self.sleep(self._workload.rest)

    def end(self) -> None:
        """End pgbench, as if its time was up."""
        if self._pgbench.poll() is None:
            self._pgbench.send_signal(signal.SIGALRM)
            self._pgbench.send_signal(signal.SIGCONT)
            self._pgbench.communicate()

    def latencies(self) -> np.ndarray:
        """Return the mean seconds of a transaction in each turn, once all have ended.

        nan if none had both its begin and its end in that turn, or the clock was set back.
        """
        took, ended = self._transactions()
        begins, ends = np.array(self.turns).T
        number = np.searchsorted(begins, ended - took) - 1
        inside = (number >= 0) & (ended < ends[number])
        count = np.bincount(number[inside], minlength=len(begins))
        total = np.bincount(number[inside], took[inside], minlength=len(begins))
        return np.divide(total, count, out=np.full(len(begins), np.nan), where=total > 0)

    def throughputs(self, skip: float) -> np.ndarray:
        """Return the transactions a second in each turn, without its first ``skip`` seconds."""
        _, ended = self._transactions()
        ended.sort()
        begins, ends = np.array(self.turns).T
        begins = begins + skip
        return (np.searchsorted(ended, ends) - np.searchsorted(ended, begins)) / (ends - begins)

    def _transactions(self) -> tuple[np.ndarray, np.ndarray]:
        """Read and delete the logs; return how long each took, and when it ended."""
        files = list(self._log.glob(f"transactions.{self._pgbench.pid}*"))
        logged = np.concatenate([np.loadtxt(file, usecols=(2, 4, 5), ndmin=2) for file in files])
        for file in files:
            file.unlink()
        return logged[:, 0] * 1e-6, logged[:, 1] + logged[:, 2] * 1e-6


def turn(parts: Sequence[Side]) -> None:
    """Let these run together for a turn of the first."""
    begin = time.time()
    for part in parts:
        part.run_or_stop(True)
    parts[0].sleep(1)
    end = time.time()
    for part in parts:
        part.run_or_stop(False)
        part.turns.append((begin, end))
    parts[0].rest()


def pinned(instance: Instance, workload: Workload) -> list[Side]:
    """Divide a side by CPUs, with its clients on one CPU with the sessions that serve them.

    Left to the system, turns differ more (miss_path.py --apart).
    """
    server = postmaster(instance)
    cpus = sorted(os.sched_getaffinity(server))
    used = cpus[-workload.clients :]
    parts: list[Side] = []
    try:
        for i, cpu in enumerate(used):
            clients = workload.clients // len(used) + (i < workload.clients % len(used))
            os.sched_setaffinity(server, [cpu])  # of all that it starts from now on
            parts.append(Side(instance, replace(workload, clients=clients)))
    except BaseException:
        for part in parts:
            part.end()
        raise
    finally:
        os.sched_setaffinity(server, cpus)
    return parts


def against(base: Callable[[], Side], others: Sequence[Side], rounds: int) -> np.ndarray:
    """Let others take turns with a base; return the latencies, [round, side], the base's first.

    What a side's predecessor left in the caches matters.  So each of the
    others follows a base, and a base one of the others.
    """
    sides = [side for other in others for side in (base(), other)]
    try:
        for _ in range(rounds):
            for side in sides:
                side.turn()
    finally:
        for side in sides:
            side.end()
    found = np.stack([side.latencies() for side in sides], axis=1)
    return np.column_stack([found[:, 0::2].mean(axis=1), found[:, 1::2]])


@dataclass(frozen=True)
class Price:
    """By how many per cent one side is slower than another that does the same."""

    median: float
    error: float  # its standard error

    def __str__(self) -> str:
        return f"{self.median:+.1f} ± {self.error:.1f}"


def medians(starts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return medians over all rounds and their standard errors.

    ``starts`` has an array [round, ...] for each time that the servers were
    started; with several, the error is that of the mean of their medians.
    """
    together = np.concatenate(starts)
    if np.isnan(together).mean() > 0.5:
        raise TidepoolError("in most rounds, a side completed no transaction in its turn")
    if len(starts) > 1:
        errors = np.std([np.nanmedian(start, axis=0) for start in starts], axis=0, ddof=1)
        errors /= len(starts) ** 0.5
    else:
        low, high = np.nanquantile(together, [0.25, 0.75], axis=0)
        # of a normal distribution's median, whose quartiles are these
        errors = 1.2533 * (high - low) / 1.349 / len(together) ** 0.5
    return np.nanmedian(together, axis=0), errors


def slower(latencies: np.ndarray) -> np.ndarray:
    """By how many per cent all sides are slower than the first in each round of against."""
    return 100 * (latencies[:, 1:] / latencies[:, :1] - 1)


def prices(latencies: Sequence[np.ndarray]) -> list[Price]:
    """Compare all sides with the first one: an array of against for each start of the servers."""
    found = medians([slower(start) for start in latencies])
    return [Price(*pair) for pair in zip(*(part.tolist() for part in found), strict=True)]


def algorithms(directory: Path, wanted: Sequence[str] = ()) -> list[str]:
    """Return the algorithms that are wanted, or all that the server has.

    Those wanted may have parameters, after a colon.  Raises TidepoolError if the
    server lacks one: it would begin with the clock instead.
    """
    with serving(directory, "clock") as instance:
        instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
        known = instance.query("SELECT * FROM pg_bufferpool_algorithms()").splitlines()
    for name in wanted:
        if name.split(":")[0] not in known:
            raise TidepoolError(f"no algorithm {name}", hint=f"there are {', '.join(known)}")
    return list(wanted) or known


def pool_counters(instance: Instance) -> dict[str, int]:
    """Return the counters of all pools together, by name."""
    sums: dict[str, int] = {}
    for text in instance.query("SELECT to_jsonb(s) FROM pg_stat_bufferpool s").splitlines():
        for name, value in json.loads(text).items():
            if isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
    return sums
