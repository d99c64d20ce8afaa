#!/usr/bin/env python3
"""How much the settings of prediction matter: misses relative to OPT's on streams of range scans.

- samples: how many frames are looked at for a victim;
- bulk: k victims of 10 k samples at once, instead of one of 10;
- told every: of how many blocks a scan tells its progress once it has read
  them all; 128 is the block group of the papers;
- scans of: the blocks of a range, or all block groups that it touches, by
  bitmap (against OPT of the same trace);
- bucket: the first buckets' width of `pbm_pq`;
- streams: how many scans run at a time;
- pages: of the table, with the scans as many times slower: how far results on
  small tables are those of large ones.

Everything is measured for PBM as its paper has it and with what we added,
except where it concerns one of them or `pbm_pq` alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
from common import OUT, PAPER, replay, report, tpch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tidepool.plots import style
from tidepool.traces import InMemoryTrace
from tidepool.traces.model import Chunk, Kind, Trace

SHARES = (0.1, 0.3, 0.6)
SAMPLES = (1, 2, 5, 10, 20, 100)
BULK = (1, 2, 5, 10, 16)
TOLD_EVERY = (1, 32, 128, 512, 2048)
BUCKETS = (1, 5, 20, 100, 500)  # milliseconds; a scan reads a block group in 6 or 13
STREAMS = (1, 2, 4, 8, 16, 32, 64)
SCALES = (16, 8, 4, 2, 1)

BOTH = {"paper": PAPER, "ours": "pbm"}

Make = Callable[[int], Trace]  # from a seed
Row = tuple[str, str, str, list[list[float]]]  # experiment, value, variant; ratios [share][seed]


def measure(
    name: str, value: object, make: Make, policies: dict[str, str], seeds: int
) -> list[Row]:
    """Return a row for each policy: misses relative to OPT's on the same trace."""
    runs = [replay(make(seed), ("opt", *policies.values()), SHARES) for seed in range(seeds)]
    return [
        (name, str(value), variant, [[r.relative(p, share) for r in runs] for share in SHARES])
        for variant, p in policies.items()
    ]


def with_parameter(**values: int) -> dict[str, str]:
    """Return the paper's PBM and ours with these parameters."""
    given = ",".join(f"{name}={value}" for name, value in values.items())
    return {"paper": f"{PAPER},{given}", "ours": f"pbm:{given}"}


def told_every(trace: Trace, blocks: int) -> Trace:
    """Return the trace with its scans' progress told with every so many blocks alone.

    A read that does not name its scan says nothing of it.  That it is read by
    no scan then matters to frequency statistics and neighbours, so this is for
    policies without them.
    """

    def silent(chunk: Chunk) -> Chunk:
        assert chunk.kind is not None and chunk.scan is not None
        between = (chunk.page % np.uint64(blocks) != 0) & (chunk.kind == Kind.READ)
        return replace(chunk, scan=np.where(between, np.uint64(0), chunk.scan))

    return InMemoryTrace(trace.name, map(silent, trace.chunks()))


def experiments(quick: bool, seeds: int) -> Iterable[Row]:
    """Yield the rows of all experiments."""
    small, large, full = (32, 32, 32) if quick else (8, 2, 1)
    for samples in SAMPLES:
        policies = with_parameter(samples=samples)
        yield from measure("samples", samples, lambda seed: tpch(small, 8, seed), policies, seeds)
    for victims in BULK:
        policies = with_parameter(samples=10, victims=victims)
        value = f"{victims} of {10 * victims}"
        yield from measure("bulk", value, lambda seed: tpch(small, 8, seed), policies, seeds)
    for blocks in TOLD_EVERY:
        yield from measure(
            "told every",
            blocks,
            lambda seed, blocks=blocks: told_every(tpch(large, 8, seed), blocks),
            {"paper": PAPER},
            1,
        )
    for of, bitmap in (("ranges", False), ("block groups", True)):
        yield from measure(
            "scans of", of, lambda seed, b=bitmap: tpch(large, 8, seed, bitmap=b), BOTH, 1
        )
    for bucket in BUCKETS:
        policies = {"pbm_pq": f"pbm_pq:bucket={bucket * (full if quick else 1)}"}
        yield from measure("bucket", f"{bucket} ms", lambda seed: tpch(full, 8, seed), policies, 1)
    for streams in STREAMS:
        yield from measure(
            "streams",
            streams,
            lambda seed, n=streams: tpch(2 * small, n, seed),
            {"clock": "clock", **BOTH},
            seeds,
        )
    for scale in (32,) if quick else SCALES:
        yield from measure(
            "pages", 121_000 // scale, lambda seed, s=scale: tpch(s, 8, seed), BOTH, 1
        )


def table(rows: list[Row]) -> None:
    shown = []
    for name, value, variant, ratios in rows:
        deviations = [stdev(of_share) for of_share in ratios if len(of_share) > 1]
        spread = max(deviations) if deviations else ""
        shown.append((name, value, variant, *map(fmean, ratios), len(ratios[0]), spread))
    columns = ("what", "value", "policy", *(f"{s:.0%}" for s in SHARES), "seeds", "largest s.d.")
    report("predictive_sensitivity", "misses relative to OPT's, by cache size", columns, shown)


def picture(rows: list[Row]) -> None:
    figure = Figure(figsize=(style.PAGE, 4.2), layout="constrained")
    names = ("samples", "bulk", "streams", "told every", "bucket", "pages")
    titles = (
        "samples",
        "victims at once, of 10 times as many",
        "streams of scans",
        "blocks between reports of a scan (paper)",
        "first bucket of pbm_pq",
        "pages of the table",
    )
    panels = figure.subplots(2, 3).ravel()
    for axes, name, title in zip(panels, names, titles, strict=True):
        draw(axes, [row for row in rows if row[0] == name and row[2] != "clock"])
        style.dress(axes, None, title, "")
    for axes in panels[::3]:
        axes.set_ylabel("misses / OPT's", fontsize=style.FONT)
    style.legend_below(figure, [panels[0], panels[4]])
    figure.savefig(OUT / "predictive_sensitivity.png", dpi=200)


def draw(axes: Axes, rows: list[Row]) -> None:
    """A line per policy and size: colours are sizes, dashes policies."""
    values = list(dict.fromkeys(value for _, value, _, _ in rows))
    dashes = {"paper": "--", "ours": "-", "pbm_pq": ":"}
    for variant in dict.fromkeys(variant for _, _, variant, _ in rows):
        of_variant = [ratios for _, _, v, ratios in rows if v == variant]
        for i, share in enumerate(SHARES):
            axes.plot(
                range(len(values)),
                [fmean(ratios[i]) for ratios in of_variant],
                linestyle=dashes[variant],
                color=style.COLOURS[i],
                marker="os^"[i],
                markersize=3,
                linewidth=1.1,
                label=f"{variant}, cache {share:.0%}",
            )
    axes.axhline(1, color="#777777", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(values)), [value.split(" of ")[0] for value in values])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small tables, one seed")
    args = parser.parse_args()
    rows = list(experiments(args.quick, 1 if args.quick else args.seeds))
    table(rows)
    picture(rows)


if __name__ == "__main__":
    main()
