"""What benchmarks of live servers share: one data directory, many servers, their counters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from time import perf_counter, sleep

from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES, Instance, server_directory

STOCK = "stock"  # the unpatched server; every other name is an algorithm of ours
LARGEST = "mq"  # the algorithm with most memory for a buffer

# that nothing else runs during a measurement
QUIET = {
    "autovacuum": "off",
    "fsync": "off",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}


def programs(server: str, build: str = "") -> Path:
    """Where the programs are of the unpatched server, or of ours (of another build of ours).

    Raises TidepoolError if they have not been built.
    """
    ours = server_directory()
    build = "stock" if server == STOCK else build
    if not build:
        return ours
    other = ours.parents[1] / f"pgsql-{build}" / "bin"
    if not (other / "initdb").exists():
        raise TidepoolError(f"no server in {other}", hint=f"build it: make postgres BUILD={build}")
    return other


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a place with an initialized data directory; delete it afterwards."""
    # a socket's path must be short, and the server's account must get there
    instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-bench-")), programs("clock"))
    try:
        instance.create(QUIET)
        yield instance.directory
    finally:
        instance.remove()


@contextmanager
def copied(original: Path) -> Iterator[Path]:
    """Give a copy of a data directory whose server is down; delete it afterwards."""
    instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-bench-")), programs("clock"))
    try:
        owner = original.stat()
        os.chown(instance.directory, owner.st_uid, owner.st_gid)
        subprocess.run(["cp", "-a", original / "data", instance.data], check=True)
        instance.configure({"unix_socket_directories": str(instance.directory)})
        yield instance.directory
    finally:
        instance.remove()


@contextmanager
def serving(
    directory: Path,
    server: str,
    settings: Mapping[str, str] | None = None,
    build: str = "",
    at: Path | None = None,
) -> Iterator[Instance]:
    """Run a server on the data directory: ours with this algorithm, or the unpatched one.

    After the algorithm and a colon there may be its parameters.  The settings
    hold for this run only.  There is no advice, unless they say so: it has a
    price of its own (advice_view.py).  ``at``: where its programs are, if elsewhere.
    """
    instance = Instance(directory, at or programs(server, build))
    file = instance.data / "postgresql.conf"
    before = file.read_text()
    if server != STOCK:
        algorithm, _, parameters = server.partition(":")
        instance.configure(
            {
                "shared_preload_libraries": LIBRARIES,
                "bufferpool.algorithm": algorithm,
                "bufferpool.parameters": parameters,
                "bufferpool.advice": "off",
            }
        )
    instance.configure(settings or {})
    try:
        instance.start()
        yield instance
    finally:
        if instance.running():
            instance.stop()
        file.write_text(before)


def huge_pages(directories: Sequence[Path], settings: Mapping[str, str]) -> str:
    """What huge_pages must be for servers that are compared: "on" if all can have them, or "off".

    With PostgreSQL's default the first server would take those that are
    there, and another do without.
    """
    try:
        with ExitStack() as stack:
            for directory in directories:
                stack.enter_context(serving(directory, LARGEST, {**settings, "huge_pages": "on"}))
    except TidepoolError:
        return "off"
    return "on"


def read_all(directory: Path) -> None:
    """Have the operating system cache a server's files."""
    for path in (directory / "data" / "base").rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass


@dataclass(frozen=True)
class Counters:
    """What PostgreSQL has counted, in blocks: of tables and indexes, by all processes.

    Those of a process are there once it has ended.
    """

    hits: int
    reads: int
    ring_reads: int  # those of the reads that went to the rings of large sequential scans
    writes: int  # those by sessions, which had to make room

    @property
    def hit_ratio(self) -> float:
        return self.hits / (self.hits + self.reads)

    def __sub__(self, earlier: Counters) -> Counters:
        return Counters(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))


def counters(instance: Instance) -> Counters:
    """Read pg_stat_io, which stock PostgreSQL has too, when all other sessions have ended."""
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    while instance.query(others) != "0":
        sleep(0.02)
    row = instance.query(
        "SELECT sum(hits), sum(read_bytes) / size,"
        " sum(read_bytes) FILTER (WHERE context = 'bulkread') / size,"
        " sum(write_bytes) FILTER (WHERE backend_type = 'client backend') / size"
        " FROM pg_stat_io, CAST(current_setting('block_size') AS int) AS size"
        " WHERE object = 'relation' GROUP BY size"
    )
    return Counters(*(int(float(value)) for value in row.split("|")))


def side_by_side(instance: Instance, scripts: Sequence[str]) -> tuple[list[str], list[float]]:
    """Run each script in a session of its own, all at the same time.

    Returns what each printed, and the seconds after which it ended.
    """

    def session(number: int) -> tuple[str, float]:
        file = instance.directory / f"session-{number}.sql"
        file.write_text(scripts[number])
        psql = (instance.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1")
        run = instance.run(*psql, "-f", file)
        if run.returncode != 0:
            raise TidepoolError(f"psql failed: {run.stdout.strip()}")
        return run.stdout, perf_counter() - begin

    begin = perf_counter()
    with ThreadPoolExecutor(len(scripts)) as threads:
        ended = list(threads.map(session, range(len(scripts))))
    return [answer for answer, _ in ended], [seconds for _, seconds in ended]


def told(main: Callable[[], None]) -> None:
    """Run a script; its user's errors are told in a line or two.

    Asked to end, it ends as if interrupted, so that no server stays behind.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main()
    except TidepoolError as error:
        hint = f"\nHINT:  {error.hint}" if error.hint else ""
        sys.exit(f"error: {error}{hint}")
    except KeyboardInterrupt:
        sys.exit(130)
