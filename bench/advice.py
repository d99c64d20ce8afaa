#!/usr/bin/env python3
"""Whether advice comes true: record a live server under clock, take the advice, run again.

Four workloads, each much larger than its shared buffers, and one that fits:

pgbench   TPC-B-like transactions on uniformly drawn accounts.
ycsb      records by Zipf's law, read and updated, and ranges of 300 records.
tpch      queries of TPC-H over ranges of days, eight clients.
mixed     an OLTP table, reports over a table twice as large as the buffers, documents in
          TOAST.
fits      as pgbench, in buffers for all of it: nothing is to be changed.

Every run does the same transactions, drawn by seeds, on a copy of the same
files, begins with empty buffers, and is recorded; only when clients meet differs.
By how much that changes the reads is shown by a second run under clock ("again").
Counted are pages read, so other load on the machine does not matter.  Where no
setting is advised, the best algorithm that was not good enough is run instead.

Goals: reads within 3 % of what was foretold; at least one workload reads 20 %
less; none reads more than before (2 %, by which two runs under clock may differ);
nothing is advised where no algorithm saves 2 %.

Needs make postgres.  About ten minutes; --quick takes two.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import isolation
import numpy as np
from common import report
from live import copied, scratch, serving, told
from pgbench import initialize

from tidepool.advice import Advice, Report, Request, advise
from tidepool.demo.workload import DAYS, QUERIES
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.simulation import parse_device
from tidepool.traces import Flag, Kind, open_trace
from tidepool.workloads import tpch, ycsb

CLIENTS = 8
NEAR = 0.03  # of what was foretold
WORSE = 0.02
MUCH = 0.20
SETTINGS = {
    "bufferpool.trace_buffers": "65536",
    "random_page_cost": "1.1",
    "bgwriter_lru_maxpages": "100",
}


@dataclass(frozen=True)
class Mix:
    """A workload.

    Attributes:
        buffers: shared buffers.
        load: makes the tables.
        scripts: of pgbench, with their weights.
        transactions: of each client.
    """

    name: str
    buffers: str
    load: Callable[[Instance, float], None]
    scripts: Callable[[float], Sequence[tuple[int, str]]]
    transactions: int


# ---- workloads; sizes are times a scale ----


def load_pgbench(instance: Instance, scale: float) -> None:
    initialize(instance, max(1, round(10 * scale)))


def pgbench_scripts(scale: float) -> Sequence[tuple[int, str]]:
    branches = max(1, round(10 * scale))
    return [
        (
            1,
            f"\\set aid random(1, {100_000 * branches})\n\\set bid random(1, {branches})\n"
            f"\\set tid random(1, {10 * branches})\n\\set delta random(-5000, 5000)\n"
            "BEGIN;\n"
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
            "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
            "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
            "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
            " VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n",
        )
    ]


def load_fits(instance: Instance, scale: float) -> None:
    load_pgbench(instance, 0.2 * scale)


def fits_scripts(scale: float) -> Sequence[tuple[int, str]]:
    return pgbench_scripts(0.2 * scale)


def records(scale: float) -> int:
    return round(60_000 * scale)


def load_ycsb(instance: Instance, scale: float) -> None:
    ycsb.load(instance, records(scale))


def ycsb_scripts(scale: float) -> Sequence[tuple[int, str]]:
    many = records(scale)
    scan = (
        f"\\set first random(1, {many - 300})\n"
        "SELECT count(field1) FROM usertable WHERE ycsb_key BETWEEN :first AND :first + 299;\n"
    )
    return [(90, ycsb.read_script(many)), (5, ycsb.update_script(many)), (5, scan)]


def load_tpch(instance: Instance, scale: float) -> None:
    tables = ("part", "lineitem")
    tpch.load(instance, max(tpch.LEAST_SCALE, 0.1 * scale), tables, clustered=True)


def tpch_scripts(scale: float) -> Sequence[tuple[int, str]]:
    found = []
    for days, text in QUERIES.values():
        first = "date '1992-01-02' + CAST(:day AS int)"
        sql = text.format(range=f"l_shipdate BETWEEN {first} AND {first} + {4 * days - 1}")
        found.append((1, f"\\set day random(0, {DAYS - 4 * days})\n{' '.join(sql.split())};\n"))
    return found


def load_mixed(instance: Instance, scale: float) -> None:
    rows, documents = round(120_000 * scale), round(2500 * scale)
    instance.query(
        "CREATE TABLE oltp AS SELECT i AS aid, 0 AS abalance, repeat('x', 84) AS filler"
        f" FROM generate_series(1, {rows}) i;"
        " ALTER TABLE oltp SET (fillfactor = 90); ALTER TABLE oltp ADD PRIMARY KEY (aid)"
    )
    reported = round(140_000 * scale)
    instance.query(
        f"CREATE TABLE report AS SELECT (i::bigint * 1000 / {reported})::int AS day,"
        f" repeat('r', 400) AS pad FROM generate_series(0, {reported - 1}) i;"
        " CREATE INDEX report_day ON report USING brin (day) WITH (pages_per_range = 8)"
    )
    instance.query(
        "CREATE TABLE document (id int PRIMARY KEY, body text STORAGE EXTERNAL);"
        f" INSERT INTO document SELECT i, repeat('d', 20000) FROM generate_series(1, {documents}) i"
    )
    instance.query("VACUUM (FREEZE, ANALYZE)")


def mixed_scripts(scale: float) -> Sequence[tuple[int, str]]:
    rows, documents = round(120_000 * scale), round(2500 * scale)
    oltp = isolation.OLTP.replace(str(isolation.OLTP_ROWS), str(rows))
    toast = isolation.TOAST.replace(str(isolation.DOCUMENTS), str(documents))
    return [(970, oltp), (3, isolation.REPORT), (27, toast)]


MIXES = {
    mix.name: mix
    for mix in (
        Mix("pgbench", "32MB", load_pgbench, pgbench_scripts, 10_000),
        Mix("ycsb", "16MB", load_ycsb, ycsb_scripts, 10_000),
        Mix("tpch", "24MB", load_tpch, tpch_scripts, 40),
        Mix("mixed", "24MB", load_mixed, mixed_scripts, 6000),
        Mix("fits", "128MB", load_fits, fits_scripts, 4000),
    )
}


# ---- runs ----


@dataclass(frozen=True)
class Run:
    """What a server read."""

    references: int
    reads: int
    recording: Path

    @property
    def hit_ratio(self) -> float:
        return 1 - self.reads / self.references


def run(
    original: Path, mix: Mix, scale: float, settings: dict[str, str], sql: Sequence[str], to: Path
) -> Run:
    """Run a workload on a copy of the files with these settings, after these statements."""
    algorithm = settings.pop("bufferpool.algorithm", "clock")
    buffers = f"{round(int(mix.buffers.removesuffix('MB')) * scale * 1024)}kB"
    with copied(original) as directory:
        own = {"shared_buffers": buffers, **SETTINGS, **settings}
        with serving(directory, algorithm, own) as instance:
            statements = instance.directory / "advice.sql"
            statements.write_text("\n".join(sql) + "\n")
            psql = (instance.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", statements)
            done = instance.run(*psql)
            if done.returncode != 0:
                raise TidepoolError(f"the advised statements failed:\n{done.stdout}")
            recording = instance.directory / "run.rec"
            instance.query(
                f"SELECT pg_bufferpool_reset(), pg_bufferpool_trace_start('{recording}')"
            )
            clients(instance, mix, scale)
            instance.query("SELECT pg_bufferpool_trace_stop()")
            shutil.copy(recording, to)
    return counted(to)


def clients(instance: Instance, mix: Mix, scale: float) -> None:
    command: list[str | Path] = [instance.bin / "pgbench", "-n", "-M", "prepared"]
    command += ["-c", str(CLIENTS), "-j", str(CLIENTS), "--random-seed=1"]
    command += ["-t", str(max(10, round(mix.transactions * scale)))]
    for i, (weight, text) in enumerate(mix.scripts(scale)):
        path = instance.directory / f"script-{i}.sql"
        path.write_text(text)
        path.chmod(0o644)
        command.append(f"--file={path}@{weight}")
    done = instance.run(*command, "postgres")
    if done.returncode != 0:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}")


def counted(recording: Path) -> Run:
    """Count the references and reads of a recording."""
    trace = open_trace(recording)
    assert trace.recorded is not None
    if trace.recorded.dropped != 0:
        raise TidepoolError("; ".join(trace.recorded.flaws()))
    references = reads = 0
    for chunk in trace.chunks():
        assert chunk.kind is not None and chunk.flags is not None
        references += int(np.count_nonzero(chunk.kind <= Kind.WRITE))
        reads += int(np.count_nonzero((chunk.kind == Kind.READ) & (chunk.flags & Flag.HIT == 0)))
    return Run(references, reads, recording)


def settings_of(advice: Advice) -> dict[str, str]:
    """Return the settings that an advice gives; all libraries are loaded anyway."""
    found = {}
    for line in advice.lines.settings:
        name, _, value = line.partition(" = ")
        if name != "shared_preload_libraries":
            found[name] = value.partition("  #")[0].strip("'")
    return found


# ---- the table ----


@dataclass(frozen=True)
class Row:
    mix: str
    before: Run
    report: Report
    tried: str  # that was run again
    foretold: int
    after: Run
    again: Run  # under clock

    @property
    def noise(self) -> float:
        return self.again.reads / self.before.reads - 1

    @property
    def off(self) -> float:
        return self.after.reads / self.foretold - 1

    @property
    def change(self) -> float:
        return self.after.reads / self.before.reads - 1

    def cells(self) -> tuple[str, ...]:
        advised = self.report.by_settings
        return (
            self.mix,
            f"{self.before.references:,}",
            f"{100 * self.before.hit_ratio:.1f}",
            f"{self.before.reads:,}",
            advised.title if advised else f"nothing ({self.tried})",
            f"{self.foretold:,}",
            f"{self.after.reads:,}",
            f"{100 * self.off:+.1f}",
            f"{100 * self.change:+.1f}",
            f"{100 * self.noise:+.1f}",
        )


def measure(mix: Mix, scale: float, device: str, keep: Path) -> Row:
    with scratch() as original:
        with serving(original, "clock", {"shared_buffers": "256MB", **SETTINGS}) as instance:
            instance.query("CREATE EXTENSION pg_bufferpool")
            mix.load(instance, scale)
        before = run(original, mix, scale, {}, (), keep / f"{mix.name}.rec")
        found = advise([open_trace(before.recording)], Request(device=parse_device(device)))
        advised = found.by_settings
        if advised is not None and advised.reads is not None:
            tried, foretold = advised.title, advised.reads
            settings, sql = settings_of(advised), advised.lines.sql
        else:
            # the best that was not good enough; today's algorithm, if none is better
            best = max(found.tried, key=lambda each: each.share)
            tried, foretold = best.algorithm, best.reads
            settings, sql = {"bufferpool.algorithm": tried}, ()
        after = run(original, mix, scale, settings, sql, keep / f"{mix.name}-after.rec")
        again = run(original, mix, scale, {}, (), keep / f"{mix.name}-again.rec")
    return Row(mix.name, before, found, tried, foretold, after, again)


def verdicts(rows: Sequence[Row]) -> list[str]:
    advised = [row for row in rows if row.report.by_settings is not None]
    near = sum(abs(row.off) <= NEAR for row in rows)
    most = min((row.change for row in advised), default=0.0)
    worse = [row.mix for row in advised if row.change > WORSE]
    nothing = [row for row in rows if row.report.by_settings is None]
    missed = [row.mix for row in nothing if row.change < -WORSE]
    return [
        f"within {100 * NEAR:.0f} % of what was foretold: {near} of {len(rows)}",
        f"most that was saved: {-100 * most:.1f} % (goal: {100 * MUCH:.0f})",
        f"worse than before: {', '.join(worse) or 'none'}",
        f"advised nothing: {', '.join(row.mix for row in nothing) or 'nowhere'}"
        + (f"; wrongly: {', '.join(missed)}" if missed else ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--mixes", nargs="+", choices=MIXES, default=list(MIXES), metavar="MIX")
    add("--quick", action="store_true", help="a quarter of it")
    add("--device", default="sata-ssd", help="whose times gains are in; %(default)s")
    add("--keep", type=Path, metavar="DIR", help="leave the recordings there")
    args = parser.parse_args()
    scale = 0.25 if args.quick else 1.0
    keep = args.keep or Path(tempfile.mkdtemp(prefix="tidepool-advice-"))
    keep.mkdir(parents=True, exist_ok=True)
    rows = []
    try:
        for name in args.mixes:
            rows.append(measure(MIXES[name], scale, args.device, keep))
            print("; ".join(rows[-1].cells()), flush=True)
    finally:
        if args.keep is None:
            shutil.rmtree(keep)
    report(
        "advice",
        f"Advice taken (read times of {args.device})",
        [
            *("workload", "references", "hits, %", "reads", "advice"),
            *("foretold", "reads then", "off, %", "change, %", "again, %"),
        ],
        [row.cells() for row in rows],
        width=220,
    )
    print("\n".join(verdicts(rows)))


if __name__ == "__main__":
    told(main)
