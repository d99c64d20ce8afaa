"""``tidepool simulate`` with a tier on an SSD: its options, its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from tidepool.amounts import count, percent
from tidepool.cli.options import (
    NUMBER,
    SHARE,
    Parsed,
    gathered,
    list_option,
    sizes_option,
    together,
)
from tidepool.cli.printing import print_table
from tidepool.options import SsdOptions, parse_choices, parse_data, parse_ssd_policies
from tidepool.policies import policies
from tidepool.simulation import DEVICES, parse_device
from tidepool.simulation.ssd import KEEP_SHARE, NO_SSD, OPT, WRITE_BUFFER, SsdResult


def ssd_policy_names() -> list[str]:
    """Return the names of all policies on an SSD."""
    return [policy.name for policy in (*policies(), OPT, NO_SSD)]


def tier_option(name: str, argument: str) -> Callable[[Any], Any]:
    """Return the option that says what relations want of the SSD."""
    return list_option(
        name,
        argument,
        kind=Parsed("choices", parse_choices),
        metavar="RELATION=keep|none|auto,…",
        last_counts=True,
        help="What relations want of the SSD, as WITH (ssd_tier = …) says.",
    )


def keep_share_option(name: str, argument: str) -> Callable[[Any], Any]:
    """Return the option of the share of the SSD for relations to be kept there."""
    return click.option(
        name,
        argument,
        type=SHARE,
        default=KEEP_SHARE,
        show_default=True,
        metavar="R|P%",
        help="Share of the SSD that relations with keep may take from others.",
    )


_DEVICE = Parsed("device", parse_device, lambda: [*DEVICES])

ssd_options = together(
    list_option(
        "--ssd-policy",
        "ssd_policies",
        kind=Parsed("policies", parse_ssd_policies, ssd_policy_names),
        metavar="NAME[:k=v,…],…",
        help="Put an SSD with this policy (tac, any other, opt, none) below memory.",
    ),
    sizes_option("--ssd-frames", help="Size of the SSD, as for --frames."),
    click.option(
        "--device",
        type=_DEVICE,
        default="hdd",
        metavar="NAME",
        help="The disk: hdd, sata-ssd, nvme, or network:RANDOM,SEQUENTIAL in µs."
        "  [default: hdd, for which a tier is made; advise assumes a server on a sata-ssd]",
    ),
    click.option(
        "--ssd-device",
        type=_DEVICE,
        default="sata-ssd",
        metavar="NAME",
        help="The SSD, likewise.  [default: sata-ssd, many times as fast as an hdd]",
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
        type=NUMBER,
        default=str(WRITE_BUFFER),
        show_default=True,
        metavar="N",
        help="Pages that may wait for the SSD before the coldest is dropped; 0: no limit.",
    ),
    click.option(
        "--ssd-admit",
        type=click.Choice(("read", "eviction")),
        default="read",
        show_default=True,
        help="Offer pages to the SSD when memory reads them from the disk, or evicts them.",
    ),
    click.option(
        "--ssd-write-budget",
        type=Parsed("data", parse_data("MB")),
        default=0.0,
        metavar="MB|SIZE",
        help="MB (or with a unit, 512kB) that may be written to the SSD in a second; 0: any."
        "  [default: 0]",
    ),
    click.option(
        "--ssd-write-budget-per-day",
        type=Parsed("data", parse_data("GB")),
        default=0.0,
        metavar="GB|SIZE",
        help="GB (or with a unit, 500MB) that may be written to the SSD in a day; 0: any."
        "  [default: 0]",
    ),
    tier_option("--ssd-tier", "ssd_tier"),
    keep_share_option("--ssd-keep-share", "ssd_keep_share"),
    gathered(
        "ssd",
        SsdOptions,
        "ssd_policies",
        "ssd_frames",
        "device",
        "ssd_device",
        "ssd_write",
        "ssd_buffer",
        "ssd_admit",
        "ssd_write_budget",
        "ssd_write_budget_per_day",
        "ssd_tier",
        "ssd_keep_share",
    ),
)


def _server_hits(result: SsdResult) -> str:
    return "" if result.recorded_hits is None else count(result.recorded_hits)


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
    if any(result.recorded_hits is not None for *_, result in rows):
        columns.insert(2, ("hits", lambda r: count(r.hits)))
        columns.insert(3, ("server's", _server_hits))
    for name in ("dropped", "flushed", "too_dear"):
        if any(getattr(result, name) for *_, result in rows):
            columns.append((name.replace("_", " "), lambda r, name=name: count(getattr(r, name))))
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
