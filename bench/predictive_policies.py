#!/usr/bin/env python3
"""Prediction against policies without foresight: hit ratios, and the goals that were set.

The heat maps are Figure 3 of Khalaji, Guo, Vanderkooy and Daudjee (PVLDB
2025) over again, on traces of our own: hit ratio less that of PBM as the
paper has it, policies by cache sizes, a map per workload.  The tables hold
the goals against what was measured:

1. `pbm` misses less than any policy without foresight, at every size under
   60 % of the data, where scans make all references.
2. With 8, 16 and 32 streams of scans it misses at most 1.10 times as often as
   OPT (ambition: 1.05).
3. On dynzipf_ro_cs it misses less than ARC and WATT, on dynzipf_ro at most
   1 % more than the better of the two.
4. For scale, at full size: misses against a five-level clock.

All but the last run on traces whose tables are `--scale` times smaller than
the generators' defaults (1 and 3: twice that) and whose scans are as many times
slower, so that they overlap as they would.  How little that changes is in
bench/predictive_sensitivity.py; `pbm_pq`, with block groups of one size, comes
off a little worse on smaller tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from statistics import fmean, stdev

import numpy as np
from common import OUT, PAPER, Runs, dynzipf, redset, replay, report, tpch
from matplotlib.colors import CenteredNorm
from matplotlib.figure import Figure

from tidepool.generators import DynZipfRo, DynZipfRoCs
from tidepool.plots import style
from tidepool.plots.heatmap import COLOURS, value_text
from tidepool.traces.model import Trace

WITHOUT_FORESIGHT = (
    "clock",
    "cooling",
    "lru",
    "lru_k",
    "2q",
    "arc",
    "lirs",
    "hyperbolic",
    "lean_evict",
    "watt",
)
PAPER_FREQUENCY = PAPER.replace("frequency=off", "frequency=on")
LABELS = {
    "pbm_pq": "pbm_pq",
    PAPER: "pbm (paper)",
    PAPER_FREQUENCY: "pbm (paper, frequency)",
    "pbm": "pbm (ours)",
    "opt": "opt",
}
POLICIES = (*WITHOUT_FORESIGHT, *LABELS)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
UNDER = 0.6  # of the data: where prediction is to be ahead

GOAL, AMBITION = 1.10, 1.05  # times OPT's misses
STREAMS = (8, 16, 32)
STREAM_SHARES = (0.1, 0.3, 0.6)
SCALE_STREAMS = (8, 16)
SCALE_SHARE = 0.3
# of Clock's misses, by exact knowledge of the running scans: streams, samples
FOR_SCALE = {(8, 10): 0.57, (8, 100): 0.52, (16, 10): 0.56, (16, 100): 0.50}
OPT_FOR_SCALE = {8: 0.48, 16: 0.47}

Make = Callable[[int, int], Trace]  # from scale and seed
SCANS_ALONE: dict[str, Make] = {
    "redset_like A": lambda scale, seed: redset("A", scale, seed),
    "redset_like B": lambda scale, seed: redset("B", scale, seed),
    "tpch_scans": lambda scale, seed: tpch(scale, 8, seed),
}
MIXED: dict[str, Make] = {
    "dynzipf_ro": lambda scale, seed: dynzipf(DynZipfRo, scale, seed),
    "dynzipf_ro_cs": lambda scale, seed: dynzipf(DynZipfRoCs, scale, seed),
}


def label(policy: str) -> str:
    return LABELS.get(policy, policy)


def verdict(reached: bool, by: float) -> str:
    """Return whether a goal was reached, and by how much of it, in percent."""
    return f"{'reached' if reached else 'MISSED'} by {abs(by):.1%}"


def heat_table(found: dict[str, Runs]) -> None:
    rows = [
        (
            trace,
            label(policy),
            *(1 - runs.misses[policy, share] / runs.requests for share in SHARES),
        )
        for trace, runs in found.items()
        for policy in POLICIES
    ]
    columns = ("trace", "policy", *(f"{share:.0%}" for share in SHARES))
    report("predictive_policies", "hit ratio by cache size, in percent of the data", columns, rows)


def lead_table(scale: int, seeds: int) -> None:
    """Goals 1 and 3: pbm against the best of the others, over seeds."""
    rows = []
    under = [share for share in SHARES if share < UNDER]
    for name, make in SCANS_ALONE.items():
        rows += lead(name, make, WITHOUT_FORESIGHT, under, 1.0, scale, seeds)
    for name, allowed in (("dynzipf_ro", 1.01), ("dynzipf_ro_cs", 1.0)):
        rows += lead(name, MIXED[name], ("arc", "watt"), SHARES, allowed, scale, seeds)
    columns = ("trace", "cache", "best other", "mean", "worst seed", "allowed", "goal, in the mean")
    title = f"misses of pbm as a multiple of the best other's, {seeds} seeds"
    report("predictive_policies_lead", title, columns, rows)


def lead(
    name: str,
    make: Make,
    others: Sequence[str],
    shares: Sequence[float],
    allowed: float,
    scale: int,
    seeds: int,
) -> list[tuple[object, ...]]:
    runs = [replay(make(scale, seed), ("pbm", *others), shares) for seed in range(seeds)]
    rows = []
    for share in shares:
        best = [min(others, key=lambda other, r=r: r.misses[other, share]) for r in runs]
        ratios = [r.relative("pbm", share, other) for r, other in zip(runs, best, strict=True)]
        names = "/".join(dict.fromkeys(best))
        mean = fmean(ratios)
        goal = verdict(mean <= allowed, mean - allowed)
        rows.append((name, f"{share:.0%}", names, mean, max(ratios), allowed, goal))
    return rows


def streams_table(scale: int, seeds: int) -> None:
    """Goal 2: misses relative to OPT's, mean and standard deviation over seeds."""
    policies = ("opt", "clock", "pbm_pq", PAPER, f"{PAPER},samples=100", "pbm", "pbm:samples=100")
    rows = []
    for streams in STREAMS:
        runs = [
            replay(tpch(scale, streams, seed), policies, STREAM_SHARES) for seed in range(seeds)
        ]
        for share in STREAM_SHARES:
            ratios = {p: [r.relative(p, share) for r in runs] for p in policies[1:]}
            means = {policy: fmean(values) for policy, values in ratios.items()}
            least = min(means["pbm"], means["pbm:samples=100"])
            deviation = stdev(ratios["pbm"]) if seeds > 1 else 0.0
            rows.append(
                (
                    streams,
                    f"{share:.0%}",
                    *means.values(),
                    deviation,
                    verdict(least <= GOAL, least - GOAL),
                    "yes" if least <= AMBITION else "no",
                )
            )
    columns = (
        "streams",
        "cache",
        "clock",
        "pbm_pq",
        "paper",
        "paper, 100",
        "ours",
        "ours, 100",
        "s.d. of ours",
        f"goal {GOAL:.2f}",
        f"{AMBITION:.2f}?",
    )
    title = f"tpch_scans: misses relative to OPT's, mean of {seeds} seeds"
    report("predictive_policies_streams", title, columns, rows)


def scale_table(scale: int) -> None:
    """Goal 4: the numbers given for scale."""
    rows = []
    for streams in SCALE_STREAMS:
        policies = (
            "clock",
            "opt",
            PAPER,
            f"{PAPER},samples=100",
            "pbm",
            "pbm:samples=100",
            "pbm_pq",
        )
        runs = replay(tpch(scale, streams), policies, [SCALE_SHARE])
        exact = tuple(FOR_SCALE[streams, samples] for samples in (10, 100))
        given = (1.0, OPT_FOR_SCALE[streams], *exact, *exact, "")
        for policy, stated in zip(policies, given, strict=True):
            ratio = runs.relative(policy, SCALE_SHARE, "clock")
            name = policy.replace(PAPER, LABELS[PAPER]).replace(",samples", ":samples")
            rows.append((streams, name, runs.misses[policy, SCALE_SHARE], ratio, stated))
    columns = ("streams", "policy", "misses", "of clock's", "for scale")
    title = f"tpch_scans of {121_000 // scale:,} pages, cache {SCALE_SHARE:.0%}: misses"
    report("predictive_policies_scale", title, columns, rows)


def picture(found: dict[str, Runs]) -> None:
    """Heat maps of the difference to PBM as the paper has it, in percentage points."""
    values = {
        trace: np.array(
            [
                [
                    100 * (runs.misses[PAPER, share] - runs.misses[policy, share]) / runs.requests
                    for share in SHARES
                ]
                for policy in POLICIES
            ]
        )
        for trace, runs in found.items()
    }
    limit = max(float(np.percentile(np.abs(value), 95)) for value in values.values())
    figure = Figure(figsize=(style.PAGE, 0.37 * len(POLICIES) + 0.6), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    norm = CenteredNorm(0, limit)
    for i, (axes, (trace, value)) in enumerate(zip(panels, values.items(), strict=False)):
        image = axes.imshow(value, cmap=COLOURS, norm=norm, aspect="auto")
        axes.set_title(trace, fontsize=style.FONT, pad=3)
        axes.set_xticks(range(len(SHARES)), [f"{100 * share:.0f}" for share in SHARES])
        names = [label(policy) for policy in POLICIES]
        axes.set_yticks(range(len(names)), names if i % 3 == 0 else [])
        axes.set_xlabel("frames (% of the data)", fontsize=style.FONT, labelpad=2)
        axes.tick_params(labelsize=style.SMALL, length=0, pad=2)
        for side in axes.spines.values():
            side.set_visible(False)
        for (row, column), points in np.ndenumerate(value):
            axes.text(
                column,
                row,
                value_text(float(points)),
                ha="center",
                va="center",
                fontsize=style.SMALL - 1.5,
                color="white" if abs(points) > 0.6 * limit else "black",
            )
    # the scale stands in the sixth place
    panels[-1].set_axis_off()
    place = panels[-1].inset_axes((0.05, 0.55, 0.9, 0.05))
    bar = figure.colorbar(image, cax=place, orientation="horizontal", extend="both")
    bar.set_label(
        f"hit ratio minus that of {label(PAPER)}\n(percentage points)", fontsize=style.FONT
    )
    bar.ax.tick_params(labelsize=style.SMALL, length=2)
    bar.outline.set_visible(False)
    figure.savefig(OUT / "predictive_policies.png", dpi=200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=4, help="times smaller than the defaults")
    parser.add_argument("--seeds", type=int, default=3, help="of the streams of scans")
    parser.add_argument("--quick", action="store_true", help="all 32 times smaller, one seed")
    args = parser.parse_args()
    scale, seeds = (32, 1) if args.quick else (args.scale, args.seeds)
    found = {
        name: replay(make(scale, 0), POLICIES, SHARES)
        for name, make in (SCANS_ALONE | MIXED).items()
    }
    heat_table(found)
    picture(found)
    lead_table(2 * scale, seeds)
    streams_table(scale, seeds)
    scale_table(scale if args.quick else 1)


if __name__ == "__main__":
    main()
