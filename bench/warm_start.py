#!/usr/bin/env python3
"""How soon a server is as fast again as before a restart, and what queries pay for it.

Clients run against a server until it is warm; its throughput then is what
counts.  Then it is stopped and started again, and the same clients begin at
once: a round for each of

natural       nothing is read but what queries ask for
autoprewarm   pg_prewarm reads back the pages that it has saved
warm          bufferpool.warm_start

all from the lists of the same moment.  Shown are medians over the rounds of the
seconds from the first connection until the throughput of five seconds is 90 %
of that before the stop; and, for the seconds until the warm start has read its
list, the mean and the 99th percentile of the transactions' latencies, to compare
with those of a natural start in the same seconds.

oltp    point reads, skewed, of a table three times as large as shared_buffers; hot
        rows are anywhere in it
recent  the same; the newest rows are the hot ones, and lie together
scans   as oltp, and one transaction in fifty a scan of a range of another table

Reads take the time of a device (slow_reads.c); where a page comes from, the
operating system's cache or not, does not matter:

disk    one head: 2 ms to get there, or as long as what lies between takes; 100 MB/s
volume  behind a network: 3,000 requests a second, 125 MB/s, 0.7 ms for an answer

Goals: at most half of the time of the better of the other two; latencies at most
1.05 times natural's.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from common import count, report
from live import scratch, serving, told

from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES, Instance

HERE = Path(__file__).resolve().parent
MIXES = ("oltp", "recent", "scans")
STARTS = ("natural", "autoprewarm", "warm")
SHARE = 0.9  # of the throughput before the stop
WINDOW = 5  # seconds of throughput
PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps")

LOOKUP = """
\\set place random_zipfian(1, {rows}, 1.05)
\\set key {key}
SELECT length(pad) FROM oltp WHERE id = :key;
"""
ANYWHERE = "(:place * 7919 + 104729) % {rows} + 1"
NEWEST = "{rows} + 1 - :place"
SCAN = """
\\set first random(1, 90)
SELECT sum(length(pad)) FROM report WHERE day BETWEEN :first AND :first + 2;
"""


class Device(NamedTuple):
    """What reads take; see slow_reads.c."""

    seek: int  # µs
    rate: int  # MB/s
    latency: int = 0  # µs


DEVICES = {"disk": Device(2000, 100), "volume": Device(333, 125, 700)}


@dataclass
class Start:
    """What one start gave."""

    seconds: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)


def settings(arguments: argparse.Namespace, start: str) -> Mapping[str, str]:
    """What a server that starts so is configured with."""
    return {
        "shared_buffers": f"{arguments.buffers}MB",
        "shared_preload_libraries": f"{LIBRARIES}, pg_prewarm",
        "pg_prewarm.autoprewarm": "on" if start == "autoprewarm" else "off",
        "pg_prewarm.autoprewarm_interval": "0",
        "bufferpool.warm_start": "on" if start == "warm" else "off",
        "bufferpool.warm_save_interval": "0",
        "io_workers": str(arguments.io_workers),
        "max_connections": "40",
    }


@contextmanager
def disk(arguments: argparse.Namespace) -> Iterator[None]:
    """Servers that are started meanwhile read from the slow device."""
    device = DEVICES[arguments.device]
    with tempfile.TemporaryDirectory(prefix="tidepool-disk-") as directory:
        Path(directory).chmod(0o755)
        library, state = Path(directory, "slow_reads.so"), Path(directory, "state")
        source = HERE / "slow_reads.c"
        command: list[str | Path] = ["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True)
        state.write_bytes(bytes(4096))
        state.chmod(0o666)
        added = {
            "LD_PRELOAD": str(library),
            "SLOW_DISK_STATE": str(state),
            "SLOW_DISK_SEEK": str(device.seek),
            "SLOW_DISK_RATE": str(device.rate),
            "SLOW_DISK_LATENCY": str(device.latency),
        }
        before = dict(os.environ)
        os.environ.update(added)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def make(instance: Instance, rows: int) -> None:
    """Make the tables: rows of 450 bytes, in both as many."""
    for table, key in (("oltp", "i AS id"), ("report", f"(i::bigint * 100 / {rows})::int AS day")):
        instance.query(
            f"CREATE TABLE {table} AS SELECT {key}, repeat('x', 420) AS pad"
            f" FROM generate_series(1, {rows}) i"
        )
    instance.query("ALTER TABLE oltp ADD PRIMARY KEY (id)", "CREATE INDEX ON report (day)")
    instance.query("CREATE EXTENSION pg_prewarm", "CREATE EXTENSION pg_bufferpool")
    instance.query("VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")


class Clients:
    """pgbench, with the throughput of each second and the latency of each transaction."""

    def __init__(self, instance: Instance, mix: str, rows: int, clients: int) -> None:
        self._logs = Path(tempfile.mkdtemp(prefix="log", dir=instance.directory))
        self._logs.chmod(0o777)
        self.tps: list[float] = []
        self._said = ""
        key = (NEWEST if mix == "recent" else ANYWHERE).format(rows=rows)
        scripts = {"lookup": (LOOKUP.format(rows=rows, key=key), 50)}
        if mix == "scans":
            scripts["scan"] = (SCAN, 1)
        files = []
        for name, (text, weight) in scripts.items():
            path = instance.directory / f"{name}.sql"
            path.write_text(text)
            files += ["-f", f"{path}@{weight}"]
        self._process = subprocess.Popen(
            [instance.clients / "pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", "1",
             "-T", "100000", "-P", "1", "-l", "--log-prefix", self._logs / "log", *files],
            cwd=instance.directory, env=instance.environment(), text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.began = perf_counter()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stderr or ():
            found = PROGRESS.match(line)
            if found:
                self.tps.append(float(found[2]))
            else:
                self._said = line.strip()

    def check(self) -> None:
        """Raise TidepoolError if pgbench has ended."""
        if self._process.poll() is not None:
            raise TidepoolError(f"pgbench has ended: {self._said}")

    def recent(self) -> float:
        """Throughput of the last seconds."""
        return statistics.mean(self.tps[-WINDOW:]) if len(self.tps) >= WINDOW else 0

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._reader.join()

    def latencies(self, seconds: float) -> list[float]:
        """Milliseconds of the transactions that ended within so many seconds."""
        rows = [
            row
            for path in self._logs.iterdir()
            for line in path.read_text().splitlines()
            if len(row := line.split()) >= 6  # the last line may be cut short
        ]
        times = [(int(row[4]) + int(row[5]) / 1e6, int(row[2]) / 1000) for row in rows]
        begin = min(time - latency / 1000 for time, latency in times)
        return [latency for time, latency in times if time - begin <= seconds]


def until_warm(clients: Clients, goal: float, limit: float) -> float:
    """Wait until the throughput is the goal; returns the seconds that it took, or the limit."""
    while perf_counter() - clients.began < limit:
        clients.check()
        if goal and clients.recent() >= goal:
            return perf_counter() - clients.began
        sleep(0.1)
    return limit


def p99(values: list[float]) -> float:
    """The 99th percentile."""
    return sorted(values)[int(0.99 * (len(values) - 1))]


def save(instance: Instance) -> None:
    """Save both lists, of the same moment."""
    instance.query("SELECT pg_bufferpool_save_warm(true)", "SELECT autoprewarm_dump_now()")


def restart(
    directory: Path, mix: str, start: str, goal: float, arguments: argparse.Namespace
) -> tuple[float, float, Clients]:
    """Start so, under load: seconds until warm and until the list was read, and the clients."""
    with serving(directory, arguments.algorithm, settings(arguments, start)) as instance:
        clients = Clients(instance, mix, arguments.rows, arguments.clients)
        try:
            seconds = until_warm(clients, goal, arguments.limit)
            took = 0.0
            if start == "warm":
                row = instance.query(
                    "SELECT extract(epoch FROM coalesce(ended, now()) - began), pages_read,"
                    " pages_wanted, pages_present, pages_no_room, pauses"
                    " FROM pg_stat_progress_bufferpool_warm"
                )
                took = float(row.split("|")[0])
                print(f"warm: seconds, read, wanted, present, no room, pauses: {row}", flush=True)
        finally:
            clients.end()
        instance.stop("immediate")  # keeps both lists as they were
        return seconds, took, clients


def measure(directory: Path, mix: str, arguments: argparse.Namespace) -> list[list[object]]:
    """All rounds of a mix."""
    starts = {start: Start() for start in STARTS}
    with serving(directory, arguments.algorithm, settings(arguments, "natural")) as instance:
        clients = Clients(instance, mix, arguments.rows, arguments.clients)
        until_warm(clients, 0, arguments.warm_up)
        before = statistics.mean(clients.tps[-4 * WINDOW :])
        save(instance)
        clients.end()
        instance.stop("immediate")
    print(f"{mix}: {before:.0f} transactions a second before the stop", flush=True)
    for _ in range(arguments.rounds):
        done = {
            start: restart(directory, mix, start, SHARE * before, arguments) for start in STARTS
        }
        window = max(done["warm"][1], 5)
        for start, (seconds, _, clients) in done.items():
            latencies = clients.latencies(window)
            starts[start].seconds.append(seconds)
            starts[start].mean.append(statistics.mean(latencies))
            starts[start].p99.append(p99(latencies))
            print(f"{mix} {start}: {seconds:.1f} s, in the first {window:.0f} s mean"
                  f" {starts[start].mean[-1]:.2f} ms, p99 {starts[start].p99[-1]:.1f} ms",
                  flush=True)  # fmt: skip
    return [
        [mix, start, statistics.median(s.seconds), statistics.median(s.mean),
         statistics.median(s.p99)]
        for start, s in starts.items()
    ]  # fmt: skip


def options(description: str | None, mixes: Sequence[str], warm_up: int) -> argparse.ArgumentParser:
    """Return what a server that is started, and its clients, have for options."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithm", default="arc")
    parser.add_argument("--buffers", type=count, default=96, help="MB (default %(default)s)")
    parser.add_argument("--clients", type=count, default=8)
    parser.add_argument("--device", choices=DEVICES, default="disk")
    parser.add_argument("--io-workers", type=count, default=3, help="(default %(default)s)")
    parser.add_argument(
        "--warm-up", type=count, default=warm_up, help="seconds before (default %(default)s)"
    )
    parser.add_argument("--limit", type=count, default=60, help="seconds for a start, at most")
    parser.add_argument("--mix", choices=mixes, action="append", help="(default: all)")
    return parser


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments, and how many rows a table has."""
    arguments = parser.parse_args()
    arguments.rows = 3 * arguments.buffers * 1024 * 1024 // 450
    return arguments


def main() -> None:
    parser = options(__doc__, MIXES, warm_up=80)
    parser.add_argument("--rounds", type=count, default=1)
    arguments = parsed(parser)
    rows = []
    with scratch() as directory:
        with serving(directory, arguments.algorithm, settings(arguments, "natural")) as instance:
            make(instance, arguments.rows)
        with disk(arguments):
            for mix in arguments.mix or MIXES:
                rows += measure(directory, mix, arguments)
    if not rows:
        raise TidepoolError("nothing was measured")
    report(
        "warm_start",
        f"Starts of a server with {arguments.buffers} MB of shared_buffers, {arguments.algorithm},"
        f" {arguments.device}, {arguments.io_workers} I/O workers",
        ["mix", "start", "s to 90 %", "mean ms", "p99 ms"],
        rows,
    )


if __name__ == "__main__":
    told(main)
