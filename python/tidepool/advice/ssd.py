"""Advice: an SSD between memory and the disk, and of which size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.advice.study import LEAST, Bar, Study
from tidepool.simulation.devices import Device
from tidepool.simulation.events import references
from tidepool.simulation.options import Options
from tidepool.simulation.replay import Replay
from tidepool.simulation.ssd import Ssd, SsdResult, parse_ssd_policy
from tidepool.traces.model import Trace

FACTORS = (1, 2, 4, 8, 16)  # of the shared buffers
EVENTS = 20_000_000  # of a recording, at most: reads in sequence need all of its pages
WARMUP = 0.25  # of them, while the SSD fills
FASTER = 0.8  # of the disk's time for a random read, at most the SSD's
MOST_OF = 0.9  # of what the largest SSD saves, a smaller one is enough that saves so much
MEMORY = 71  # bytes of memory for a page of the SSD (docs/ssd-tier.md)
POLICY = "page_temperature"  # the server's default


@dataclass(frozen=True)
class SsdRow:
    """An SSD of so many pages.

    Attributes:
        frames: its pages.
        share: of the time that reads take, what it saves; in the two halves, too.
        hit_ratio: of memory's reads.
        written_per_tb: bytes written to it for a TB that memory reads.
    """

    frames: int
    share: float
    first: float
    second: float
    hit_ratio: float
    written_per_tb: float

    @property
    def holds(self) -> bool:
        """Whether it is worth it, in both halves."""
        return min(self.share, self.first, self.second) >= LEAST


def is_faster(ssd: Device, disk: Device) -> bool:
    """Whether an SSD in front of this disk could save anything."""
    return ssd.random_read <= FASTER * disk.random_read


def ssd_rows(study: Study, traces: Sequence[Trace], ssd: Device, bar: Bar) -> list[SsdRow]:
    """Return what SSDs of growing sizes save below today's memory.

    The first of the recordings is replayed whole, or its first EVENTS events.
    """
    counted = min(EVENTS, study.recordings[0].references)
    sizes = [factor * study.setup.frames for factor in FACTORS]
    # all but the time in which the SSD fills; and the second half of that
    whole, second = (
        _results(study, traces[0], ssd, sizes, round(begin * counted), counted, bar)
        for begin in (WARMUP, (1 + WARMUP) / 2)
    )
    return [_row(size, whole, second, i) for i, size in enumerate(sizes, 1)]


def _results(
    study: Study,
    trace: Trace,
    ssd: Device,
    sizes: Sequence[int],
    warmup: int,
    counted: int,
    bar: Bar,
) -> list[SsdResult]:
    """Return what tiers of these sizes count after so many references, first without an SSD."""
    setup, recorded = study.setup, study.recorded
    options = Options(warmup=warmup, batch=recorded.batch, scans=recorded.scans)
    replay = Replay(setup.spec, setup.frames, recorded.seed, options)
    tiers = [replay.attach(Ssd(parse_ssd_policy("none"), 0, study.device, ssd))]
    tiers += [
        replay.attach(Ssd(parse_ssd_policy(POLICY), size, study.device, ssd)) for size in sizes
    ]
    position = done = 0
    with bar("trying SSDs", trace.length) as advance:
        for chunk in trace.chunks():
            replay.feed(position, chunk)
            position += len(chunk)
            done += references(chunk)
            advance(len(chunk))
            if done >= counted:
                break
    return [tier.result() for tier in tiers]


def _row(frames: int, whole: Sequence[SsdResult], second: Sequence[SsdResult], i: int) -> SsdRow:
    before, after = whole[0].read_time, whole[i].read_time
    late_before, late_after = second[0].read_time, second[i].read_time
    return SsdRow(
        frames,
        _saved(before, after),
        _saved(before - late_before, after - late_after),
        _saved(late_before, late_after),
        whole[i].hit_ratio,
        whole[i].written_per_tb,
    )


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before > 0 else 0.0


def enough(rows: Sequence[SsdRow]) -> SsdRow | None:
    """Return the smallest SSD that saves most of what the largest saves; None if that is little."""
    holding = [row for row in rows if row.holds]
    if not holding:
        return None
    most = max(row.share for row in holding)
    return next(row for row in holding if row.share >= MOST_OF * most)
