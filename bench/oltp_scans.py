#!/usr/bin/env python3
"""Point reads and updates beside scans on a live server: blocks read, by algorithm.

Clients of pgbench read and update single records of a table like YCSB's, some
far more often than others (Zipf, strewn over the pages), and now and then scan:

other-ranges  20 % of the dates of TPC-H's lineitem, through BRIN (bitmap heap scans)
other-whole   all of lineitem, sequentially
same-ranges   20 % of the keys of the table that the requests read and write, in
              the order of the table (index scans)
same-whole    all of that table, sequentially

A run is a fixed number of transactions of each client, drawn by seeds: every
server does the same, on its own copy of the same files, after a quarter as many
transactions that do not count.  In each repetition stock, an unpatched
PostgreSQL, runs first and last, and blocks are compared with the mean of the
two; stock's own row compares them with each other.  Only when clients' references
meet differs from run to run.

Goals: pbm reads at most 0.80 of what stock reads, and at most 1 % more than the
best of arc, lirs and watt.  What is possible at all is estimated by OPT's misses
of a run of each mix that is recorded under pbm.

With --transactions-only there are no scans: clients run transactions like
TPC-C's (tpcc.py), under clock and pbm side by side in turns, as in miss_path.py.
Goal: the throughput of pbm is within 1 % of clock's; with "?" two standard errors
may decide.  "clock" in that table is clock as the other server: what the method
cannot tell apart.  A recording of such transactions under clock is then replayed
under more algorithms, with several numbers of buffers: what they would read of the
same references.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median

import numpy as np
import tpcc
from common import count, report
from dots import Panel, draw
from live import STOCK, copied, counters, huge_pages, programs, read_all, scratch, serving, told
from miss_path import Server, Turns, take_turns, total
from pgbench import CPUS, algorithms, medians, run_to_end, throughput
from streams import FIRST, LAST, Spread, tell

from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.simulation import Cell, simulate
from tidepool.traces import open_trace
from tidepool.workloads import tpch, ycsb

ALGORITHMS = ("clock", "arc", "lirs", "watt", "pbm", "pbm_pq")
PEERS = ("arc", "lirs", "watt")
GOAL = 0.80  # of stock's blocks
NO_WORSE = 1.01  # of the best peer's
CLIENTS = 8
SHARE = 0.2
DAYS = (LAST - FIRST).days + 1
READS, UPDATES = 3, 1  # of so many requests together
SETTINGS = {"wal_level": "minimal", "max_wal_senders": "0", "bgwriter_lru_maxpages": "0"}

SAME_THROUGHPUT = 0.01
WARM = 4  # seconds
RECORDS = {"bufferpool.trace_buffers": "65536", "huge_pages": "try"}
REPLAYED = (*ALGORITHMS, "lru", "2q", "s3fifo", "pbm:frequency=on")
SIZES = (0.25, 0.5, 1, 2)  # of the server's buffers


@dataclass(frozen=True)
class Mix:
    """Scans beside the requests.

    Attributes:
        node: what the plan of the scan has.
        script: of pgbench; {records} is the number of records.
        every: of so many transactions one is a scan.
    """

    node: str
    script: str
    every: int


MIXES = {
    "other-ranges": Mix(
        "Bitmap Heap Scan on lineitem",
        f"\\set day random(0, {DAYS - round(SHARE * DAYS)})\n"
        "SELECT sum(l_extendedprice * l_discount), count(*) FROM lineitem"
        f" WHERE l_shipdate >= date '{FIRST}' + :day"
        f" AND l_shipdate < date '{FIRST}' + :day + {round(SHARE * DAYS)};\n",
        100,
    ),
    "other-whole": Mix(
        "Seq Scan on lineitem",
        "SELECT sum(l_extendedprice * l_discount), count(*) FROM lineitem;\n",
        400,
    ),
    "same-ranges": Mix(
        "Index Scan using usertable_pkey",
        "\\set first random(1, {records} - {length})\n"
        "SELECT count(field1) FROM usertable"
        " WHERE ycsb_key BETWEEN :first AND :first + {length};\n",
        100,
    ),
    "same-whole": Mix("Seq Scan on usertable", "SELECT count(field1) FROM usertable;\n", 400),
}
# bitmap heap scans only where BRIN is used, sequential scans only of whole tables
PLANS = "-c enable_seqscan=off -c max_parallel_workers_per_gather=0"


# ---- recordings ----


def recorded(
    original: Path,
    server: str,
    settings: Mapping[str, str],
    warm_up: Callable[[Instance], object],
    work: Callable[[Instance], object],
) -> Path:
    """Record the work on a copy of the data, from empty buffers on; return the recording.

    It lies beside the data, and replaces the last one.
    """
    path = original / "oltp_scans.rec"
    with (
        copied(original) as directory,
        serving(directory, server, {**settings, **RECORDS}) as instance,
    ):
        warm_up(instance)
        inside = directory / path.name
        instance.query(f"SELECT pg_bufferpool_reset(), pg_bufferpool_trace_start('{inside}')")
        work(instance)
        instance.query("SELECT pg_bufferpool_trace_stop()")
        dropped = instance.query("SELECT dropped FROM pg_stat_bufferpool_trace")
        if dropped != "0":
            raise TidepoolError(f"the recording lacks {dropped} references")
        shutil.copy(inside, path)
    return path


def misses(
    recording: Path, policies: Sequence[str], sizes: Sequence[int]
) -> dict[tuple[str, int], int]:
    """Replay a recording; return the misses by algorithm and number of buffers."""
    pairs = [(policy, size) for policy in policies for size in sizes]
    cells = [Cell(parse_policy(policy), size) for policy, size in pairs]
    results = simulate([(open_trace(recording), cells)])
    return {pair: result.misses for pair, result in zip(pairs, results, strict=True)}


# ---- runs ----


@dataclass(frozen=True)
class Run:
    """What a server read, and how much of stock's that is."""

    mix: str
    repetition: int
    server: str
    blocks: int
    hit_ratio: float
    of_stock: float
    transactions: int
    scans: int


def scripts(mix: Mix, records: int) -> list[tuple[str, int]]:
    """Return pgbench's scripts with their weights, that of the scan last."""
    requests = (mix.every - 1) // (READS + UPDATES)
    scan = mix.script.format(records=records, length=round(SHARE * records))
    return [
        (ycsb.read_script(records), READS * requests),
        (ycsb.update_script(records), UPDATES * requests),
        (scan, 1),
    ]


def check_plan(instance: Instance, mix: Mix, records: int) -> None:
    """Raise TidepoolError unless the scan is executed as is meant."""
    query = scripts(mix, records)[-1][0].splitlines()[-1]
    options = PLANS.replace("-c ", "SET ").replace(" SET", "; SET")
    explained = re.sub(r":\w+(?!:)", "77", query)
    plan = instance.query(f"{options}; EXPLAIN (COSTS off) {explained}")
    if mix.node not in plan:
        raise TidepoolError(f"this is no {mix.node}:\n{query}\n{plan}")


def work(
    instance: Instance, mix: Mix, records: int, transactions: int, seed: int
) -> tuple[int, int]:
    """Let all clients do so many transactions each; return how many there were, and scans."""
    line = [str(instance.bin / "pgbench"), "-n", "-M", "simple", f"--random-seed={seed}"]
    # a thread for each client: a thread's clients would share a sequence of random numbers
    line += ["-c", str(CLIENTS), "-j", str(CLIENTS), "-t", str(transactions)]
    for i, (script, weight) in enumerate(scripts(mix, records)):
        path = instance.directory / f"script-{i}.sql"
        path.write_text(script)
        path.chmod(0o644)
        line += ["-f", f"{path}@{weight}"]
    run = instance.run("env", f"PGOPTIONS={PLANS}", *line)
    done = re.search(r"actually processed: (\d+)/(\d+)", run.stdout)
    if run.returncode != 0 or not done or done.group(1) != done.group(2):
        raise TidepoolError(f"pgbench failed:\n{run.stdout}")
    return int(done.group(1)), int(re.findall(r"- (\d+) transactions \(", run.stdout)[-1])


def measure(
    original: Path,
    server: str,
    settings: Mapping[str, str],
    mix: Mix,
    args: argparse.Namespace,
    seed: int,
) -> tuple[int, float, tuple[int, int]]:
    """Return blocks read, the hit ratio, and how many transactions and scans there were."""
    with copied(original) as directory, serving(directory, server, settings) as instance:
        work(instance, mix, args.records, args.transactions // 4, seed + 1000)
        before = counters(instance)
        done = work(instance, mix, args.records, args.transactions, seed)
        found = counters(instance) - before
    tell(f"  {server}: {found.reads} blocks read; {done[0]} transactions, {done[1]} scans")
    return found.reads, found.hit_ratio, done


def runs(original: Path, args: argparse.Namespace, settings: Mapping[str, str]) -> Iterator[Run]:
    """Run everything."""
    for name in args.mixes:
        mix = MIXES[name]
        for repetition in range(args.repetitions):
            tell(f"{name}, repetition {repetition + 1}")
            names = list(reversed(args.algorithms) if repetition % 2 else args.algorithms)
            found = [
                (server, measure(original, server, settings, mix, args, repetition))
                for server in (STOCK, *names, STOCK)
            ]
            if len({done for _, (_, _, done) in found}) > 1:
                raise TidepoolError("not all servers did the same transactions and scans")
            stock = (found[0][1][0] + found[-1][1][0]) / 2
            for i, (server, (blocks, hit_ratio, done)) in enumerate(found):
                base = found[-1 - i][1][0] if server == STOCK else stock
                yield Run(name, repetition, server, blocks, hit_ratio, blocks / base, *done)


def under_pbm(
    original: Path, mix: Mix, args: argparse.Namespace, settings: Mapping[str, str]
) -> Path:
    """Return the recording of a run of the mix."""
    return recorded(
        *(original, "pbm", settings),
        lambda instance: work(instance, mix, args.records, args.transactions // 4, 1000),
        lambda instance: work(instance, mix, args.records, args.transactions, 0),
    )


def possible(
    original: Path, args: argparse.Namespace, settings: Mapping[str, str], frames: int
) -> None:
    """Print what the algorithms, and OPT, miss of a recorded run of each mix."""
    rows = []
    policies = list(dict.fromkeys(("clock", *args.algorithms, "opt")))
    for name in args.mixes:
        tell(f"{name}, recording")
        found = misses(under_pbm(original, MIXES[name], args, settings), policies, [frames])
        base = found["clock", frames]
        rows.append((name, base, *(f"{found[policy, frames] / base:.2f}" for policy in policies)))
    title = "a run of each mix under pbm, replayed: misses / clock's"
    report("oltp_scans_possible", title, ("mix", "clock's misses", *policies), rows)


# ---- what is shown ----


def goals(of_stock: Mapping[str, float]) -> tuple[str, str]:
    """Tell whether pbm reads as little as it should: of stock, and of its peers that have run."""
    peers = {name: of_stock[name] for name in PEERS if name in of_stock}
    if not peers:
        return reached(of_stock["pbm"] <= GOAL), ""
    best = min(peers, key=peers.__getitem__)
    ratio = of_stock["pbm"] / peers[best]
    return reached(of_stock["pbm"] <= GOAL), f"{reached(ratio <= NO_WORSE)}: {ratio:.3f} of {best}"


def reached(is_reached: bool) -> str:
    return "reached" if is_reached else "MISSED"


def tables(found: Sequence[Run], args: argparse.Namespace, conditions: str) -> None:
    servers = (STOCK, *args.algorithms)
    rows, dots = [], {}
    for mix in args.mixes:
        by = {
            server: [run for run in found if (run.mix, run.server) == (mix, server)]
            for server in servers
        }
        of_stock = {server: Spread.of(run.of_stock for run in by[server]) for server in servers}
        medians_of = {server: spread.median for server, spread in of_stock.items()}
        for server, mine in by.items():
            rows.append(
                (
                    *(mix, server, round(median(run.blocks for run in mine))),
                    f"{100 * median(run.hit_ratio for run in mine):.1f}",
                    *of_stock[server],
                    *(goals(medians_of) if server == "pbm" else ("", "")),
                )
            )
        dots[mix] = [
            (spread.median, max(spread.most - spread.median, spread.median - spread.least))
            for spread in of_stock.values()
        ]
        counted = by[STOCK][0]
        print(f"{mix}: {counted.transactions:,} transactions, {counted.scans} of them scans")
    columns = ("mix", "server", "blocks read", "hits, %", "x stock's", "least", "most")
    goal = (f"goal {GOAL:.2f}", f"goal {NO_WORSE} of the best of {' '.join(PEERS)}")
    report("oltp_scans", conditions, (*columns, *goal), rows, width=150)
    label = "blocks read / stock's (bars: to the farthest run)"
    draw("oltp_scans", servers, [Panel(label, dots, GOAL)])


# ---- transactions only ----


def transactions(args: argparse.Namespace) -> None:
    """Compare the algorithms with clock, without scans."""
    os.sched_setaffinity(0, CPUS[-2:])
    settings = {**SETTINGS, "shared_buffers": args.buffers, "max_connections": "50"}
    with scratch() as one:
        names = algorithms(one, args.algorithms)
        with serving(one, "clock", {"shared_buffers": "256MB", **SETTINGS}) as instance:
            tell(f"loading {args.warehouses} warehouses")
            tpcc.load(instance, args.warehouses)
            size = int(instance.query("SELECT pg_database_size(current_database()) >> 20"))
        huge = huge_pages([one], settings)
        rows = []
        for name in dict.fromkeys(("clock", *names)):
            starts = [
                turns(one, name, {**settings, "huge_pages": huge}, start, args)
                for start in range(args.starts)
            ]
            rows.append(row(name, starts))
            tell("; ".join(map(str, rows[-1])))
        tell("recording")
        replays(one, settings, names, args)
    title = f"transactions like TPC-C's: {size} MB, {args.buffers} of buffers, {CLIENTS} clients"
    columns = ("", "x clock's throughput", "quartiles", "blocks read a transaction", "clock's")
    columns = (*columns, "written", "clock's")
    report("oltp_scans_transactions", title, (*columns, "within 1 %"), rows)


def turns(
    original: Path, name: str, settings: Mapping[str, str], start: int, args: argparse.Namespace
) -> Turns:
    """Start clock and the algorithm on copies of the data, and let them take turns.

    Who is started first changes with the number of the start.
    """
    with ExitStack() as stack:
        places = [("clock", stack.enter_context(copied(original)))]
        places.append((name, stack.enter_context(copied(original))))
        pair = []
        for server, directory in places if start % 2 else reversed(places):
            read_all(directory)
            pair.append(Server(server, stack.enter_context(serving(directory, server, settings))))
        if start % 2 == 0:
            pair.reverse()
        load = replace(tpcc.WORKLOAD, clients=CLIENTS, scripts=tpcc.scripts(args.warehouses))
        for server in pair:
            throughput(server.instance, load, WARM, {})
        found = take_turns(pair, CLIENTS, args.rounds, Random(start), load)
        for server in pair:
            tpcc.check(server.instance)
    return found


def replays(
    original: Path, settings: Mapping[str, str], names: Sequence[str], args: argparse.Namespace
) -> None:
    """Print what the algorithms miss of a recording, as multiples of clock's misses."""
    load = replace(tpcc.WORKLOAD, clients=CLIENTS, scripts=tpcc.scripts(args.warehouses))
    recording = recorded(
        *(original, "clock", settings),
        lambda instance: throughput(instance, load, WARM, {}),
        lambda instance: run_to_end(instance, load, ("-t", args.transactions), {}),
    )
    with serving(original, "clock", settings) as instance:
        buffers = int(
            instance.query("SELECT setting FROM pg_settings WHERE name = 'shared_buffers'")
        )
    sizes = [round(share * buffers) for share in SIZES]
    policies = list(dict.fromkeys(("clock", *REPLAYED, *names, "opt")))
    found = misses(recording, policies, sizes)
    rows = [
        (policy, *(f"{found[policy, size] / found['clock', size]:.3f}" for size in sizes))
        for policy in policies
    ]
    title = f"{args.transactions * CLIENTS:,} such transactions replayed: misses / clock's"
    report("oltp_scans_replays", title, ("buffers", *map(str, sizes)), rows)


def row(name: str, starts: Sequence[Turns]) -> tuple[str, ...]:
    ratios = [start.ratios for start in starts]
    middle, error = (float(value) for value in medians(ratios))
    low, high = np.nanquantile(np.concatenate(ratios), [0.25, 0.75])
    base, ours = total([start.stock for start in starts]), total([start.ours for start in starts])
    off = abs(middle - 1) - SAME_THROUGHPUT
    verdict = reached(off <= 0)
    if abs(off) <= 2 * error:
        verdict += "?"
    return (
        *(name, f"{middle:.3f} ± {error:.3f}", f"{low:.2f} to {high:.2f}"),
        *(f"{ours.blocks:.3f}", f"{base.blocks:.3f}"),
        *(f"{ours.written:.3f}", f"{base.written:.3f}"),
        "" if name == "clock" else verdict,
    )


# ---- the whole ----


def scans(args: argparse.Namespace) -> None:
    """Compare the algorithms with stock, with scans."""
    programs(STOCK)  # fails at once if it is not there
    with scratch() as directory:
        names = algorithms(directory, args.algorithms)
        args.algorithms = names
        with serving(directory, "clock", {"shared_buffers": "256MB", **SETTINGS}) as instance:
            tell("loading usertable")
            ycsb.load(instance, args.records)
            tpch.load(instance, args.scale, ["lineitem"], clustered=True, progress=tell)
            pages = int(
                instance.query(
                    "SELECT (pg_relation_size('usertable') + pg_relation_size('lineitem'))"
                    " / current_setting('block_size')::int"
                )
            )
            for name in args.mixes:
                check_plan(instance, MIXES[name], args.records)
        frames = round(args.memory * pages)
        settings = {**SETTINGS, "shared_buffers": str(frames)}
        settings["huge_pages"] = huge_pages([directory], settings)
        found = list(runs(directory, args, settings))
        conditions = f"{pages:,} blocks, {frames:,} buffers; medians, ranges of {args.repetitions}"
        tables(found, args, conditions)
        possible(directory, args, settings, frames)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    names = " ".join(ALGORITHMS)
    add("--algorithms", nargs="+", metavar="NAME", help=f"default: {names}")
    add("--mixes", nargs="+", choices=MIXES, metavar="MIX", help=f"of {' '.join(MIXES)}")
    add("--transactions", type=count, default=3000, metavar="N", help="of each client; 3,000")
    add("--records", type=count, default=40_000, metavar="N", help="of usertable; 40,000")
    add("--scale", type=float, default=0.05, metavar="FACTOR", help="of TPC-H; 0.05")
    add("--memory", type=float, default=0.25, metavar="SHARE", help="of both tables; 0.25")
    add("--repetitions", type=count, default=3, metavar="N", help="with other requests each; 3")
    add("--transactions-only", action="store_true", help="pbm and clock without scans")
    add("--warehouses", type=count, default=4, metavar="N", help="of TPC-C; 4")
    add("--buffers", default="64MB", metavar="SIZE", help="for TPC-C; 64MB")
    add("--starts", type=count, default=4, metavar="N", help="of both servers for TPC-C; 4")
    add("--rounds", type=count, default=20, metavar="N", help="after each; 20")
    add("--quick", action="store_true", help="a tenth of the time: small, once")
    parser.set_defaults(mixes=list(MIXES))
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(transactions=1000, repetitions=1, records=20_000, scale=0.02)
        parser.set_defaults(starts=2, rounds=6, warehouses=2)
        args = parser.parse_args()
    if args.algorithms is None:
        args.algorithms = ["pbm"] if args.transactions_only else list(ALGORITHMS)
    if "pbm" not in args.algorithms:
        parser.error("pbm must be among the algorithms")
    return args


def main() -> None:
    args = arguments()
    if args.transactions_only:
        transactions(args)
    else:
        scans(args)


if __name__ == "__main__":
    told(main)
