#!/usr/bin/env python3
"""Whether a replay has the hits of a live SSD tier, and whether they were foretold.

The workloads are those of agreement.py, under every algorithm on the SSD, from an empty
tier (pg_ssd_tier_reset) on:

- One session.  Goal: within 1 % of the live hits, if not the same.
- Eight pgbench clients.  Goal: within 1 %.

Before that both run on a server without an SSD, and its recordings are asked what an SSD
of that size would do (forecast_ssd).  Clients interleave otherwise in each run.

What reads save is set, not measured, since the files are in the operating system's cache.
The SSD is a file in /dev/shm, so the writer falls behind as seldom as it can.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import agreement
from agreement import CLIENTS, FULL, QUICK, Size
from common import report
from live import scratch, serving, told

from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.simulation import (
    forecast_ssd,
    parse_device,
    parse_ssd_policy,
    replay_recorded_ssd,
)
from tidepool.traces import open_trace

GOAL = 0.01
PAGES = {FULL: 2000, QUICK: 400}  # of the SSD: about a fifth of the data
FOR_SSD = ("page_temperature", "tac")
DISK, DEVICE = parse_device("network:12000,160"), parse_device("network:80,80")
COSTS = {
    "bufferpool.ssd_read_time": "80",
    "bufferpool.disk_random_read_time": "12000",
    "bufferpool.disk_sequential_read_time": "160",
}

BEGIN = (
    "SELECT pg_bufferpool_reset(), pg_ssd_tier_reset(), pg_stat_reset_ssd_tier(),"
    " pg_bufferpool_trace_start('{}')"
)
COLUMNS = ("SSD", "pages read", "live hits", "replayed", "difference", "%", "dropped")
FORETOLD = ("live hit ratio, %", "foretold, %", "points")


@dataclass(frozen=True)
class Hits:
    """Hits of one algorithm in one workload, in pages."""

    policy: str
    reads: int
    live: int
    replayed: int
    dropped: int
    foretold: float  # hit ratio

    @property
    def difference(self) -> float:
        """Replayed hits less live ones, relative to these."""
        return (self.replayed - self.live) / self.live if self.live else 0.0

    def row(self) -> tuple[str | int | float, ...]:
        """Return what is printed of it."""
        live = self.live / self.reads
        return (
            *(self.policy, self.reads, self.live, self.replayed, self.replayed - self.live),
            *(100 * self.difference, self.dropped),
            *(100 * live, 100 * self.foretold, 100 * (self.foretold - live)),
        )


def compare(recording: Path, foretelling: Path, pages: int) -> Hits:
    """Count the hits of a recording, of its replay, and those foretold by the other one."""
    trace = open_trace(recording)
    ran = trace.recorded
    assert ran is not None and ran.ssd is not None
    if list(ran.flaws()):
        raise TidepoolError("; ".join(ran.flaws()))
    result = replay_recorded_ssd(trace)
    spec = parse_ssd_policy(ran.ssd.spec)
    (foretold,) = forecast_ssd(
        open_trace(foretelling), [pages], [spec], disk=DISK, device=DEVICE
    ).ssds
    assert result.recorded_hits is not None
    return Hits(
        str(spec),
        result.reads,
        result.recorded_hits,
        result.hits,
        result.dropped,
        foretold.hit_ratio,
    )


def settings_of(size: Size) -> dict[str, str]:
    """Return what all servers have."""
    return {
        "shared_buffers": size.shared_buffers,
        "bufferpool.trace_buffers": "65536",
        "bufferpool.batch_size": "1",
        "bgwriter_lru_maxpages": "0",
    }


def record(server: Instance, size: Size, begin: str, target: Path) -> list[Path]:
    """Run both workloads; move their recordings to that directory."""
    kept = []
    for run in (agreement.one_session, agreement.clients):
        recording = run(server, size, begin)
        kept.append(target / recording.name)
        shutil.move(recording, kept[-1])
        for other in server.directory.glob("*.rec"):
            other.unlink()
    return kept


def measure(
    directory: Path, policy: str, size: Size, ssd: Path, foretelling: list[Path], target: Path
) -> list[Hits]:
    """Run both workloads with this algorithm on the SSD."""
    tier = {
        "bufferpool.ssd_path": str(ssd),
        "bufferpool.ssd_size": str(PAGES[size]),
        "bufferpool.ssd_policy": policy,
    }
    with serving(directory, "clock", settings_of(size) | COSTS | tier) as server:
        server.query("SELECT pg_ssd_tier_enable()")
        recordings = record(server, size, BEGIN, target)
    return [
        compare(recording, foretold, PAGES[size])
        for recording, foretold in zip(recordings, foretelling, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="an eighth of it")
    parser.add_argument("--policy", action="append", default=[], help="only this one")
    args = parser.parse_args()
    size = QUICK if args.quick else FULL
    found: list[list[Hits]] = []
    ssd = Path(tempfile.mkdtemp(prefix="tidepool-ssd-", dir="/dev/shm"))
    ssd.chmod(0o777)
    target = Path(tempfile.mkdtemp(prefix="tidepool-rec-"))
    without = target / "without"
    without.mkdir()
    try:
        with scratch() as directory:
            with serving(directory, "clock", settings_of(size)) as server:
                server.query("CREATE EXTENSION pg_bufferpool")
                server.run(server.bin / "pgbench", "-i", "-q", "-s", str(size.scale), "postgres")
                there = server.query("SELECT name FROM pg_bufferpool_algorithms()").splitlines()
                foretelling = record(server, size, agreement.BEGIN, without)
            for policy in args.policy or (*FOR_SSD, *there):
                found.append(measure(directory, policy, size, ssd, foretelling, target))
    finally:
        shutil.rmtree(ssd)
        shutil.rmtree(target)
    for i, (name, title) in enumerate(
        (("one_session", "one session"), ("clients", f"{CLIENTS} clients"))
    ):
        hits = [each[i] for each in found]
        report(
            f"ssd_agreement_{name}",
            f"{title}, {PAGES[size]} pages on the SSD",
            (*COLUMNS, *FORETOLD),
            [each.row() for each in hits],
        )
        exact = sum(each.live == each.replayed for each in hits)
        within = sum(abs(each.difference) <= GOAL for each in hits)
        print(f"{title}: the same hits with {exact} of {len(hits)}, within 1 % with {within}")


if __name__ == "__main__":
    told(main)
