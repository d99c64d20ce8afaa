"""What the server's reads take: as given, as the recordings measured it, or assumed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tidepool.advice.evidence import Prepared
from tidepool.advice.gains import price_of
from tidepool.simulation.devices import SATA_SSD, Device

ASSUMED = SATA_SSD  # if nobody says anything; and how much cheaper sequential reads are


class Known(Enum):
    """How it is known."""

    GIVEN = "given"
    MEASURED = "measured"
    ASSUMED = "assumed"


def device_of(recordings: Sequence[Prepared], given: Device | None) -> tuple[Device, Known]:
    """Return the device, and how it is known.

    A recording with ``track_io_timing`` has the time of all reads.  How they
    divide into random and sequential ones it does not have: that is ASSUMED's.
    """
    if given is not None:
        return given, Known.GIVEN
    reads = [prepared.recorded.reads for prepared in recordings]
    times = [prepared.recorded.read_time for prepared in recordings]
    counts = sum(prepared.live.sum(axis=(0, 1)) for prepared in recordings)
    if not all(reads) or not all(times) or not counts.sum():
        return ASSUMED, Known.ASSUMED
    mean = sum(time or 0 for time in times) / sum(count or 0 for count in reads)
    assumed = 1000 * float(counts @ price_of(ASSUMED)) / float(counts.sum())
    factor = mean / assumed
    random, sequential, random_write, sequential_write = (
        float(f"{factor * time:.3g}")
        for time in (
            ASSUMED.random_read,
            ASSUMED.sequential_read,
            ASSUMED.random_write,
            ASSUMED.sequential_write,
        )
    )
    return Device("measured", random, sequential, random_write, sequential_write), Known.MEASURED
