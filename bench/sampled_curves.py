#!/usr/bin/env python3
"""Error of sampled miss-ratio curves, for every policy on the generated mixes.

Each policy is simulated at a spread of sizes in full and by miniature
simulation of a sample of the pages (SHARDS), alone and with exact LRU as the
control variate.  The tables show the mean absolute error of the miss ratio
over the sizes and over several samples, and how often the true value lies
within two of the standard errors that the simulation states.  The goal is a
mean absolute error of at most 0.01 at a rate of 1 %.

The mixes are downscaled to what can be simulated in full under all policies
within minutes; a sample of 1 % of a larger trace has more pages, hence a
smaller error.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np
from common import OUT, report
from numpy.typing import NDArray

from tidepool import parse_policy, policies
from tidepool.generators import HotCold, OltpScan, Tpcc, Ycsb, Zipf
from tidepool.simulation import Curve, Sampling, count_pages, sampled_curves
from tidepool.traces import load
from tidepool.traces.model import Trace

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
GOAL = 0.01


def mixes(pages: int, length: int) -> list[Trace]:
    """Return the generated mixes, of about so many pages where that can be chosen."""
    return [
        Zipf(pages=pages, length=length, alpha=0.9),
        HotCold(pages=pages, length=length),
        OltpScan(pages=pages, length=length),
        Ycsb(length=length),
        Tpcc(length=length),
    ]


def curves(trace: Trace, names: list[str], sampling: Sampling | None, control: bool) -> list[Curve]:
    pages = count_pages(trace)
    sizes = [max(1, round(share * pages)) for share in SHARES]
    specs = [parse_policy(name) for name in names]
    return sampled_curves(trace, specs, sizes, sampling, control=control)


class Errors:
    """Mean absolute errors [policy, trace], and how often the stated error covers the true one."""

    def __init__(self, names: list[str], traces: list[Trace]) -> None:
        self.names, self.traces = names, [trace.name.split("(")[0] for trace in traces]
        self.mean = np.zeros((len(names), len(traces)))
        self.covered = np.zeros((len(names), len(traces)))

    def add(self, j: int, exact: list[Curve], sampled: list[Curve], weight: float) -> None:
        for i, (truth, estimate) in enumerate(zip(exact, sampled, strict=True)):
            error = np.abs(estimate.miss_ratio - truth.miss_ratio)
            self.mean[i, j] += weight * error.mean()
            # (an error below a rounding of the miss ratio is none)
            self.covered[i, j] += weight * (error <= 2 * estimate.error + 1e-6).mean()

    def report(self, name: str, title: str) -> None:
        rows = [
            self.row(policy, self.mean[i], self.covered[i]) for i, policy in enumerate(self.names)
        ]
        rows.append(self.row("all", self.mean.mean(axis=0), self.covered.mean(axis=0)))
        columns = ("policy", *self.traces, "mean", "within 2 s.e.", "goal")
        report(name, title, columns, rows)

    def row(self, policy: str, means: NDArray[np.float64], covered: NDArray[np.float64]) -> tuple:
        mean = float(means.mean())
        verdict = "ok" if mean <= GOAL else "MISSED"
        return (policy, *map(float, means), mean, f"{covered.mean():.0%}", verdict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=0.01, help="of the pages")
    parser.add_argument("--pages", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=3_000_000)
    parser.add_argument("--samples", type=int, default=3, help="to average over")
    parser.add_argument("--policy", action="append", help="only these")
    args = parser.parse_args()
    # keep never evicts: which pages it holds is settled by the first references
    names = args.policy or [policy.name for policy in policies() if policy.name != "keep"] + ["opt"]
    traces = mixes(args.pages, args.length)
    alone, controlled = Errors(names, traces), Errors(names, traces)
    for j, trace in enumerate(traces):
        loaded = load(trace)
        exact = curves(loaded, names, None, False)
        for seed in range(args.samples):
            for errors, control in ((alone, False), (controlled, True)):
                sampling = Sampling(args.rate, seed)
                sampled = curves(loaded, names, sampling, control)
                errors.add(j, exact, sampled, 1 / args.samples)
    title = f"mean absolute error of the miss ratio, {args.rate:.2%} of the pages sampled"
    alone.report("sampled_curves_alone", f"{title}; no control variate")
    controlled.report("sampled_curves", f"{title}; LRU as control variate; goal {GOAL}")
    picture(alone, controlled, title)


def picture(alone: Errors, controlled: Errors, title: str) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(7, 6), layout="constrained", sharey=True)
    top = 4 * GOAL
    for panel, errors, name in (
        (axes[0], alone, "sample alone"),
        (axes[1], controlled, "with LRU as control variate"),
    ):
        image = panel.imshow(errors.mean, cmap="cividis", vmin=0, vmax=top, aspect="auto")
        panel.set_xticks(range(len(errors.traces)), errors.traces, rotation=45, ha="right")
        panel.set_yticks(range(len(errors.names)), errors.names)
        panel.set_title(name, fontsize=9)
    figure.suptitle(title, fontsize=9)
    figure.colorbar(image, ax=axes, label="mean absolute error of the miss ratio", extend="max")
    figure.savefig(OUT / "sampled_curves.png", dpi=150)


if __name__ == "__main__":
    main()
