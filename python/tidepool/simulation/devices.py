"""What storage devices take for a page: presets from published numbers, and one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidepool.errors import TidepoolError
from tidepool.notation import number


@dataclass(frozen=True)
class Device:
    """Microseconds for a page of 8 KiB.

    Random accesses are those that wait for each other: one at a time, queue
    depth 1.  Sequential ones are known ahead and go at the device's bandwidth.
    """

    name: str
    random_read: float
    sequential_read: float
    random_write: float
    sequential_write: float

    def handle(self) -> Any:
        """Return it as the C layer takes it: a tp_device."""
        return {
            "random_read": self.random_read,
            "sequential_read": self.sequential_read,
            "random_write": self.random_write,
            "sequential_write": self.sequential_write,
        }


def _at(name: str, read_latency: float, write_latency: float, read: float, write: float) -> Device:
    """Return a device from microseconds for 4 KiB at queue depth 1, and MB/s.

    The second 4 KiB of a page come at the bandwidth.
    """
    return Device(
        name=name,
        random_read=round(read_latency + 4096 / read, 1),
        sequential_read=round(8192 / read, 1),
        random_write=round(write_latency + 4096 / write, 1),
        sequential_write=round(8192 / write, 1),
    )


# HGST Ultrastar 7K4000, specification: average seek 8.2 ms, 7,200 rpm (so 4.17 ms for half a
# turn), 171 MB/s.
HDD = _at("hdd", 8200 + 4170, 8200 + 4170, 171, 171)

# Samsung 870 EVO, data sheet: at queue depth 1 13,000 reads and 36,000 writes of 4 KiB a second;
# 560 and 530 MB/s.
SATA_SSD = _at("sata-ssd", 1e6 / 13_000, 1e6 / 36_000, 560, 530)

# Samsung 980 PRO, data sheet: at queue depth 1 22,000 reads and 60,000 writes of 4 KiB a second;
# 7,000 and 5,000 MB/s.
NVME = _at("nvme", 1e6 / 22_000, 1e6 / 60_000, 7000, 5000)

DEVICES = {device.name: device for device in (HDD, SATA_SSD, NVME)}


def parse_device(text: str) -> Device:
    """Return the device that this names; raise TidepoolError if it is none.

    ``network:RANDOM,SEQUENTIAL`` has the microseconds for a random and a
    sequential page; writes take as long as reads, unless ``,RANDOM,SEQUENTIAL``
    of writes follow.
    """
    if text in DEVICES:
        return DEVICES[text]
    kind, _, numbers = text.partition(":")
    times = [number(value) for value in numbers.split(",")]
    if kind != "network" or None in times:
        raise TidepoolError(
            f'unknown device "{text}"',
            f"Use {', '.join(DEVICES)}, or network:RANDOM,SEQUENTIAL in microseconds for a page.",
        )
    given = [time for time in times if time is not None and time > 0]
    if len(times) not in (2, 4) or len(given) < len(times):
        raise TidepoolError(
            f'invalid device "{text}"',
            "Give two times above 0 (network:500,20), or four, the last two for writes.",
        )
    return Device(text, given[0], given[1], given[-2], given[-1])
