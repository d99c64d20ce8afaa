#!/usr/bin/env python3
"""Scans that lead, wait or go where others are: what that saves, in a simulation of a closed loop.

A scan that hits reads on sooner, so a trace with fixed times cannot say what
scans gain that keep together.  Here streams of queries like scan_mix.py's take
turns on CPUs and on one device, and pbm replaces the pages.  A scan reads 16
blocks at a time: it goes on when they are processed and those that were missing
have been read, whichever is later.

How scans behave:

  in order   each reads its range in ascending order
  meet       it begins where it shares most with a running scan, and goes round:
             what the server does
  throttle   likewise, but a scan with a follower, that is to read the same
             blocks next, waits for it; never longer than a twentieth of its time
  again      likewise, without waiting; it chooses anew after every second block
             group, among those that it has yet to read
  elevator   likewise, at every block group, with the next that it has yet to read
             from where a scan has last had to read from the device
  led        it goes on with the block group, among those that it has yet to
             read, of which most is in memory; in order where it reads anyway

Blocks read and the time until the last stream ends, as multiples of *in
order*, with the same queries; and how much longer the stream took that lost
most.  Means of the seeds.  Ten minutes; --quick two.
"""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from common import count, report

from tidepool import Pool, Scans

CHUNK = 16  # blocks that a scan reads at a time
GROUP = 128  # blocks of a block group
CPUS = 2
QUERIES = 8  # of each stream
SELECTIVITY = 0.36
CACHED = 0.3  # of the table
PROCESSING = (40.0, 20.0)  # microseconds for a block, of a query like Q1 and one like Q6
AGAIN = 2 * GROUP // CHUNK  # chunks after which a scan chooses anew
MOST_WAITING = 0.05  # of a throttled scan's time
FAR = 2 * GROUP  # blocks that a leader may be ahead
PATIENCE = 400.0  # microseconds that a leader waits before it looks again
WARM_UP = 2_000_000.0  # microseconds between the warm-up read and the streams
# microseconds that a block takes on the device
DEVICES = {"a copy, 2 µs": 2.0, "100 MB/s": 80.0}


@dataclass
class Machine:
    """CPUs, the device, the pages in memory."""

    block_time: float  # on the device
    pages: int
    seed: int
    now: float = 0
    device_free: float = 0
    reads: int = 0
    hand: int = 0  # the block group of which a scan has last had to read
    cpus: list[float] = field(default_factory=lambda: [0.0] * CPUS)

    def __post_init__(self) -> None:
        self.scans = Scans(capacity=512, bitmaps=256)
        self.pool = Pool("pbm", round(CACHED * self.pages), seed=self.seed, scans=self.scans)

    def read(self, blocks: range, scan: int, processing: float) -> float:
        """Read and process these blocks; return when that is done."""
        pool = self.pool
        pool.now = self.scans.now = int(self.now)
        pool.scan = scan
        misses = 0
        for block in blocks:
            frame = pool.find(block)
            if frame is not None:
                pool.hit(frame)
                continue
            misses += 1
            frame = pool.victim(block)
            if frame is None or frame < 0:
                raise AssertionError("no victim")
            if not pool.is_free(frame):
                pool.evict(frame)
            pool.admit(frame, block)
        if scan:
            self.scans.advance(scan, blocks[-1])
        if misses:
            self.device_free = max(self.now, self.device_free) + misses * self.block_time
            self.reads += misses
            self.hand = blocks[0] // GROUP
        cpu = self.cpus.index(min(self.cpus))
        self.cpus[cpu] = max(self.now, self.cpus[cpu]) + len(blocks) * processing
        return max(self.cpus[cpu], self.device_free if misses else 0)

    def resident(self, blocks: range) -> float:
        """Return the share of these blocks that is in memory, by looking at every eighth."""
        looked_at = blocks[::8]
        return sum(self.pool.find(block) is not None for block in looked_at) / len(looked_at)


@dataclass
class Query:
    """A running query.  It reads groups first .. first + groups - 1, a chunk at a time."""

    machine: Machine
    first: int
    groups: int
    processing: float
    others: list[Query]

    def __post_init__(self) -> None:
        self.left = list(range(self.first, self.first + self.groups))
        self.began = self.machine.now
        self.waited = 0.0
        self.scan = 0

    def announce(self) -> None:
        """Tell the registry what is left, in the order in which it will be read."""
        scans = self.machine.scans
        scans.end(self.scan)
        self.machine.scans.now = int(self.machine.now)
        self.scan = scans.begin(
            first=self.left[0] * GROUP,
            ranges=[(group * GROUP, GROUP) for group in sorted(self.left)],
            speed=1e6 / self.processing,
        )

    def go_round(self, group: int) -> None:
        """Go on with this group, to the last one, and then with the first."""
        self.left.sort()
        at = self.left.index(group)
        self.left = self.left[at:] + self.left[:at]

    def meet(self) -> None:
        """Go on where most is shared with another scan."""
        best, most = self.left[0], 0
        mine = set(self.left)
        for other in self.others:
            if other is self or not other.left:
                continue
            common = len(mine.intersection(other.left))
            slower = min(self.processing, other.processing) / max(self.processing, other.processing)
            target = next((group for group in other.left if group in mine), None)
            if target is not None and common * slower > most:
                best, most = target, common * slower
        self.go_round(best)

    def chunks(self) -> Iterator[range]:
        """Yield what is to be read of the group that comes next."""
        first = self.left[0] * GROUP
        for at in range(first, first + GROUP, CHUNK):
            yield range(at, at + CHUNK)


Run = Callable[[Query], Iterator[float]]


def plain(query: Query) -> Iterator[float]:
    """Read all in the order that has been chosen; yield when it may go on."""
    query.announce()
    while query.left:
        for chunk in query.chunks():
            yield query.machine.read(chunk, query.scan, query.processing)
        query.left.pop(0)
    query.machine.scans.end(query.scan)


def meeting(query: Query) -> Iterator[float]:
    query.meet()
    yield from plain(query)


def is_followed(query: Query) -> bool:
    """Whether another scan is behind, not far, and will read what this one has just read."""
    for other in query.others:
        if other is query or not other.left or other.processing <= query.processing:
            continue
        ahead = (query.left[0] - other.left[0]) * GROUP
        if FAR < ahead <= 4 * FAR and query.left[0] in other.left:
            return True
    return False


def throttled(query: Query) -> Iterator[float]:
    query.meet()
    query.announce()
    machine = query.machine
    while query.left:
        while (
            is_followed(query)
            and query.waited + PATIENCE < (machine.now - query.began) * MOST_WAITING
        ):
            query.waited += PATIENCE
            yield machine.now + PATIENCE
        for chunk in query.chunks():
            yield machine.read(chunk, query.scan, query.processing)
        query.left.pop(0)
    machine.scans.end(query.scan)


def again(query: Query) -> Iterator[float]:
    done = 0
    query.meet()
    query.announce()
    while query.left:
        for chunk in query.chunks():
            yield query.machine.read(chunk, query.scan, query.processing)
            done += 1
        query.left.pop(0)
        if query.left and done >= AGAIN:
            done, before = 0, query.left[0]
            query.meet()
            if query.left[0] != before:
                query.announce()
    query.machine.scans.end(query.scan)


def elevator(query: Query) -> Iterator[float]:
    query.meet()
    query.announce()
    machine = query.machine
    while query.left:
        for chunk in query.chunks():
            yield machine.read(chunk, query.scan, query.processing)
        query.left.pop(0)
        if not query.left:
            break
        before = query.left[0]
        query.go_round(
            min((group for group in query.left if group >= machine.hand), default=min(query.left))
        )
        if query.left[0] != before:
            query.announce()
    machine.scans.end(query.scan)


def led(query: Query) -> Iterator[float]:
    query.meet()
    query.announce()
    machine = query.machine
    while query.left:
        for chunk in query.chunks():
            yield machine.read(chunk, query.scan, query.processing)
        query.left.pop(0)
        if not query.left:
            break
        shares = [machine.resident(range(g * GROUP, (g + 1) * GROUP)) for g in query.left]
        best = max(range(len(shares)), key=shares.__getitem__)
        if shares[best] >= 0.5 and shares[best] > shares[0] + 0.25:
            query.go_round(query.left[best])
            query.announce()
    machine.scans.end(query.scan)


WAYS: dict[str, Run] = {
    "in order": plain,
    "meet": meeting,
    "throttle": throttled,
    "again": again,
    "elevator": elevator,
    "led": led,
}


@dataclass(frozen=True)
class Outcome:
    reads: int
    ends: np.ndarray  # when each stream ended


def run(way: Run, block_time: float, groups: int, streams: int, seed: int) -> Outcome:
    """Let all streams make their queries."""
    machine = Machine(block_time, groups * GROUP, seed)
    for group in range(groups):  # a first read of all warms up
        machine.now += GROUP * PROCESSING[1]
        machine.read(range(group * GROUP, (group + 1) * GROUP), 0, 0)
    machine.now += WARM_UP
    machine.reads, machine.device_free = 0, 0
    machine.cpus = [0.0] * CPUS
    start = machine.now
    running: list[Query] = []

    def stream(number: int) -> Iterator[float]:
        random = np.random.default_rng([seed, number])
        length = max(1, round(SELECTIVITY * groups))
        for _ in range(QUERIES):
            first = int(random.integers(groups - length + 1))
            query = Query(machine, first, length, PROCESSING[int(random.integers(2))], running)
            running.append(query)
            yield from way(query)
            running.remove(query)

    events = [(start + number, number, stream(number)) for number in range(streams)]
    ends = np.zeros(streams)
    while events:
        machine.now, number, steps = heapq.heappop(events)
        ends[number] = machine.now - start
        wake = next(steps, None)
        if wake is not None:
            heapq.heappush(events, (wake, number, steps))
    return Outcome(machine.reads, ends)


def row(device: str, streams: int, groups: int, seeds: int, names: Sequence[str]) -> list[str]:
    cells = [device, str(streams)]
    found = {
        name: [run(WAYS[name], DEVICES[device], groups, streams, seed) for seed in range(seeds)]
        for name in names
    }
    base = found["in order"]
    for name in names[1:]:
        pairs = list(zip(found[name], base, strict=True))
        reads = np.mean([one.reads / other.reads for one, other in pairs])
        time = np.mean([one.ends.max() / other.ends.max() for one, other in pairs])
        worst = np.mean([(one.ends / other.ends).max() for one, other in pairs])
        cells += [f"{reads:.2f}", f"{time:.2f}", f"{worst:.2f}"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=count, default=90, help="of the table, %(default)s")
    parser.add_argument("--seeds", type=count, default=3, help="%(default)s")
    parser.add_argument("--quick", action="store_true", help="one seed")
    options = parser.parse_args()
    names = list(WAYS)
    columns = ["device", "streams"]
    columns += [text for name in names[1:] for text in (f"{name}: blocks", "time", "slowest")]
    rows = [
        row(device, streams, options.groups, 1 if options.quick else options.seeds, names)
        for device in DEVICES
        for streams in (2, 4, 8, 16)
    ]
    report("scans_together", "Scans that keep together", columns, rows, width=170)


if __name__ == "__main__":
    main()
