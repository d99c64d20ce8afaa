"""What an SSD of each size would do below a server: a forecast from a recording.

The server need not have an SSD.  What a recording says it read and wrote is fed to
an SSD tier of each size; a trace without that is first replayed through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any

from tidepool._sim import lib
from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.below import has_physical_io, measured_disk, simulate_below
from tidepool.simulation.devices import HDD, SATA_SSD, Device
from tidepool.simulation.grid import Cell, Progress, simulate
from tidepool.simulation.options import Options
from tidepool.simulation.sizes import PAGE_BYTES
from tidepool.simulation.ssd import KEEP_SHARE, Ssd, SsdPolicySpec, SsdResult, parse_ssd_policy
from tidepool.traces.model import Trace

SERVER_POLICY = "page_temperature"  # of a server's SSD, by default
SERVER_WRITE_BUFFER = 256  # pages, by default: bufferpool.ssd_write_buffers
SHORT_SECONDS = 3600  # a day that is extrapolated from less says little
DAY, YEAR = 86_400, 365.25  # seconds, days
WRITES_OF_ALL = 600  # Samsung 870 EVO, data sheet: 600 TB for each TB
WARRANTY_YEARS = 5  # that DWPD is meant for

ENOUGH = 0.9  # of what the largest size saves: so much is worth recommending
LEAST_SAVED = 0.05  # of the read time: below, an SSD does not pay
LEAST_YEARS = 5.0
USEFUL = 1.25  # times as long as the SSD the disk must take (ssdtier/costs.c)


@dataclass(frozen=True)
class Endurance:
    """What may be written to an SSD: so many bytes, or its size so many times."""

    total: float | None = None  # bytes
    times: float = WRITES_OF_ALL

    def of(self, size: int) -> float:
        """Return the bytes that may be written to an SSD of this size."""
        return self.times * size if self.total is None else self.total


@dataclass(frozen=True)
class SsdForecast:
    """What an SSD of one size and policy would do.

    Times are seconds of reading in the recording; ``written_per_day`` is extrapolated
    from the recording's duration, and None if the trace has no times.
    """

    policy: str
    frames: int
    bytes: int
    reads: int
    hits: int
    hit_ratio: float
    read_time: float
    read_time_without: float
    written: int  # bytes, in the recording
    written_per_day: float | None
    years: float | None  # None: not known, or nothing is written
    memory: int  # bytes of the server's memory
    filled: bool  # whether so much was written that the SSD can have been full
    possible: bool  # whether a server can have it: not opt

    @property
    def saved(self) -> float:
        """Seconds of reading saved."""
        return self.read_time_without - self.read_time

    @property
    def saved_share(self) -> float:
        """Share of the read time saved."""
        return self.saved / self.read_time_without if self.read_time_without else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        out = asdict(self)
        out |= {"saved": self.saved, "saved_share": self.saved_share}
        return {k: round(v, 6) if isinstance(v, float) else v for k, v in out.items()}


@dataclass(frozen=True)
class Forecast:
    """What SSDs of several sizes would do below a trace's server.

    ``seconds`` is the recording's duration, None if the trace has no times;
    ``physical`` says whether the recording has physical reads, or memory was
    simulated; ``disk_assumed`` whether no disk was given and none was measured.
    """

    trace: str
    disk: Device
    device: Device
    seconds: float | None
    physical: bool
    disk_assumed: bool
    ssds: tuple[SsdForecast, ...]

    @property
    def useful(self) -> bool:
        """Whether the SSD is so much faster than the disk that a server does not leave it alone."""
        return is_useful(self.disk, self.device)

    @property
    def best(self) -> SsdForecast | None:
        """The smallest SSD that saves nearly as much as any and lasts; None: none pays."""
        possible = [ssd for ssd in self.ssds if ssd.possible]
        most = max((ssd.saved for ssd in possible), default=0.0)
        good = [
            ssd
            for ssd in possible
            if ssd.saved_share >= LEAST_SAVED
            and ssd.saved >= ENOUGH * most
            and (ssd.years is None or ssd.years >= LEAST_YEARS)
        ]
        return min(good, key=lambda ssd: (ssd.frames, -ssd.saved), default=None)

    def recommendation(self) -> str:
        """Return what to do, for people, as one sentence."""
        if not self.useful:
            return (
                f"No SSD: reading a page from it takes {self.device.random_read:.4g} µs,"
                f" from the disk at most {_slowest(self.disk):.4g}."
            )
        best = self.best
        if best is not None:
            lasts = "" if best.years is None else f", and lasts {_years(best.years)}"
            policy = "" if best.policy == SERVER_POLICY else f" with {best.policy}"
            return (
                f"bufferpool.ssd_size = {-(-best.bytes // 2**20)}MB{policy} saves"
                f" {100 * best.saved_share:.0f}% of the read time{lasts}."
            )
        possible = [ssd for ssd in self.ssds if ssd.possible]
        most = max(possible, key=lambda ssd: ssd.saved, default=None)
        if most is None or most.saved_share < LEAST_SAVED:
            share = 0.0 if most is None else most.saved_share
            return f"No SSD: none of these saves more than {100 * share:.1f}% of the read time."
        return (
            f"None of these lasts {LEAST_YEARS:g} years and saves nearly as much as the others:"
            " take a device with a higher endurance, or a policy that writes less."
        )

    def caveats(self) -> list[str]:
        """Return what is to be known about the numbers, for people."""
        out = []
        if self.seconds is None:
            out.append("the trace has no times, so nothing is said of days and years")
        else:
            out.append(f"days are extrapolated from {self.seconds:,.0f} s")
            if self.seconds < SHORT_SECONDS:
                out.append("the recording is too short for that: record an hour of the usual load")
        if self.disk_assumed:
            out.append(f"the disk was not measured: its times are those of {self.disk.name}")
        if not self.physical:
            out.append("memory was simulated: the trace has no physical reads")
        if self.useful and not all(ssd.filled for ssd in self.ssds if ssd.possible):
            least = min(ssd.frames for ssd in self.ssds if ssd.possible and not ssd.filled)
            out.append(
                f"from {least:,} pages on the SSD was not full at the end:"
                " a longer recording would show more of these sizes"
            )
        return out

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        best = self.best
        return {
            "trace": self.trace,
            "disk": asdict(self.disk),
            "device": asdict(self.device),
            "seconds": self.seconds,
            "physical": self.physical,
            "ssds": [ssd.to_json() for ssd in self.ssds],
            "best": None if best is None else {"policy": best.policy, "frames": best.frames},
            "recommendation": self.recommendation(),
            "caveats": self.caveats(),
        }


def is_useful(disk: Device, device: Device) -> bool:
    """Return whether a server would use this SSD above this disk."""
    return _slowest(disk) > USEFUL * device.random_read


def _slowest(disk: Device) -> float:
    return max(disk.random_read, disk.sequential_read)


def _years(years: float) -> str:
    return "over 100 years" if years > 100 else f"{years:.1f} years"


def server_memory(spec: PolicySpec, pages: int) -> int:
    """Return the bytes of memory that a server's SSD tier of so many pages takes.

    As lay_out in postgres/src/backend/storage/ssdtier/tier.c has it, without the
    write buffers.
    """
    policy = spec.policy
    ghosts = int(lib.tp_policy_ghosts_per_frame(policy.handle, spec.array()))
    per_page = policy.frame_bytes + ghosts * policy.ghost_bytes + 12 + 4 + 1
    extents = 1 << max(pages // 4, 1).bit_length() - 1
    relations = min(max(4096, pages // 32), 1 << 22)
    return pages * per_page + 64 * max(1024, extents) + relations * 60


def forecast_ssd(
    trace: Trace,
    frames: Sequence[int],
    specs: Sequence[SsdPolicySpec] = (),
    *,
    disk: Device | None = None,
    device: Device = SATA_SSD,
    endurance: Endurance | None = None,
    memory: Cell | None = None,
    keep: frozenset[int] = frozenset(),
    left_out: frozenset[int] = frozenset(),
    keep_share: float = KEEP_SHARE,
    warmup: int = 0,
    seed: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Return what SSDs of so many frames would do, under each policy (by default the server's).

    ``disk`` is by default as the server measured it, or a hard disk. ``memory`` is replayed above
    the SSD if it is given, and by default if the trace has no physical reads: then as the
    server ran it. ``keep``, ``left_out`` and ``keep_share`` are as of an Ssd. Nothing is
    counted of the first ``warmup`` references. The seed is by default the server's. Raises
    TidepoolError if memory is not known.
    """
    specs = list(specs) or [parse_ssd_policy(SERVER_POLICY)]
    recorded = trace.recorded
    measured = measured_disk(recorded.read_times) if recorded is not None else None
    if seed is None:
        seed = 0 if recorded is None else recorded.seed
    where = disk or measured or HDD
    none = parse_ssd_policy("none")
    asked = [
        Ssd(
            spec,
            size,
            where,
            device,
            write_buffer=SERVER_WRITE_BUFFER,
            keep=keep,
            left_out=left_out,
            keep_share=keep_share,
        )
        for spec in specs
        for size in dict.fromkeys(frames)
    ]
    physical = memory is None and has_physical_io(trace)
    useful = is_useful(where, device)
    ssds = [Ssd(none, 0, where, device), *(asked if useful else [])]
    watch = _Clock()
    if physical:
        results = simulate_below(trace, ssds, seed, workers, progress, warmup, watch.see)
    else:
        results = _through_memory(trace, ssds, memory, warmup, executor, workers, progress)
        for chunk in trace.chunks():
            watch.see(chunk.time)
    without, *found = results
    if not useful:
        found = [without] * len(asked)
    seconds = watch.seconds()
    return Forecast(
        trace=trace.name,
        disk=where,
        device=device,
        seconds=seconds,
        physical=physical,
        disk_assumed=disk is None and measured is None,
        ssds=tuple(
            _row(ssd, result, without, seconds, endurance or Endurance())
            for ssd, result in zip(asked, found, strict=True)
        ),
    )


class _Clock:
    """Sees the times of a trace."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._last = 0

    def see(self, time: Any) -> None:
        """Take a chunk's column."""
        if time is None or len(time) == 0:
            return
        if self._first is None:
            self._first = int(time[0])
        self._last = int(time[-1])

    def seconds(self) -> float | None:
        """Return the time from the first event to the last; None without times."""
        if self._first is None or self._last == self._first:
            return None
        return (self._last - self._first) / 1e6


def _through_memory(
    trace: Trace,
    ssds: Sequence[Ssd],
    memory: Cell | None,
    warmup: int,
    executor: Executor | None,
    workers: int | None,
    progress: Progress | None,
) -> list[SsdResult]:
    recorded = trace.recorded
    if memory is None:
        if recorded is None:
            raise TidepoolError(
                f"{trace.name} has no physical reads, and says nothing of memory",
                "Give the policy and the size of memory.",
            )
        memory = Cell(parse_policy(recorded.policy), recorded.frames, recorded.seed)
    cells = [Cell(memory.spec, memory.frames, memory.seed, ssd) for ssd in ssds]
    options = Options(
        warmup=warmup,
        batch=recorded.batch if recorded else 0,
        scans=recorded.scans if recorded else 0,
    )
    results = simulate([(trace, cells)], options, executor, workers, progress)
    return [result.ssd for result in results if result.ssd is not None]


def _row(
    ssd: Ssd,
    result: SsdResult,
    without: SsdResult,
    seconds: float | None,
    endurance: Endurance,
) -> SsdForecast:
    written = result.ssd_writes * PAGE_BYTES
    size = ssd.frames * PAGE_BYTES
    per_day = None if seconds is None else written / seconds * DAY
    return SsdForecast(
        policy=str(ssd.spec),
        frames=ssd.frames,
        bytes=size,
        reads=result.reads,
        hits=result.hits,
        hit_ratio=result.hit_ratio,
        read_time=result.read_time,
        read_time_without=without.read_time,
        written=written,
        written_per_day=per_day,
        years=endurance.of(size) / per_day / YEAR if per_day else None,
        memory=server_memory(ssd.spec, ssd.frames) if ssd.spec.policy.handle is not None else 0,
        filled=result.ssd_writes >= ssd.frames,
        possible=not ssd.offline,
    )
