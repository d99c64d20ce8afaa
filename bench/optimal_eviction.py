#!/usr/bin/env python3
"""Chance that sampling evicts one of the pages that OPT might: formulas against the policy.

Of F resident pages let m = xF be those whose next reference is furthest.
`pbm` draws a sample with replacement and evicts what is furthest in it, so
each draw is one of the m with probability x, whatever the others are.

Single: of N draws at least one is among the m with probability

    1 - (1 - x)^N.

Bulk: the k furthest of kN draws are evicted.  The number of draws among the
m is binomial, B(kN, x), and the furthest come first.  So all k victims are
among the m with probability

    P(B(kN, x) >= k) = 1 - sum over i < k of C(kN, i) x^i (1 - x)^(kN - i),

and the expected share of the victims that is among them is

    E min(B(kN, x), k) / k.

A page that is drawn twice is evicted once; the formulas leave that out, which
is below what is measured as long as kN is far below F.

The policy is the one of the core: a pool of F frames, one scan running that
will read their pages in an order known here, and proposal after proposal of
`victim`.  Source: Khalaji, Guo, Vanderkooy, Daudjee, PVLDB 2025, Figure 2;
Vanderkooy, thesis, 2023, Appendix A.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import comb, sqrt

import numpy as np
from common import OUT, PAPER, report
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tidepool import Pool, Scans
from tidepool.plots import style

FRAMES = 20_000
SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)  # the x that are simulated
SINGLE = (1, 2, 5, 10, 20, 100)  # N
BULK = ((1, 10), (2, 10), (5, 10), (10, 10), (16, 10))  # k, N
CURVE = np.linspace(0, 0.5, 201)

Numbers = NDArray[np.float64]


def binomial(n: int, x: Numbers, i: int) -> Numbers:
    """Return the probability that i of n draws are among a share x."""
    return comb(n, i) * x**i * (1 - x) ** (n - i)


def one_is(samples: int, x: Numbers) -> Numbers:
    """Return the probability that the victim of a single eviction is in the share."""
    return 1 - (1 - x) ** samples


def all_are(victims: int, samples: int, x: Numbers) -> Numbers:
    """Return the probability that all victims of a bulk are."""
    n = victims * samples
    return 1 - sum((binomial(n, x, i) for i in range(victims)), np.zeros_like(x))


def how_many_are(victims: int, samples: int, x: Numbers) -> Numbers:
    """Return the expected share of the victims of a bulk that are."""
    n = victims * samples
    fewer = sum((binomial(n, x, i) * (victims - i) for i in range(victims)), np.zeros_like(x))
    return 1 - fewer / victims


def ranks(victims: int, samples: int, bulks: int, seed: int) -> NDArray[np.int64]:
    """Return how many pages are further than each victim: [bulks, victims], by the policy."""
    scans = Scans()
    scans.begin(first=0, count=FRAMES, speed=1e6)
    policy = f"{PAPER},samples={samples},victims={victims}"
    pool = Pool(policy, frames=FRAMES, scans=scans, seed=seed)
    order = np.random.default_rng(seed).permutation(FRAMES).tolist()
    for frame, page in enumerate(order):
        pool.admit(frame, page)
    found = np.array([evicted(pool) for _ in range(bulks * victims)])
    return FRAMES - 1 - found.reshape(bulks, victims)


def evicted(pool: Pool) -> int:
    """Evict a page, load it again, and return it."""
    frame = pool.victim(FRAMES)
    assert frame is not None
    page = pool.page_of(frame)
    pool.evict(frame)
    pool.admit(frame, page)
    return page


class Point:
    """One curve as simulated, at each x, and by the formula."""

    def __init__(self, name: str, formula: Callable[[Numbers], Numbers], seen: Numbers) -> None:
        self.name, self.formula = name, formula
        self.found = seen.mean(axis=0)  # seen: [bulks, x]
        self.expected = formula(np.array(SHARES))
        self.error = seen.std(axis=0, ddof=1) / sqrt(len(seen))

    def row(self) -> tuple[object, ...]:
        """Return name, formula and simulation at 10 %, the largest deviation, its error."""
        at = SHARES.index(0.1)
        worst = int(np.argmax(np.abs(self.found - self.expected)))
        return (
            self.name,
            float(self.expected[at]),
            float(self.found[at]),
            float(self.found[worst] - self.expected[worst]),
            float(self.error[worst]),
            f"{SHARES[worst]:.0%}",
        )


def within(found: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each victim is among the share: [bulks, victims, x]."""
    limits = np.array([round(x * FRAMES) for x in SHARES])
    return found[:, :, None] < limits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bulks", type=int, default=40_000, help="evictions of each kind")
    parser.add_argument("--quick", action="store_true", help="2,000 evictions of each kind")
    args = parser.parse_args()
    bulks = 2000 if args.quick else args.bulks
    single, every, many = [], [], []
    for samples in SINGLE:
        seen = within(ranks(1, samples, bulks, seed=samples))[:, 0].astype(float)
        single.append(Point(f"N = {samples}", lambda x, n=samples: one_is(n, x), seen))
    for victims, samples in BULK:
        inside = within(ranks(victims, samples, bulks // victims, seed=victims))
        name = f"{victims} of {victims * samples}"
        every.append(
            Point(name, lambda x, k=victims, n=samples: all_are(k, n, x), inside.all(1) * 1.0)
        )
        many.append(
            Point(name, lambda x, k=victims, n=samples: how_many_are(k, n, x), inside.mean(1))
        )
    kinds = (("the victim", single), ("all of a bulk", every), ("share of a bulk", many))
    report(
        "optimal_eviction",
        f"chance of being among the furthest x of {FRAMES:,} pages",
        ("what", "draws", "formula, x = 10 %", "simulated", "worst deviation", "its s.e.", "at x"),
        [(kind, *point.row()) for kind, points in kinds for point in points],
    )
    picture(kinds)


def picture(kinds: tuple[tuple[str, list[Point]], ...]) -> None:
    figure = Figure(figsize=(style.PAGE, 2.3), layout="constrained")
    titles = ("the victim is", "all victims of a bulk are", "share of the victims that are")
    for axes, title, (_, points) in zip(
        figure.subplots(1, 3, sharey=True), titles, kinds, strict=True
    ):
        for i, point in enumerate(points):
            colour = style.COLOURS[i]
            axes.plot(100 * CURVE, 100 * point.formula(CURVE), color=colour, linewidth=1.1)
            axes.plot(
                100 * np.array(SHARES),
                100 * point.found,
                "os^Dvp"[i],
                color=colour,
                markersize=3.2,
                label=point.name,
            )
        style.dress(axes, title, "among the furthest x (%)", "")
        axes.legend(
            fontsize=style.SMALL,
            frameon=False,
            loc="lower right",
            ncols=2,
            columnspacing=0.6,
            handletextpad=0.1,
            borderaxespad=0.1,
        )
        axes.set_ylim(0, 102)
    figure.axes[0].set_ylabel("probability (%)", fontsize=style.FONT, labelpad=2)
    figure.savefig(OUT / "optimal_eviction.png", dpi=200)


if __name__ == "__main__":
    main()
