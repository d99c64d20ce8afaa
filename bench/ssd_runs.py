"""What the live benchmarks of the SSD tier share: workloads on emulated devices, one run of one.

The tables are in a tablespace on the emulated disk (devices.py), the tier's file
on the emulated SSD, and the rest of the data directory, WAL included, on this
machine's own disk.  debug_io_direct keeps the operating system's cache out of
the way.

A run: a server starts with its tier empty.  It is warmed while the disk is fast,
with the costs of the slow disk set; the disk becomes slow and the settings are
removed, and some more is done, until the server goes by costs that it has
measured.  Then a fixed amount of work is measured: all servers do the same.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ods
import streams
import tpcc
from devices import Devices, Done, devices
from live import STOCK, Counters, counters, scratch, serving, side_by_side
from pgbench import Workload, command

from tidepool.errors import TidepoolError
from tidepool.server import Instance

NONE = "none"  # our server without a tier
BLOCK = 8192
SETTINGS = {
    "debug_io_direct": "data",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # A process may pin as many buffers as all that there can be share, and these are few
    # buffers: reads of several blocks need a dozen each.
    "max_connections": "14",
    "autovacuum_worker_slots": "1",
    "autovacuum_max_workers": "1",
    "max_worker_processes": "4",
}
SEEK, TRANSFER = 8000, 55  # microseconds of the slow disk, the latter for a page
READ = 16  # pages that a scan reads at once
# of the slow disk and the SSD, while the disk is fast, with one stream
COSTS = {"ssd_read_time": 20, "disk_random_read_time": SEEK, "disk_sequential_read_time": TRANSFER}
MEASURED = dict.fromkeys(COSTS, -1)
WAREHOUSE_MB, ODS_MB, LINEITEM_MB = 125, 1350, 1000  # of a warehouse; at scale 1
SPARE_MB = 200
WARM_CLIENTS = 4
WARM_PARTS = 12


@dataclass(frozen=True)
class Load:
    """A workload.

    Attributes:
        megabytes: that the disk must have room for.
        fill: makes the tables.
        work: does so many units of work, with this seed, by so many streams.
        unit: of work.
        units: that are measured, by all streams together.
        warm: that come before, while the disk is fast.
        settle: that come after these, when it is slow.
        changes: whether it changes the tables.
    """

    name: str
    megabytes: int
    fill: Callable[[Instance], None]
    work: Callable[[Instance, int, int, int], None]
    unit: str
    units: int
    warm: int
    settle: int
    changes: bool = False


def pgbench(
    instance: Instance, workload: Workload, clients: int, transactions: int, seed: int
) -> None:
    """Let so many clients do so many transactions together.

    A thread for each client: a thread's clients would share a sequence of random numbers.
    """
    line, environment = command(instance, workload, {})
    line = line[: line.index("-c")]
    line[line.index("-M") + 1] = "simple"
    line += ["-c", str(clients), "-j", str(clients), f"--random-seed={seed}"]
    line += ["-t", str(-(-transactions // clients))]
    done = subprocess.run(
        line,
        env=environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0 or "number of failed transactions: 0" not in done.stdout:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}")


def ods_load(scale: float, units: int) -> Load:
    """Return the operational data store."""
    workload = Workload("ods", ods.scripts(scale), settings=ods.WORKLOAD.settings)
    return Load(
        "ods",
        round(ODS_MB * scale) + SPARE_MB,
        lambda instance: ods.load(instance, scale),
        lambda *args: pgbench(args[0], workload, *args[1:]),
        "queries",
        units,
        warm=round(12_000 * scale),
        settle=24,
    )


def tpcc_load(warehouses: int, units: int) -> Load:
    """Return transactions like TPC-C's."""
    workload = Workload("tpcc", tpcc.scripts(warehouses), settings=tpcc.WORKLOAD.settings)
    return Load(
        "tpcc",
        WAREHOUSE_MB * warehouses + SPARE_MB,
        lambda instance: tpcc.load(instance, warehouses),
        lambda *args: pgbench(args[0], workload, *args[1:]),
        "transactions",
        units,
        warm=3000 * warehouses,
        settle=64,
        changes=True,
    )


def tpch_load(scale: float, units: int) -> Load:
    """Return queries like TPC-H's Q1 and Q6 over ranges of dates."""

    def fill(instance: Instance) -> None:
        streams.tpch.load(instance, scale, ["lineitem"], clustered=True)

    def work(instance: Instance, clients: int, queries: int, seed: int) -> None:
        mix = streams.Mix("ranges", clients, max(2, queries // clients), share=0.1)
        side_by_side(instance, streams.scripts_of(mix, seed))

    return Load(
        "tpch",
        round(LINEITEM_MB * scale * 2.2) + SPARE_MB,  # CLUSTER makes a copy
        fill,
        work,
        "queries",
        units,
        warm=48,
        settle=8,
    )


# ---- the data ----


@dataclass(frozen=True)
class Bench:
    """A filled data directory beside its devices.

    Attributes:
        pages: of all tables and indexes on the disk.
    """

    devices: Devices
    directory: Path
    load: Load
    pages: int

    def restore(self) -> None:
        """Bring the data back to what it was when it had been filled."""
        self.devices.disk.restore()
        data = self.directory / "data"
        shutil.rmtree(data)
        subprocess.run(["cp", "-a", self.directory / "saved", data], check=True)


@contextmanager
def prepared(load: Load) -> Iterator[Bench]:
    """Make the devices and fill the tables; remove everything afterwards."""
    with devices(load.megabytes, load.megabytes // 2) as both, scratch() as directory:
        place = both.disk.volume.directory
        with serving(directory, "clock", {"shared_buffers": "256MB", **SETTINGS}) as instance:
            instance.query("CREATE EXTENSION pg_bufferpool")
            instance.query(f"CREATE TABLESPACE slow LOCATION '{place}'")
            instance.query("ALTER DATABASE postgres SET default_tablespace = 'slow'")
            load.fill(instance)
            pages = int(instance.query("SELECT pg_tablespace_size('slow')")) // BLOCK
        if load.changes:
            both.disk.save()
            subprocess.run(["cp", "-a", directory / "data", directory / "saved"], check=True)
        yield Bench(both, directory, load, pages)


# ---- runs ----


@dataclass(frozen=True)
class Server:
    """A server to measure.

    Attributes:
        name: "stock", "none" (ours without a tier), or the tier's policy, with its
            parameters after a colon.
        share: of the data's pages that the SSD has room for.
        buffers: shared_buffers.
    """

    name: str
    share: float
    buffers: int

    @property
    def has_tier(self) -> bool:
        return self.name not in (STOCK, NONE)

    def settings(self, bench: Bench) -> dict[str, str]:
        found = {**SETTINGS, "shared_buffers": str(self.buffers)}
        if self.has_tier:
            policy, _, parameters = self.name.partition(":")
            found |= {
                "bufferpool.ssd_path": str(bench.devices.ssd.directory),
                "bufferpool.ssd_size": str(round(self.share * bench.pages)),
                "bufferpool.ssd_policy": policy,
                "bufferpool.ssd_parameters": parameters,
            }
        return found


@dataclass(frozen=True)
class Found:
    """What one run has measured.

    Attributes:
        seconds: until the last stream had done its work.
        disk: what the disk did meanwhile.
        blocks: that PostgreSQL counted.
        tier: differences of the counters of pg_stat_ssd_tier, and its other columns.
        warming: the tier's hit ratio in each part of the time in which it was warmed.
    """

    seconds: float
    disk: Done
    blocks: Counters
    tier: Mapping[str, Any]
    warming: Sequence[float]


def hit_ratio(tier: Mapping[str, Any]) -> float:
    """Return the share of what memory missed that was read from the SSD."""
    return tier["hits"] / tier["reads"] if tier and tier["reads"] else 0.0


def tier_counters(instance: Instance) -> dict[str, Any]:
    """Return the row of pg_stat_ssd_tier."""
    return dict(json.loads(instance.query("SELECT to_jsonb(s) FROM pg_stat_ssd_tier AS s")))


# columns of pg_stat_ssd_tier that are states, though they are numbers
_STATES = {"pages", "used_pages", "memory", *COSTS}


def since(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has been counted meanwhile."""
    return {
        name: value - before[name]
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _STATES
        else value
        for name, value in now.items()
    }


def costs(streams: int) -> dict[str, int]:
    """Return what so many streams find a page to cost: each read of one of many seeks."""
    seek = SEEK // READ if streams > 1 else 0
    return {**COSTS, "disk_sequential_read_time": TRANSFER + seek}


def set_costs(instance: Instance, costs: Mapping[str, int]) -> None:
    """Let temperatures go by these costs; -1: by what is measured."""
    instance.configure({f"bufferpool.{name}": str(value) for name, value in costs.items()})
    instance.query("SELECT pg_reload_conf()")


class Warm(NamedTuple):
    """A server that has done the workload for a while.

    Attributes:
        hit_ratios: the tier's, in each of the parts in which it was warmed.
    """

    instance: Instance
    hit_ratios: list[float]


@contextmanager
def warmed(bench: Bench, server: Server, clients: int, seed: int) -> Iterator[Warm]:
    """Run a server that has done the workload for a while, on a disk that is slow by now."""
    load, disk = bench.load, bench.devices.disk
    if load.changes:
        bench.restore()
    for file in bench.devices.ssd.directory.iterdir():
        file.unlink()
    disk.fast()
    algorithm = STOCK if server.name == STOCK else "clock"
    with serving(bench.directory, algorithm, server.settings(bench)) as instance:
        if server.has_tier:
            if instance.query("SELECT pg_ssd_tier_enable()") != "t":
                raise TidepoolError(f"the tier does not start:\n{instance.log.read_text()[-500:]}")
            set_costs(instance, costs(clients))
        ratios = []
        for part in range(WARM_PARTS):
            before = tier_counters(instance) if server.has_tier else {}
            load.work(instance, WARM_CLIENTS, load.warm // WARM_PARTS, seed + 1000 + part)
            if server.has_tier:
                ratios.append(hit_ratio(since(tier_counters(instance), before)))
        if load.changes:
            instance.query("CHECKPOINT")
        disk.slow()
        if server.has_tier:
            set_costs(instance, MEASURED)
        load.work(instance, clients, max(load.settle, clients), seed + 2000)
        yield Warm(instance, ratios)


def measure(bench: Bench, server: Server, clients: int, seed: int = 1) -> Found:
    """Run the workload on a warmed server."""
    load, disk = bench.load, bench.devices.disk
    with warmed(bench, server, clients, seed) as (instance, ratios):
        blocks, done = counters(instance), disk.done()
        tier = tier_counters(instance) if server.has_tier else {}
        begin = time.perf_counter()
        load.work(instance, clients, load.units, seed)
        seconds = time.perf_counter() - begin
        done = disk.done() - done
        if server.has_tier:
            tier = since(tier_counters(instance), tier)
        return Found(seconds, done, counters(instance) - blocks, tier, ratios)
