"""Runs of the workload on a live server, each under one algorithm, recorded from its start."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from tidepool.demo.workload import Work
from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES, Instance
from tidepool.simulation.sizes import PAGE_BYTES

DATABASE = "demo"  # a copy of the database that was loaded, for each run
_PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps")

SETTINGS = {
    "shared_preload_libraries": LIBRARIES,
    # a reference that finds its process's ring full would be missing from the recording
    "bufferpool.trace_buffers": "65536",
    # the same references in each run: nothing that comes when time has come
    "autovacuum": "off",
    "checkpoint_timeout": "1d",
    "max_wal_size": "100GB",
    # ranges of lineitem are read through their index
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # nothing of this is to last
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


@dataclass(frozen=True)
class Run:
    """What a server counted between the start and the end of its recording.

    ``reads`` are pages that were read, ``extends`` new ones.
    """

    algorithm: str
    frames: int
    hits: int
    reads: int
    extends: int
    recording: Path

    @property
    def hit_ratio(self) -> float:
        """Hits by references."""
        return self.hits / (self.hits + self.reads + self.extends)


def begin(instance: Instance, work: Work, algorithms: Collection[str]) -> None:
    """Make and start an instance.

    Raises:
        TidepoolError: it fails, or does not have all of the algorithms.
    """
    instance.create(SETTINGS | {"shared_buffers": f"{work.frames * PAGE_BYTES // 1024}kB"})
    instance.start()
    instance.query("CREATE EXTENSION pg_bufferpool")
    known = instance.query("SELECT name FROM pg_bufferpool_algorithms() ORDER BY 1").split()
    for algorithm in algorithms:
        if algorithm not in known:
            raise TidepoolError(
                f'the server has no algorithm "{algorithm}"', hint=f"it has {', '.join(known)}"
            )


def run(instance: Instance, work: Work, algorithm: str, progress: Callable[[int], None]) -> Run:
    """Run the workload under an algorithm, from empty buffers on and the data as loaded.

    ``progress`` is told of numbers of transactions.

    Raises:
        TidepoolError: the server or pgbench failed, or the recording is not whole.
    """
    recording = instance.directory / f"{algorithm}.rec"
    template = "template1"  # the database that is copied must have no session
    instance.query(f"DROP DATABASE IF EXISTS {DATABASE}", database=template)
    instance.query(
        f"CREATE DATABASE {DATABASE} TEMPLATE postgres STRATEGY file_copy", database=template
    )
    instance.stop()
    instance.configure({"bufferpool.algorithm": algorithm})
    instance.start()
    instance.query(
        "SELECT pg_bufferpool_reset(), pg_stat_reset_bufferpools(),"
        f" pg_bufferpool_trace_start('{recording}')",
        database=DATABASE,
    )
    before = 0.0
    for line in instance.lines(*work.command(instance, DATABASE)):
        if found := _PROGRESS.match(line):
            now, rate = map(float, found.groups())
            progress(round((now - before) * rate))
            before = now
    out = instance.query(
        "SELECT hits, reads, extends, pg_bufferpool_trace_stop() FROM pg_stat_get_bufferpools()",
        database=DATABASE,
    )
    dropped = instance.query("SELECT dropped FROM pg_stat_bufferpool_trace")
    if dropped != "0":
        raise TidepoolError(f"recording under {algorithm}: {dropped} events dropped")
    hits, reads, extends = map(int, out.split("|")[:3])
    return Run(algorithm, work.frames, hits, reads, extends, recording)
