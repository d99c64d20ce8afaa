"""``tidepool simulate`` with a tier on an SSD: its options, its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from tidepool.cli.options import SIZE, GivenSize, Parsed, gathered, parse_number, together
from tidepool.cli.printing import count, percent, print_table
from tidepool.errors import TidepoolError
from tidepool.policies import policies
from tidepool.simulation import DEVICES, Device, Ssd, SsdPolicySpec, parse_device, parse_ssd_policy
from tidepool.simulation.ssd import NO_SSD, OPT, WRITE_BUFFER, SsdResult


@dataclass(frozen=True)
class SsdOptions:
    """The SSD tiers that a command line asks for: every policy with every size."""

    specs: tuple[SsdPolicySpec, ...]
    frames: tuple[GivenSize, ...]
    disk: Device
    device: Device
    write: str
    write_buffer: int

    def __post_init__(self) -> None:
        sized = any(spec.policy != NO_SSD for spec in self.specs)
        if sized and not self.frames:
            raise TidepoolError("no size of the SSD is given", "Give --ssd-frames.")
        if self.frames and not self.specs:
            raise TidepoolError("no policy on the SSD is given", "Give --ssd-policy.")
        self.ssds(lambda size: 1)  # raises for options that exclude each other

    def ssds(self, resolve: Callable[[GivenSize], int]) -> list[Ssd | None]:
        """Return the tiers; ``None``, alone, if none is asked for."""
        tiers: list[Ssd | None] = []
        for spec in dict.fromkeys(self.specs):
            sizes = [0] if spec.policy == NO_SSD else [resolve(size) for size in self.frames]
            tiers += [
                Ssd(spec, size, self.disk, self.device, self.write == "back", self.write_buffer)
                for size in dict.fromkeys(sizes)
            ]
        return tiers or [None]


def _policy_names() -> list[str]:
    return [policy.name for policy in (*policies(), OPT, NO_SSD)]


_DEVICE = Parsed("device", parse_device, lambda: [*DEVICES])

ssd_options = together(
    click.option(
        "--ssd-policy",
        "ssd_policies",
        type=Parsed("policy", parse_ssd_policy, _policy_names),
        multiple=True,
        metavar="NAME[:k=v,…]",
        help="Put an SSD with this policy (tac, any other, opt, none) below memory. Repeatable.",
    ),
    click.option(
        "--ssd-frames",
        type=SIZE,
        multiple=True,
        metavar="N|P%|SIZE",
        help="Size of the SSD, as for --frames. Repeatable.",
    ),
    click.option(
        "--device",
        type=_DEVICE,
        default="hdd",
        metavar="NAME",
        help="The disk: hdd, sata-ssd, nvme, or network:RANDOM,SEQUENTIAL in µs.  [default: hdd]",
    ),
    click.option(
        "--ssd-device",
        type=_DEVICE,
        default="sata-ssd",
        metavar="NAME",
        help="The SSD, likewise.  [default: sata-ssd]",
    ),
    click.option(
        "--ssd-write",
        type=click.Choice(("through", "back")),
        default="through",
        show_default=True,
        help="Write dirty pages through, to the disk and any copy on the SSD; or back, to the SSD.",
    ),
    click.option(
        "--ssd-buffer",
        type=Parsed("number", parse_number(0)),
        default=str(WRITE_BUFFER),
        show_default=True,
        metavar="N",
        help="Pages that may wait for the SSD before the coldest is dropped; 0: no limit.",
    ),
    gathered(
        "ssd",
        SsdOptions,
        "ssd_policies",
        "ssd_frames",
        "device",
        "ssd_device",
        "ssd_write",
        "ssd_buffer",
    ),
)


def print_tiers(rows: Sequence[tuple[str, int, str, SsdResult]]) -> None:
    """Print what SSD tiers counted: policy and frames in memory, policy on the SSD, result."""
    first = rows[0][3]
    columns: list[tuple[str, Any]] = [
        ("frames", lambda r: count(r.frames)),
        ("reads", lambda r: count(r.reads)),
        ("hit ratio", lambda r: percent(r.hit_ratio)),
        ("disk random", lambda r: count(r.disk_random_reads)),
        ("disk seq.", lambda r: count(r.disk_sequential_reads)),
        ("disk writes", lambda r: count(r.disk_writes)),
        ("SSD writes", lambda r: count(r.ssd_writes)),
        ("GB per TB", lambda r: f"{r.written_per_tb / 1e9:.0f}"),
    ]
    for name in ("dropped", "flushed"):
        if any(getattr(result, name) for *_, result in rows):
            columns.append((name, lambda r, name=name: count(getattr(r, name))))
    columns += [
        ("read s", lambda r: f"{r.read_time:.1f}"),
        ("time s", lambda r: f"{r.time:.1f}"),
    ]
    print_table(
        f"below memory: SSD ({first.device}), disk ({first.disk})",
        ("memory", "frames", "SSD", *(header for header, _ in columns)),
        [
            (label, count(frames), policy, *(text(result) for _, text in columns))
            for label, frames, policy, result in rows
        ],
        left=3,
        keys=3,
    )
