#!/usr/bin/env python3
"""How soon a promoted standby is as fast as its primary was, and what a query waits meanwhile.

Clients run against a primary until it is warm; its throughput then is what counts.
A standby that nobody queries follows it.  Then the primary is killed, the standby is
promoted, and the same clients begin at once:

alone     the standby has in memory what its recovery needed
follows   bufferpool.warm_primary: it has read what the primary had in memory

Shown are the seconds from the promotion until the throughput of five seconds is 90 %
of the primary's, and the mean and the 99th percentile of the transactions' latencies in
the first ten seconds; the mixes and the devices are those of warm_start.py, and each
server has a device of its own.

Goal: at most half of the time of a standby alone.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, sleep

from common import report
from live import copied, scratch, serving, told
from warm_start import (
    SHARE,
    WINDOW,
    Clients,
    disk,
    make,
    options,
    p99,
    parsed,
    settings,
    until_warm,
)

from tidepool.errors import TidepoolError
from tidepool.server import Instance

STANDBYS = ("alone", "follows")
MIXES = ("oltp", "recent")
FIRST = 10  # seconds whose latencies count
PATIENCE = 120  # seconds until the standby has the primary's list


def standby_settings(primary: Instance, arguments: argparse.Namespace, how: str) -> dict[str, str]:
    """What a standby of this primary is configured with."""
    follows = how == "follows"
    return {
        **settings(arguments, "warm" if follows else "natural"),
        "bufferpool.warm_primary": "on" if follows else "off",
        "bufferpool.warm_save_interval": "2s",
        "primary_conninfo": f"host={primary.directory} dbname=postgres",
    }


def wait_for_list(primary: Instance, standby: Instance) -> None:
    """Save the primary's list, and wait until the standby has read its pages."""
    saved = "SELECT list_saved FROM pg_stat_progress_bufferpool_warm WHERE phase = 'done'"
    primary.query("SELECT pg_bufferpool_save_warm(true)")
    wanted = primary.query(saved)
    began = perf_counter()
    while standby.query(saved) != wanted:
        if perf_counter() - began > PATIENCE:
            raise TidepoolError("the standby does not get the primary's list")
        sleep(0.2)


def promoted(standby: Instance) -> None:
    if standby.query("SELECT pg_promote()") != "t":
        raise TidepoolError("the standby has not been promoted")


def measure(directory: Path, mix: str, how: str, arguments: argparse.Namespace) -> list[object]:
    """One failover."""
    with ExitStack() as stack:
        copy = stack.enter_context(copied(directory))
        stack.enter_context(disk(arguments))
        primary = stack.enter_context(
            serving(directory, arguments.algorithm, settings(arguments, "warm"))
        )
        stack.enter_context(disk(arguments))  # the standby's own
        (copy / "data" / "standby.signal").touch()
        standby = stack.enter_context(
            serving(copy, arguments.algorithm, standby_settings(primary, arguments, how))
        )
        clients = Clients(primary, mix, arguments.rows, arguments.clients)
        until_warm(clients, 0, arguments.warm_up)
        before = statistics.mean(clients.tps[-4 * WINDOW :])
        if how == "follows":
            wait_for_list(primary, standby)
        clients.end()
        primary.stop("immediate")
        promoted(standby)
        clients = Clients(standby, mix, arguments.rows, arguments.clients)
        try:
            seconds = until_warm(clients, SHARE * before, arguments.limit)
        finally:
            clients.end()
        latencies = clients.latencies(FIRST)
        standby.stop("immediate")
    row = [mix, how, before, seconds, statistics.mean(latencies), p99(latencies)]
    print(f"{mix}, {how}: {seconds:.1f} s", flush=True)
    return row


def main() -> None:
    arguments = parsed(options(__doc__, MIXES, warm_up=60))
    rows = []
    for mix in arguments.mix or MIXES:
        for how in STANDBYS:
            # a promoted copy, and its primary, have parted: new ones for each failover
            with scratch() as directory:
                with serving(
                    directory, arguments.algorithm, settings(arguments, "natural")
                ) as instance:
                    make(instance, arguments.rows)
                rows.append(measure(directory, mix, how, arguments))
    report(
        "failover",
        f"Failovers to a standby with {arguments.buffers} MB of shared_buffers,"
        f" {arguments.algorithm}, {arguments.device}",
        ["mix", "standby", "tps before", "s to 90 %", "mean ms", "p99 ms"],
        rows,
    )


if __name__ == "__main__":
    told(main)
