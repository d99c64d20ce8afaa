#!/usr/bin/env python3
"""How fast an SSD tier serves again after a restart: clean, by kill -9, and with an empty SSD.

A server of the operational data store (ods.py) on an emulated disk with an
emulated SSD of 24 % of the data (devices.py) is warmed, and its hit ratio and
throughput are taken.  Then it is stopped, or all its processes are killed; it
starts again, and eight clients go on at once.  For comparison the same with the
SSD emptied meanwhile.  Seconds are counted from the moment at which the server accepts
connections.

The hit ratio is taken over seconds, the throughput over WINDOW of them.  A time
until 90 % is the first after which that long a window has 90 % of what there
was before.

Goals: 90 % of the hit ratio within 10 s; 90 % of the throughput in at most a
3.8th of the time that it takes with an empty SSD.

Needs root and FUSE, and make postgres.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import ods
from common import OUT, count, report
from devices import require, skipped
from live import told
from pgbench import Workload, command, postmaster
from ssd_runs import Bench, Server, ods_load, prepared, tier_counters, warmed

from tidepool.errors import TidepoolError
from tidepool.plots import save, style
from tidepool.server import Instance

CLIENTS = 8
GOAL_HITS = 10.0  # seconds
GOAL_FASTER = 3.8
ENOUGH = 0.9
WINDOW = 5  # seconds
KINDS = ("clean stop", "kill -9", "empty")


@dataclass(frozen=True)
class Course:
    """What happened, second after second.

    Attributes:
        hits: share of memory's misses that were read from the SSD; nan: there were none.
        ended: transactions.
    """

    hits: np.ndarray
    ended: np.ndarray

    def throughput(self) -> np.ndarray:
        """Return transactions a second, in the window that begins at each second."""
        return np.convolve(self.ended, np.ones(WINDOW) / WINDOW, mode="valid")

    def until(self, kind: str, goal: float) -> float:
        """Return the seconds after which hits, or the throughput, have reached a value."""
        values = self.hits if kind == "hits" else self.throughput()
        reached = np.flatnonzero(np.nan_to_num(values) >= goal)
        return float(reached[0]) if len(reached) else float("inf")


def watch(instance: Instance, scale: float, seconds: int, seed: int) -> Course:
    """Let clients work for so long, and look every second."""
    workload = Workload("ods", ods.scripts(scale), clients=CLIENTS, settings=ods.WORKLOAD.settings)
    line, environment = command(instance, workload, {})
    line[line.index("-M") + 1] = "simple"
    line[line.index("-j") + 1] = str(CLIENTS)
    prefix = instance.directory / "transactions"
    line += ["-T", str(seconds), f"--random-seed={seed}", "--log", f"--log-prefix={prefix}"]
    before = tier_counters(instance)
    begin = time.time()
    pgbench = subprocess.Popen(
        line, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    ratios = []
    for second in range(1, seconds + 1):
        time.sleep(max(0.0, begin + second - time.time()))
        now = tier_counters(instance)
        reads, hits = (now[name] - before[name] for name in ("reads", "hits"))
        ratios.append(hits / reads if reads else float("nan"))
        before = now
    output, _ = pgbench.communicate()
    if pgbench.returncode != 0:
        raise TidepoolError(f"pgbench failed:\n{output}")
    ended = [0] * seconds
    for file in instance.directory.glob(f"{prefix.name}.{pgbench.pid}*"):
        for epoch, microseconds in np.loadtxt(file, usecols=(4, 5), ndmin=2):
            at = int(epoch + microseconds * 1e-6 - begin)
            if 0 <= at < seconds:
                ended[at] += 1
        file.unlink()
    return Course(np.array(ratios), np.array(ended))


def kill(instance: Instance) -> None:
    """Kill the postmaster and all its children, as a crash would."""
    parent = postmaster(instance)
    children = subprocess.run(
        ["pgrep", "-P", str(parent)], text=True, stdout=subprocess.PIPE, check=True
    ).stdout.split()
    for pid in (parent, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.01)


def restart(bench: Bench, instance: Instance, kind: str) -> float:
    """Take the server down in this way, and start it again; return how long the start took."""
    instance.query("CHECKPOINT")
    if kind == "kill -9":
        kill(instance)
    else:
        instance.stop()
    if kind == "empty":
        for file in bench.devices.ssd.directory.iterdir():
            file.unlink()
    begin = time.perf_counter()
    instance.start()
    return time.perf_counter() - begin


# ---- what is shown ----


@dataclass(frozen=True)
class Restart:
    """A restart: how full the SSD was afterwards, and what followed."""

    kind: str
    start: float
    pages: int
    course: Course


COLUMNS = ("restart", "start, s", "pages on the SSD", "s until 90 % of hits", "of throughput")


def show(before: Course, found: Sequence[Restart]) -> None:
    hits = float(np.nanmean(before.hits))
    throughput = float(before.ended.mean())
    rows, until = [], {}
    for one in found:
        until[one.kind] = [
            one.course.until("hits", ENOUGH * hits),
            one.course.until("throughput", ENOUGH * throughput),
        ]
        times = (f"{value:.0f}" for value in until[one.kind])
        rows.append((one.kind, f"{one.start:.1f}", f"{one.pages:,}", *times))
    title = f"restarts: {hits:.1%} hits and {throughput:.2f} transactions a second before"
    report("ssd_restart", title, COLUMNS, rows)
    for kind in KINDS[:2]:
        if kind in until and "empty" in until:
            # a window that begins at once has been there for less than a second
            faster = until["empty"][1] / max(until[kind][1], 1)
            print(
                f"{kind}: {until[kind][0]:.0f} s until 90 % of hits (goal {GOAL_HITS:.0f});"
                f" throughput {faster:.1f} times sooner than empty (goal {GOAL_FASTER})"
            )
    picture(before, found)


def picture(before: Course, found: Sequence[Restart]) -> None:
    figure, (hits, throughput) = style.panels(2, 1.9, 1)
    for i, one in enumerate(found):
        look = style.line_style(i, one.kind) | {"marker": ""}
        hits.plot(100 * one.course.hits, label=one.kind, **look)
        throughput.plot(one.course.throughput(), label=one.kind, **look)
    level = {"color": "#777777", "linewidth": 0.8, "label": "before"}
    hits.axhline(100 * float(np.nanmean(before.hits)), **level)
    throughput.axhline(float(before.ended.mean()), **level)
    style.dress(hits, "hits after a restart", "seconds", "of memory's misses, %")
    style.dress(throughput, "throughput after a restart", "seconds", "transactions a second")
    for axis in (hits, throughput):
        axis.set_ylim(bottom=0)
    style.legend_below(figure, [hits, throughput])
    save(figure, OUT / "ssd_restart.png")


# ---- the whole ----


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--scale", type=float, default=0.25, metavar="FACTOR", help="of the data; %(default)s")
    add("--ssd", type=float, default=0.24, metavar="SHARE", help="of the data; %(default)s")
    add("--policy", default="page_temperature", metavar="NAME", help="%(default)s")
    add("--before", type=count, default=30, metavar="S", help="seconds; %(default)s")
    add("--after", type=count, default=30, metavar="S", help="a warm restart; %(default)s")
    add("--empty", type=count, default=180, metavar="S", help="an empty one; %(default)s")
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    args = parser.parse_args()
    require()
    with prepared(ods_load(args.scale, 1)) as bench:
        server = Server(args.policy, args.ssd, round(0.025 * bench.pages) + 256)
        with warmed(bench, server, CLIENTS, seed=1) as (instance, _):
            before = watch(instance, args.scale, args.before, seed=2)
            found = []
            for i, kind in enumerate(args.kinds):
                took = restart(bench, instance, kind)
                pages = tier_counters(instance)["used_pages"]
                seconds = args.empty if kind == "empty" else args.after
                course = watch(instance, args.scale, seconds, seed=3 + i)
                found.append(Restart(kind, took, pages, course))
                print(f"  {kind}: {pages} pages", file=sys.stderr, flush=True)
    show(before, found)


if __name__ == "__main__":
    told(skipped(main))
