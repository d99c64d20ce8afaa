"""Time by device, a stacked bar each, a panel per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tidepool.plots import style
from tidepool.plots.bars import BAR

PARTS = ("disk reads", "SSD reads", "disk writes", "SSD writes")
COLOURS = dict(zip(PARTS, style.COLOURS, strict=False))
HATCHES = dict(zip(PARTS, ("", "////", "....", "xxxx"), strict=True))


@dataclass(frozen=True)
class TimeBar:
    """Seconds of each of PARTS."""

    trace: str
    label: str
    seconds: tuple[float, float, float, float]


def time_figure(bars: Sequence[TimeBar]) -> Figure:
    """Draw bars, the first on top, each with its sum."""
    traces = list(dict.fromkeys(bar.trace for bar in bars))
    most = max(sum(bar.trace == trace for bar in bars) for trace in traces)
    rows = style.legend_rows(PARTS, len(traces))
    figure, axes = style.panels(len(traces), 0.75 + BAR * most, rows)
    for trace, axis in zip(traces, axes, strict=True):
        mine = [bar for bar in bars if bar.trace == trace]
        at = range(len(mine))
        left = np.zeros(len(mine))
        for i, part in enumerate(PARTS):
            seconds = np.array([bar.seconds[i] for bar in mine])
            drawn = axis.barh(
                at,
                seconds,
                left=left,
                height=0.7,
                color=COLOURS[part],
                hatch=HATCHES[part],
                edgecolor="white",
                linewidth=0,
                label=part,
            )
            left += seconds
        axis.bar_label(
            drawn,
            [f"{sum_:,.0f}" if sum_ >= 100 else f"{sum_:.3g}" for sum_ in left],
            padding=2,
            fontsize=style.SMALL,
        )
        axis.set_yticks(at, [bar.label for bar in mine])
        axis.set_ylim(len(mine) - 0.4, -0.6)
        style.dress(axis, trace, "seconds", "")
        axis.grid(False, axis="y")
        axis.set_xlim(0, 1.15 * left.max() or 1)
    style.legend_below(figure, axes)
    return figure
