#!/usr/bin/env python3
"""Error of sampled miss-ratio curves, for every policy on the generated mixes.

Each policy is simulated at a spread of sizes in full and by miniature
simulation of a sample of the pages (SHARDS); the table shows the mean
absolute error of the miss ratio over the sizes, and how often the true value
lies within two of the standard errors that the simulation states.  The goal
is a mean absolute error of at most 0.01 at a rate of 1 %.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np
from common import OUT, report

from tidepool import parse_policy, policies
from tidepool.simulation import Cell, Options, Result, Sampling, count_pages, simulate
from tidepool.traces.generators import HotCold, OltpScan, Tpcc, Ycsb, Zipf
from tidepool.traces.model import Trace

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
GOAL = 0.01


def mixes(pages: int, length: int) -> list[Trace]:
    """The generated mixes, about ``pages`` pages each."""
    return [
        Zipf(pages=pages, length=length, alpha=0.9),
        HotCold(pages=pages, length=length),
        OltpScan(pages=pages, length=length),
        Ycsb(length=length),
        Tpcc(length=length),
    ]


def curves(trace: Trace, names: list[str], sampling: Sampling | None) -> dict[str, list[Result]]:
    pages = count_pages(trace)
    sizes = [max(1, round(share * pages)) for share in SHARES]
    cells = [Cell(parse_policy(name), size) for name in names for size in sizes]
    results = simulate([(trace, cells)], Options(sampling=sampling))
    return {name: results[i * len(sizes) : (i + 1) * len(sizes)] for i, name in enumerate(names)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=0.01, help="of the pages")
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=4_000_000)
    parser.add_argument("--policy", action="append", help="only these")
    args = parser.parse_args()
    # keep never evicts: a sample of pages says nothing about which came first
    names = args.policy or [policy.name for policy in policies() if policy.name != "keep"] + ["opt"]
    traces = mixes(args.pages, args.length)
    errors = np.zeros((len(names), len(traces)))
    covered = np.zeros(len(names))
    for j, trace in enumerate(traces):
        exact = curves(trace, names, None)
        sampled = curves(trace, names, Sampling(args.rate, seed=1))
        for i, name in enumerate(names):
            differences = np.array(
                [b.hit_ratio - a.hit_ratio for a, b in zip(exact[name], sampled[name], strict=True)]
            )
            stated = np.array([result.error for result in sampled[name]])
            errors[i, j] = np.abs(differences).mean()
            covered[i] += (np.abs(differences) <= 2 * stated).mean() / len(traces)
    columns = (
        "policy",
        *(trace.name.split("(")[0] for trace in traces),
        "mean",
        "within 2 s.e.",
        "goal",
    )
    rows = [
        (
            name,
            *map(float, errors[i]),
            float(errors[i].mean()),
            f"{covered[i]:.0%}",
            "ok" if errors[i].mean() <= GOAL else "MISSED",
        )
        for i, name in enumerate(names)
    ]
    rows.append(
        (
            "all",
            *map(float, errors.mean(axis=0)),
            float(errors.mean()),
            f"{covered.mean():.0%}",
            "ok" if errors.mean() <= GOAL else "MISSED",
        )
    )
    title = (
        f"mean absolute error of the miss ratio at a sampling rate of {args.rate:g}, goal {GOAL}"
    )
    report("sampled_curves", title, columns, rows)
    picture(names, [trace.name.split("(")[0] for trace in traces], errors, title)


def picture(names: list[str], traces: list[str], errors: np.ndarray, title: str) -> None:
    figure, axes = plt.subplots(figsize=(5, 6), layout="constrained")
    image = axes.imshow(
        errors, cmap="cividis", vmin=0, vmax=max(2 * GOAL, errors.max()), aspect="auto"
    )
    axes.set_xticks(range(len(traces)), traces)
    axes.set_yticks(range(len(names)), names)
    axes.set_title(title, fontsize=8)
    figure.colorbar(image, label="mean absolute error of the miss ratio")
    figure.savefig(OUT / "sampled_curves.png", dpi=150)


if __name__ == "__main__":
    main()
