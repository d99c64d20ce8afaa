#!/usr/bin/env python3
"""What was added to PBM, one by one: ablation, and scans that meet.

`pbm` differs from its paper by four parameters (core/policies/pbm.c):
`remember` (the furthest candidates not evicted are candidates again),
`neighbours` (so are the pages loaded before and after the last victim),
`scan_history` (scans that have not begun are expected) and `frequency=auto` (only
references that no registered scan made count as frequency).  The first table adds
each to the paper and takes each from the whole, on scans alone and on mixes.

The second is about the order of the scans themselves: a scan that begins asks
the registry where it shares the most with one that runs, and reads its range
from there round (tp_scan_meet).  The blocks and the times are the same, only
the order is not, so OPT of the fixed order is no bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import fmean, stdev

import numpy as np
from common import OUT, PAPER, dynzipf, redset, replay, report, tpch
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from tidepool.generators import DynZipfRo, DynZipfRoCs
from tidepool.plots import style
from tidepool.traces.model import Trace

# parameter: its value in the paper, and ours
ADDED = {
    "remember": ("0", "8"),
    "neighbours": ("off", "on"),
    "scan_history": ("off", "on"),
    "frequency": ("off", "auto"),
}


def variant(*ours: str) -> str:
    """Return PBM with our value for these parameters and the paper's for the others."""
    values = (f"{name}={values[name in ours]}" for name, values in ADDED.items())
    return f"pbm:{','.join(values)}"


VARIANTS = {
    "paper": variant(),
    **{f"+ {name}": variant(name) for name in ADDED},
    "+ remember, neighbours": variant("remember", "neighbours"),
    **{f"all but {name}": variant(*(other for other in ADDED if other != name)) for name in ADDED},
    "all": variant(*ADDED),
}
WORKLOADS: dict[str, Callable[[int, int], Trace]] = {
    "tpch 8": lambda scale, seed: tpch(scale, 8, seed),
    "tpch 16": lambda scale, seed: tpch(scale, 16, seed),
    "redset_like A": lambda scale, seed: redset("A", scale, seed),
    "redset_like B": lambda scale, seed: redset("B", scale, seed),
    "dynzipf_ro": lambda scale, seed: dynzipf(DynZipfRo, scale, seed),
    "dynzipf_ro_cs": lambda scale, seed: dynzipf(DynZipfRoCs, scale, seed),
}
SHARES = (0.1, 0.3, 0.6)

MEETING_STREAMS = (2, 8, 16)
MEETING_POLICIES = {
    "clock": "clock",
    "lru": "lru",
    "pbm (paper)": PAPER,
    "pbm": "pbm",
    "opt": "opt",
}

Ablation = dict[tuple[str, str, float], list[float]]  # variant, workload, share: by seed
Meeting = dict[tuple[int, float, str, bool], list[float]]  # streams, share, policy, met: by seed


def ablation(scale: int, seeds: int) -> Ablation:
    """Return misses relative to OPT's."""
    found: Ablation = {}
    for workload, make in WORKLOADS.items():
        for seed in range(seeds):
            runs = replay(make(scale, seed), ("opt", *VARIANTS.values()), SHARES)
            for name, policy in VARIANTS.items():
                for share in SHARES:
                    ratio = runs.relative(policy, share)
                    found.setdefault((name, workload, share), []).append(ratio)
    return found


def ablation_tables(found: Ablation, seeds: int) -> None:
    columns = ("workload", "cache", *VARIANTS)
    rows: list[tuple[object, ...]] = []
    for workload in WORKLOADS:
        for share in SHARES:
            means = [fmean(found[name, workload, share]) for name in VARIANTS]
            rows.append((workload, f"{share:.0%}", *means))
    title = f"misses relative to OPT's, mean of {seeds} seeds"
    report("predictive_improvements", title, columns, rows)
    rows = []
    for name in ADDED:
        for workload in WORKLOADS:
            changes = [
                1 - found["all", workload, share][i] / found[f"all but {name}", workload, share][i]
                for share in SHARES
                for i in range(seeds)
            ]
            error = stdev(changes) / len(changes) ** 0.5
            rows.append((name, workload, 100 * fmean(changes), 100 * error, 100 * min(changes)))
    report(
        "predictive_improvements_each",
        "misses that each saves when the others are on, percent; over sizes and seeds",
        ("what", "workload", "mean", "its s.e.", "least"),
        rows,
    )


def meeting(scale: int, seeds: int) -> Meeting:
    """Return misses relative to those of OPT when the scans do not meet."""
    found: Meeting = {}
    for streams in MEETING_STREAMS:
        for seed in range(seeds):
            fixed, met = (
                replay(
                    tpch(scale, streams, seed, meet=meet), list(MEETING_POLICIES.values()), SHARES
                )
                for meet in (False, True)
            )
            for share in SHARES:
                for policy in MEETING_POLICIES.values():
                    for runs in (fixed, met):
                        ratio = runs.misses[policy, share] / fixed.misses["opt", share]
                        found.setdefault((streams, share, policy, runs is met), []).append(ratio)
    return found


def meeting_table(found: Meeting, seeds: int) -> None:
    rows = []
    for streams in MEETING_STREAMS:
        for share in SHARES:
            for name, policy in MEETING_POLICIES.items():
                fixed, met = (found[streams, share, policy, meet] for meet in (False, True))
                gain = [1 - b / a for a, b in zip(fixed, met, strict=True)]
                deviation = stdev(met) if seeds > 1 else 0.0
                rows.append(
                    (
                        streams,
                        f"{share:.0%}",
                        name,
                        fmean(fixed),
                        fmean(met),
                        deviation,
                        100 * fmean(gain),
                    )
                )
    report(
        "predictive_improvements_meeting",
        f"tpch_scans: misses relative to OPT's of the fixed order, mean of {seeds} seeds",
        ("streams", "cache", "policy", "fixed", "met", "s.d.", "saved %"),
        rows,
    )


def ablation_picture(found: Ablation) -> None:
    """Percent of misses above OPT's, a row per variant."""
    values = np.array(
        [
            [100 * (fmean(found[name, w, share]) - 1) for w in WORKLOADS for share in SHARES]
            for name in VARIANTS
        ]
    )
    figure = Figure(figsize=(style.PAGE, 2.9), layout="constrained")
    axes = figure.subplots()
    floored = np.maximum(values, 1)
    image = axes.imshow(floored, cmap="cividis_r", norm=LogNorm(1, floored.max()), aspect="auto")
    axes.set_yticks(range(len(VARIANTS)), list(VARIANTS))
    axes.set_xticks(range(values.shape[1]), [f"{share:.0%}" for _ in WORKLOADS for share in SHARES])
    axes.tick_params(labelsize=style.SMALL, length=0, pad=2)
    for i, workload in enumerate(WORKLOADS):
        middle = (i + 0.5) / len(WORKLOADS)
        axes.text(
            middle, 1.02, workload, transform=axes.transAxes, ha="center", fontsize=style.SMALL
        )
        if i:
            axes.axvline(i * len(SHARES) - 0.5, color="white", linewidth=2)
    dark = np.sqrt(floored.max())
    for (row, column), value in np.ndenumerate(values):
        axes.text(
            column,
            row,
            f"{value:.1f}" if value < 9.95 else f"{value:.0f}",
            ha="center",
            va="center",
            fontsize=style.SMALL - 0.5,
            color="white" if value > dark else "black",
        )
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("frames, of the data", fontsize=style.FONT, labelpad=2)
    bar = figure.colorbar(image, ax=axes, aspect=30, pad=0.01)
    bar.set_label("misses above OPT's (%)", fontsize=style.FONT)
    bar.ax.tick_params(labelsize=style.SMALL, length=2)
    bar.outline.set_visible(False)
    figure.savefig(OUT / "predictive_improvements.png", dpi=200)


def meeting_picture(found: Meeting) -> None:
    """Bars: misses with the order fixed, and of scans that meet."""
    figure = Figure(figsize=(style.PAGE, 2.2), layout="constrained")
    for axes, streams in zip(
        figure.subplots(1, len(MEETING_STREAMS), sharey=True), MEETING_STREAMS, strict=True
    ):
        at = np.arange(len(SHARES))
        width = 0.85 / len(MEETING_POLICIES)
        for i, (name, policy) in enumerate(MEETING_POLICIES.items()):
            fixed, met = (
                [fmean(found[streams, share, policy, meet]) for share in SHARES]
                for meet in (False, True)
            )
            x = at + (i - (len(MEETING_POLICIES) - 1) / 2) * width
            colour = style.OPT_COLOUR if policy == "opt" else style.COLOURS[i]
            axes.bar(x, fixed, 0.9 * width, color=colour, alpha=0.3)
            axes.bar(x, met, 0.9 * width, color=colour, label=name)
        axes.axhline(1, color="#777777", linewidth=0.8, linestyle=":")
        style.dress(axes, f"{streams} streams", "frames (% of the data)", "")
        axes.set_xticks(at, [f"{100 * share:.0f}" for share in SHARES])
        axes.grid(False, axis="x")
    figure.axes[0].set_ylabel("misses / OPT's\nof the fixed order", fontsize=style.FONT)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(labels),
        fontsize=style.SMALL,
        frameon=False,
        title="scans that meet (pale: the order fixed)",
        title_fontsize=style.SMALL,
    )
    figure.savefig(OUT / "predictive_improvements_meeting.png", dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=8, help="times smaller than the defaults")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="64 times smaller, one seed")
    args = parser.parse_args()
    scale, seeds = (64, 1) if args.quick else (args.scale, args.seeds)
    found = ablation(scale, seeds)
    ablation_tables(found, seeds)
    ablation_picture(found)
    met = meeting(scale, seeds)
    meeting_table(met, seeds)
    meeting_picture(met)


if __name__ == "__main__":
    main()
