"""Pictures of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidepool.amounts import count
from tidepool.experiments.runs import Run, labels, memory_runs
from tidepool.simulation import Curve, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(runs: Sequence[Run]) -> Figure:
    """Draw hit ratios: over time, by size, or, of one size, as bars; with SSD tiers, times."""
    if runs[0].result.ssd is not None:
        return _time_picture(runs)
    if runs[0].options.interval:
        return _series_picture(runs)
    by_trace: dict[str, list[Run]] = {}
    for run in runs:
        by_trace.setdefault(run.result.trace, []).append(run)
    if any(len({run.result.frames for run in mine}) > 1 for mine in by_trace.values()):
        return _curve_picture(runs)
    return _bar_picture(by_trace)


def _series_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import Mark, Series, series_figure

    series, marks = [], []
    for run, label in zip(runs, labels(runs), strict=True):
        trace, hit_ratio = run.result.trace, run.result.series
        assert hit_ratio is not None
        series.append(Series(trace, label, run.result.interval_ends, hit_ratio))
        if run.options.warmup:
            marks.append(Mark(trace, run.options.warmup, "end of warm-up"))
        marks += [Mark(trace, at, f"{count(frames)} frames") for at, frames in run.options.resize]
    return series_figure(series, list(dict.fromkeys(marks)))


def _curve_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import curve_figure

    several_seeds = len({run.result.seed for run in runs}) > 1
    lines: dict[tuple[str, str], list[Result]] = {}
    for run in runs:
        label = f"{run.label}, seed {run.result.seed}" if several_seeds else run.label
        lines.setdefault((run.result.trace, label), []).append(run.result)
    curves = []
    for (trace, label), results in lines.items():
        results.sort(key=lambda result: result.frames)
        error = [result.error for result in results if result.error is not None]
        curves.append(
            Curve(
                trace=trace,
                policy=label,
                frames=np.array([result.frames for result in results]),
                miss_ratio=np.array([1 - result.hit_ratio for result in results]),
                requests=results[0].requests,
                error=np.array(error) if error else None,
                sample_rate=results[0].sample_rate,
            )
        )
    return curve_figure(curves, ratio="hit")


def _bar_picture(by_trace: dict[str, list[Run]]) -> Figure:
    from tidepool.plots import Bar, bar_figure

    return bar_figure(
        [
            Bar(f"{trace}, {count(run.result.frames)} frames", label, run.result.hit_ratio,
                run.result.error)
            for trace, runs in by_trace.items()
            for run, label in zip(runs, labels(runs), strict=True)
        ]
    )  # fmt: skip


def _time_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import TimeBar, time_figure

    several = len(memory_runs(runs)) > 1
    bars = []
    for run, label in zip(runs, labels(runs), strict=True):
        tier = run.result.ssd
        assert tier is not None
        tier_label = f"{run.ssd}, {count(tier.frames)}" if tier.frames else run.ssd
        bars.append(
            TimeBar(
                run.result.trace,
                f"{label} + {tier_label}" if several else tier_label,
                (
                    tier.disk_read_time,
                    tier.ssd_read_time,
                    tier.disk_write_time,
                    tier.ssd_write_time,
                ),
            )
        )
    return time_figure(bars)
