"""A tier on an SSD below the pages in memory: what it is, and one at work."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.policies import Param, Policy, PolicySpec, parse_policy, parse_policy_of
from tidepool.simulation.devices import HDD, SATA_SSD, Device
from tidepool.simulation.events import Events
from tidepool.simulation.offline import copied, joined, next_reads, part_of, sequential_reads
from tidepool.simulation.sizes import PAGE_BYTES
from tidepool.traces.model import Chunk

WRITE_BUFFER = 64  # pages
EXTENT_BYTES = 36  # of a frame: its share of the temperatures, on average
MB = 1 << 20
DIRTY_LIMIT = 0.25  # of the frames: what write-back lets be dirty
KEEP_SHARE = 0.5  # of the frames, by default: bufferpool.ssd_keep_share

_TABLE_BYTES = 51  # of a frame: its share of the page table, on average, and its marks
_OPT_FRAME_BYTES = 152  # two heaps with their page tables


def _offline(name: str, title: str, source: str, params: tuple[Param, ...]) -> Policy:
    return Policy(
        name=name,
        alias=None,
        title=title,
        source=source,
        params=params,
        lock_free_hits=False,
        randomized=False,
        frame_bytes=0,
        ghosts_per_frame=0,
        ghost_bytes=0,
        handle=None,
    )


NO_SSD = _offline("none", "no SSD", "", ())

OPT = _offline(
    "opt",
    "optimal replacement with bypass, offline",
    "Belady, IBM Systems Journal 1966",
    (
        Param(
            name="by",
            kind="choice",
            default=0,
            min=0,
            max=1,
            help="what is least: the misses (optimal), or about the time (heuristic)",
            choices=("misses", "time"),
        ),
    ),
)


class SsdPolicySpec(PolicySpec):
    """A policy on the SSD: any online one, ``opt`` or ``none``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_ssd_policy, (str(self),)


def parse_ssd_policy(text: str) -> SsdPolicySpec:
    """Return the policy that ``NAME[:k=v,…]`` describes; raise PolicyError if it cannot be."""
    own = {policy.name: policy for policy in (NO_SSD, OPT)}
    name = text.partition(":")[0]
    spec = parse_policy_of(own[name], text) if name in own else parse_policy(text)
    return SsdPolicySpec(spec.policy, spec.values)


@dataclass(frozen=True)
class Ssd:
    """An SSD tier: a policy over so many frames, between memory and a disk.

    ``write_buffer`` pages may wait to be written to the SSD; 0: any number,
    written at once.  ``write_budget`` (MB a second) and ``write_budget_per_day``
    (MB) limit what is written to it; 0: not at all.  The seconds are those that
    memory waits for the devices.  ``at_eviction``: pages are offered to the SSD when
    memory evicts them, not when it reads them from the disk.

    The pages of the relations (by number) in ``keep`` stay on the SSD, up to
    ``keep_share`` of its frames; those of ``left_out`` do not come there.  So a server's
    ``WITH (ssd_tier = keep)`` and ``none``.
    """

    spec: SsdPolicySpec
    frames: int
    disk: Device = HDD
    device: Device = SATA_SSD
    write_back: bool = False
    write_buffer: int = WRITE_BUFFER
    write_budget: float = 0.0
    write_budget_per_day: float = 0.0
    at_eviction: bool = False
    keep: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    keep_share: float = KEEP_SHARE

    def __post_init__(self) -> None:
        if self.write_back and self.offline:
            raise TidepoolError(
                "opt on the SSD writes through", "Leave out write-back, or opt as its policy."
            )
        if min(self.write_budget, self.write_budget_per_day) < 0:
            raise TidepoolError("a write budget is negative", "0 means no limit.")
        if self.limited and (self.write_back or self.offline):
            raise TidepoolError(
                "a write budget is for write-through, and for policies that do not know the future",
                "Leave out the budget, or write-back and opt.",
            )
        if self.at_eviction and self.offline:
            raise TidepoolError(
                "opt on the SSD takes pages when they are read",
                "Leave out the admission at eviction, or opt as its policy.",
            )
        if self.keep & self.left_out:
            raise TidepoolError("a relation is both to be kept on the SSD and left out")
        if not 0 <= self.keep_share <= 1:
            raise TidepoolError(
                f"{self.keep_share:g} is no share of the SSD", "Use 0 to 1, such as 0.5."
            )
        if (self.keep or self.left_out) and (self.write_back or self.offline):
            raise TidepoolError(
                "relations have a choice only where the SSD writes through, under a policy that"
                " does not know the future",
                "Leave out what relations want of the SSD, or write-back and opt.",
            )

    @property
    def limited(self) -> bool:
        """Whether a budget limits the writes."""
        return self.write_budget > 0 or self.write_budget_per_day > 0

    @property
    def offline(self) -> bool:
        """Whether it needs to know the future."""
        return self.spec.policy == OPT

    def __str__(self) -> str:
        return str(self.spec) if self.spec.policy == NO_SSD else f"{self.spec}/{self.frames}"


@dataclass(frozen=True)
class SsdResult:
    """What an SSD tier counted.

    ``reads`` are the misses of memory.  Times are in seconds, each device's
    on its own, as though nothing went on at the same time; ``time`` is their
    sum.  A read is random or sequential by the stream of reads, whichever
    device serves it (docs/ssd-tier.md).
    """

    policy: str
    params: dict[str, Any]
    frames: int
    disk: str
    device: str
    write_back: bool
    at_eviction: bool
    reads: int
    hits: int  # of the reads, served by the SSD
    hit_ratio: float
    disk_random_reads: int
    disk_sequential_reads: int
    disk_writes: int
    ssd_writes: int
    refused: int  # pages offered that the policy did not want on the SSD
    too_dear: int  # pages not written to the SSD, or not again, for want of budget
    dropped: int  # pages that did not get there since too many were waiting
    flushed: int  # dirty pages that went from the SSD to the disk (write-back)
    misjudged: int  # reads that the window took for the other class
    extents_forgotten: int  # for want of room for temperatures
    disk_read_time: float
    ssd_read_time: float
    disk_write_time: float
    ssd_write_time: float
    recorded_hits: int | None = None  # of a replay of what a server ran: hits of the server's SSD

    @property
    def times(self) -> tuple[float, float, float, float]:
        """Seconds of reads from the disk and from the SSD, and of writes to them."""
        return self.disk_read_time, self.ssd_read_time, self.disk_write_time, self.ssd_write_time

    @property
    def time(self) -> float:
        """Seconds of both devices together."""
        return sum(self.times)

    @property
    def read_time(self) -> float:
        """Seconds that reads took."""
        return self.disk_read_time + self.ssd_read_time

    @property
    def written_per_tb(self) -> float:
        """Bytes written to the SSD per TB (10^12 bytes) that memory read."""
        return 1e12 * self.ssd_writes / self.reads if self.reads else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        out = asdict(self)
        if self.recorded_hits is None:
            del out["recorded_hits"]
        out["bytes_written"] = self.ssd_writes * PAGE_BYTES
        out["written_per_tb"] = round(self.written_per_tb)
        for name in ("disk_read_time", "ssd_read_time", "disk_write_time", "ssd_write_time"):
            out[name] = round(out[name], 6)
        out["read_time"], out["time"] = round(self.read_time, 6), round(self.time, 6)
        return out


class Tier:
    """An SSD tier at work: fed with what a cache reads and writes (sim.h: tps_replay_io)."""

    def __init__(self, ssd: Ssd, seed: int = 0) -> None:
        self.ssd = ssd
        self._recorded: list[Chunk] = []  # for OPT, which is run at the end
        self._restart_at: int | None = None
        self._events = 0
        self._tier = self._make(seed)

    def _make(self, seed: int) -> Any:
        ssd, spec = self.ssd, self.ssd.spec
        options = tier_options(ssd)
        if spec.policy == NO_SSD:
            tier = lib.tps_tier_new_none(options)
        elif spec.policy == OPT:
            tier = lib.tps_tier_new_opt(ssd.frames, self._by_time, options)
        else:
            cache = lib.tps_cache_new(
                spec.policy.handle, spec.array(), ssd.frames, ssd.frames, seed
            )
            tier = lib.tps_tier_new(cache, options) if cache != ffi.NULL else ffi.NULL
        if tier == ffi.NULL:
            raise MemoryError(f"no memory to simulate an SSD of {ssd.frames} frames")
        tier = ffi.gc(tier, lib.tps_tier_free)
        lib.tps_tier_set_keep_share(tier, ssd.keep_share)
        for relations, choice in ((ssd.keep, lib.TPS_KEEP), (ssd.left_out, lib.TPS_NONE)):
            for relation in relations:
                if not lib.tps_tier_choose(tier, relation, choice):
                    raise MemoryError(f"no memory to simulate an SSD of {ssd.frames} frames")
        return tier

    @property
    def _by_time(self) -> bool:
        return bool(self.ssd.spec.params()["by"])

    def feed(self, events: Any) -> None:
        """Take further reads and writes: a tps_events *."""
        if self.ssd.offline:
            self._recorded.append(copied(events))
        else:
            lib.tps_tier_feed(self._tier, events, ffi.NULL)
        self._events += events.n

    def restart(self) -> None:
        """Count from here on."""
        self._restart_at = self._events
        lib.tps_tier_restart(self._tier)

    def result(self) -> SsdResult:
        """Return what was counted; OPT is run now, so nothing may be fed afterwards."""
        if self.ssd.offline:
            self._run_offline()
        sums = ffi.new("tps_tier_sums *")
        lib.tps_tier_totals(self._tier, sums)
        return ssd_result(self.ssd, sums)

    def check(self) -> list[str]:
        """Return the invariants that do not hold: an empty list, unless there is a defect."""
        text = ffi.new("char[]", 4096)
        bad = lib.tps_tier_check(self._tier, text, len(text))
        lines = ffi.string(text).decode().splitlines()
        return lines if lines or not bad else [f"{bad} violations"]

    def recorded(self) -> tuple[Chunk, int]:
        """Return the reads and writes so far, of OPT's tier, and where counting begins."""
        return joined(self._recorded), self._restart_at or 0

    def _run_offline(self) -> None:
        if not self._recorded:
            return
        chunk, middle = self.recorded()
        self._recorded = []
        next_use = next_reads(chunk)
        classes = sequential_reads(chunk)
        # of a page that is not read again, any class will do
        known = np.where(next_use < len(chunk), next_use, 0).astype(np.int64)
        next_sequential = np.ascontiguousarray(classes[known])
        for begin, end in ((0, middle), (middle, len(chunk))):
            if begin == middle and self._restart_at is not None:
                lib.tps_tier_restart(self._tier)
            part = slice(begin, end)
            events = Events(part_of(chunk, part), begin, next_use[part])
            pointer = ffi.cast("uint8_t *", next_sequential[part].ctypes.data)
            lib.tps_tier_feed(self._tier, events.pointer, pointer)


def tier_bytes(ssd: Ssd) -> int:
    """Return about how much memory a tier needs, what OPT records apart."""
    spec = ssd.spec
    if spec.policy.handle is None:
        return ssd.frames * _OPT_FRAME_BYTES if ssd.offline else 0
    ghosts = int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))
    per_frame = spec.policy.frame_bytes + ghosts * spec.policy.ghost_bytes
    return ssd.frames * (per_frame + _TABLE_BYTES + EXTENT_BYTES)


def tier_options(ssd: Ssd) -> Any:
    """Return a tps_tier_options *."""
    return ffi.new(
        "tps_tier_options *",
        {
            "disk": ssd.disk.handle(),
            "ssd": ssd.device.handle(),
            "write_back": ssd.write_back,
            "at_eviction": ssd.at_eviction,
            "write_buffer": ssd.write_buffer,
            "dirty_limit": DIRTY_LIMIT,
            "write_budget": ssd.write_budget * MB / PAGE_BYTES,
            "write_budget_per_day": ssd.write_budget_per_day * MB / PAGE_BYTES,
        },
    )


def ssd_result(ssd: Ssd, sums: Any) -> SsdResult:
    """Return what a tier has counted: a tps_tier_sums *."""
    reads = sums.random_reads + sums.sequential_reads
    hits = sums.random_hits + sums.sequential_hits
    return SsdResult(
        policy=ssd.spec.policy.name,
        params=ssd.spec.typed_params(),
        frames=0 if ssd.spec.policy == NO_SSD else ssd.frames,
        disk=ssd.disk.name,
        device=ssd.device.name,
        write_back=ssd.write_back,
        at_eviction=ssd.at_eviction,
        reads=reads,
        hits=hits,
        hit_ratio=hits / reads if reads else 0.0,
        disk_random_reads=sums.random_reads - sums.random_hits,
        disk_sequential_reads=sums.sequential_reads - sums.sequential_hits,
        disk_writes=sums.random_writes + sums.sequential_writes,
        ssd_writes=sums.ssd_writes,
        refused=sums.refused,
        too_dear=sums.too_dear,
        dropped=sums.dropped,
        flushed=sums.flushed,
        misjudged=sums.misjudged,
        extents_forgotten=sums.extents_forgotten,
        disk_read_time=sums.disk_read_time / 1e6,
        ssd_read_time=sums.ssd_read_time / 1e6,
        disk_write_time=sums.disk_write_time / 1e6,
        ssd_write_time=sums.ssd_write_time / 1e6,
    )
