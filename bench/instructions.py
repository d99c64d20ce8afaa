#!/usr/bin/env python3
"""What a hit and a miss cost in instructions and cache misses, beside unpatched PostgreSQL.

Times vary by more than what is to be found; counts hardly do.  A server runs
under valgrind's cachegrind, which counts the instructions of its processes (not
those of the kernel) and simulates two levels of caches.  There are two workloads:

- lookups of random rows of pgbench's accounts through the index, a nested loop in
  one statement: four references for a row;
- scans of random 30 % of its rows, by bitmaps of a BRIN index: a reference for a
  block, and 61 rows on it.

With large shared buffers all references are hits; with small ones some are
misses, as PostgreSQL itself counts them.  One session does little and one much,
and the difference is taken, so what the start of a session costs drops out.  The
table shows, of each algorithm:

- a hit: how many more instructions than stock has for a reference when all is
  resident, also in per cent of all that the query does;
- a miss: blocks read for a reference, as a multiple of stock's; how many more
  instructions than stock has for each of them, beside what hits cost; and how
  many more accesses to data neither level of the caches had.

The first algorithm has a second row, in which sessions give bufferpool.advice its
sample of the references.

One session alone has no contention, and cachegrind knows no prefetching: a
prefetched line counts as a miss.  For time, see hit_path.py and miss_path.py.

Needs make postgres, make postgres BUILD=stock, and valgrind, which it installs if
it may.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from common import count, report
from devices import ROOT, SKIPPED
from dots import Panel, draw
from live import STOCK, copied, programs, scratch, serving, told
from pgbench import algorithms, initialize

from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES, Instance

ADVISED = ", with advice"  # of an algorithm's name
SCALE = 5  # 500,000 rows in 8,197 blocks, and 1,374 of index
ROWS = 500_000
HITS = "256MB"
MISSES = "16MB"  # a fifth
# a level for each core, as CPUs have: 32 kB and 2 MB
CACHES = ("--cache-sim=yes", "--D1=32768,8,64", "--LL=2097152,16,64")
EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, COSTS OFF)"
READ_ALL = (
    "SET enable_indexscan = on",
    "SELECT sum(abalance) FROM (SELECT * FROM pgbench_accounts ORDER BY aid) AS s",
    "RESET enable_indexscan",
)


# ---- what is done ----


@dataclass(frozen=True)
class Workload:
    """What a session does.

    Attributes:
        name: for the table's title.
        little, much: how often.
        plan: what its plan has, so that what is measured is what is meant.
        settings: of the server.
    """

    name: str
    little: int
    much: int
    plan: str
    settings: Mapping[str, str]

    def statements(self, times: int) -> list[str]:
        """Return its SQL."""
        if self is LOOKUPS:
            rows = f"SELECT random(1, {ROWS}) AS aid FROM generate_series(1, {times}) OFFSET 0"
            look_up = f"SELECT sum(abalance) FROM pgbench_accounts JOIN ({rows}) USING (aid)"
            return ["SELECT setseed(0.5)", f"{EXPLAIN} {look_up}"]
        random = Random(0)
        begins = [random.randrange(ROWS * 7 // 10) for _ in range(times)]
        return [
            f"{EXPLAIN} SELECT sum(abalance) FROM pgbench_accounts"
            f" WHERE aid BETWEEN {begin} AND {begin + ROWS * 3 // 10}"
            for begin in begins
        ]


LOOKUPS = Workload(
    "lookups",
    10_000,
    40_000,
    "Nested Loop",
    {"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_bitmapscan": "off"},
)
SCANS = Workload("scans", 4, 16, "Bitmap Heap Scan", {"enable_indexscan": "off"})


def settings(server: str, workload: Workload, buffers: str) -> dict[str, str]:
    """What postgresql.conf of this server has."""
    common = {
        "shared_buffers": buffers,
        "fsync": "off",
        "autovacuum": "off",
        "jit": "off",
        "enable_seqscan": "off",
        "max_parallel_workers_per_gather": "0",
        "io_method": "sync",
        **workload.settings,
    }
    if server == STOCK:
        return common
    algorithm, _, parameters = server.removesuffix(ADVISED).partition(":")
    return common | {
        "bufferpool.advice": "on" if server.endswith(ADVISED) else "off",
        "shared_preload_libraries": LIBRARIES,
        "bufferpool.algorithm": algorithm,
        "bufferpool.parameters": parameters,
    }


# ---- what it costs ----


@dataclass(frozen=True)
class Counts:
    """Of a session, or of one reference."""

    instructions: float
    missed: float  # accesses to data that neither level of the caches had
    references: float  # to blocks
    reads: float  # blocks

    def __sub__(self, other: Counts) -> Counts:
        return Counts(
            self.instructions - other.instructions,
            self.missed - other.missed,
            self.references - other.references,
            self.reads - other.reads,
        )

    def each(self) -> Counts:
        """Return the counts of one reference."""
        n = self.references
        return Counts(self.instructions / n, self.missed / n, 1, self.reads / n)


@contextmanager
def counted(instance: Instance) -> Iterator[None]:
    """Run the server under cachegrind, which writes what its processes did to ``counts``."""
    wrapper = instance.directory / "counted"
    valgrind = (
        "valgrind",
        "--tool=cachegrind",
        "--cachegrind-out-file=/dev/null",
        f"--log-file={instance.directory}/counts",
        *CACHES,
        str(instance.bin / "postgres"),
    )
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(valgrind)} "$@"\n')
    wrapper.chmod(0o755)
    control = (instance.bin / "pg_ctl", "-D", instance.data, "-l", instance.log, "-w", "-s")
    started = instance.run(*control, "-t", "300", "-p", wrapper, "start")
    if started.returncode != 0:
        raise TidepoolError(f"the server does not start under valgrind:\n{started.stdout}")
    try:
        yield
    finally:
        instance.run(*control, "-t", "300", "stop")


def session(instance: Instance, workload: Workload, times: int) -> tuple[str, int, int]:
    """Do the work so often; return the session's process, references and blocks read."""
    text = instance.query("SELECT pg_backend_pid()", *workload.statements(times))
    plans = text.split("Aggregate")[1:]
    references = reads = 0
    for plan in plans:
        # the first is that of the whole statement
        buffers = re.search(r"Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?", plan)
        if workload.plan not in plan or not buffers:
            raise TidepoolError(f"not the plan that is measured:\n{plan}")
        hit, read = (int(number or 0) for number in buffers.groups())
        references += hit + read
        reads += read
    return text.split(maxsplit=1)[0], references, reads


def total(pid: str, kind: str, text: str) -> int:
    """Return how many events of this kind cachegrind has counted in a process."""
    found = re.search(rf"=={pid}== {kind}: +([\d,]+)", text)
    if not found:
        raise TidepoolError(f"cachegrind has not counted {kind} of process {pid}:\n{text[-2000:]}")
    return int(found.group(1).replace(",", ""))


def measure(original: Path, server: str, workload: Workload, buffers: str) -> Counts:
    """Return what a reference costs."""
    with copied(original) as directory:
        instance = Instance(directory, programs(server))
        instance.configure(settings(server, workload, buffers))
        with counted(instance):
            instance.query(*READ_ALL)  # brings in all that there is room for
            session(instance, workload, workload.much)
            sessions = [session(instance, workload, n) for n in (workload.little, workload.much)]
        text = (directory / "counts").read_text()
    little, much = (
        Counts(total(pid, "I +refs", text), total(pid, "LLd misses", text), references, reads)
        for pid, references, reads in sessions
    )
    return (much - little).each()


@dataclass(frozen=True)
class Price:
    """What an algorithm costs beside stock."""

    hit: float  # more instructions for a reference that hits
    share: float  # of all that stock does for one
    reads: float  # as a multiple of stock's
    miss: float  # more instructions for each block read than stock has, without those of hits
    missed: float  # more accesses that neither level of the caches had, likewise


def price(hit: Counts, miss: Counts, stock_hit: Counts, stock_miss: Counts) -> Price:
    """Compare an algorithm's references with stock's."""
    reads = miss.reads / stock_miss.reads

    def above(what: str) -> float:
        ours, ours_hit, theirs, theirs_hit = (
            getattr(counts, what) for counts in (miss, hit, stock_miss, stock_hit)
        )
        return ((ours - ours_hit) - reads * (theirs - theirs_hit)) / miss.reads

    more = hit.instructions - stock_hit.instructions
    share = more / stock_hit.instructions
    return Price(more, share, reads, above("instructions"), above("missed"))


COLUMNS = (
    "",
    "a hit: more instructions",
    "%",
    "reads, x stock's",
    "a miss: more instructions",
    "cache misses",
)


def table(workload: Workload, found: Mapping[tuple[str, str], Counts]) -> dict[str, Price]:
    """Print what each algorithm costs; ``found`` has counts by name and buffers, stock's first."""
    hit, miss = found[STOCK, HITS], found[STOCK, MISSES]
    names = list(dict.fromkeys(name for name, _ in found))
    prices = {name: price(found[name, HITS], found[name, MISSES], hit, miss) for name in names}
    read = (miss.instructions - hit.instructions) / miss.reads
    report(
        f"instructions_{workload.name}",
        f"{workload.name.capitalize()}: beside stock's {hit.instructions:,.0f} instructions"
        f" for a reference, and {read:,.0f} for a block read",
        COLUMNS,
        [
            (
                name,
                f"{each.hit:+.0f}",
                f"{100 * each.share:+.1f}",
                f"{each.reads:.2f}",
                f"{each.miss:+.0f}",
                f"{each.missed:+.1f}",
            )
            for name, each in prices.items()
        ],
    )
    return prices


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0],
        epilog="bench/out/instructions_WORKLOAD.csv has the tables, instructions.png shows them.",
    )
    parser.add_argument("algorithms", nargs="*", help="those to measure (default: all)")
    parser.add_argument("--jobs", type=count, default=2, help="servers at a time (default: 2)")
    options = parser.parse_args()
    if subprocess.run([ROOT / "scripts" / "system-packages", "bench-instructions"]).returncode:
        print(f"{Path(sys.argv[0]).name} is left out: no valgrind", file=sys.stderr)
        sys.exit(SKIPPED)
    tables = {}
    with scratch() as directory:
        known = algorithms(directory, options.algorithms)
        names = [STOCK, *known, known[0] + ADVISED]
        with serving(directory, STOCK) as instance:
            initialize(instance, SCALE)
            instance.query("CREATE INDEX ON pgbench_accounts USING brin (aid)")
            instance.query("VACUUM (FREEZE, ANALYZE)")
        for workload in (LOOKUPS, SCANS):
            jobs = [(name, workload, buffers) for name in names for buffers in (HITS, MISSES)]
            with ThreadPoolExecutor(options.jobs) as threads:
                counts = list(threads.map(lambda job: measure(directory, *job), jobs))
            tables[workload.name] = table(
                workload,
                {(name, size): each for (name, _, size), each in zip(jobs, counts, strict=True)},
            )

    def panel(label: str, value: Callable[[Price], float]) -> Panel:
        return Panel(
            label,
            {
                name: [(value(each), 0.0) for each in prices.values()]
                for name, prices in tables.items()
            },
        )

    draw(
        "instructions",
        names,
        [
            panel("more instructions a hit", lambda each: each.hit),
            panel("more instructions a miss", lambda each: each.miss),
        ],
    )


if __name__ == "__main__":
    told(main)
