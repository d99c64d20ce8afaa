"""Hit ratios of policies at one size, a bar each, a panel per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from tidepool.plots import style

BAR = 0.17  # inches
LABEL = 1.4  # inches: longer labels are wrapped


@dataclass(frozen=True)
class Bar:
    """A hit ratio with, if it is an estimate, its standard error."""

    trace: str
    label: str
    hit_ratio: float
    error: float | None = None


def bar_figure(bars: Sequence[Bar]) -> Figure:
    """Draw bars, the first on top, each with its value; longer labels take several lines."""
    traces = list(dict.fromkeys(bar.trace for bar in bars))
    most = max(sum(bar.trace == trace for bar in bars) for trace in traces)
    labels = {bar.label: style.wrapped(bar.label, LABEL) for bar in bars}
    lines = max(map(len, labels.values()))
    figure, axes = style.panels(len(traces), 0.75 + max(BAR, style.LINE * lines) * most)
    for trace, axis in zip(traces, axes, strict=True):
        mine = [bar for bar in bars if bar.trace == trace]
        errors = [1.96 * (bar.error or 0) for bar in mine]
        drawn = axis.barh(
            range(len(mine)),
            [bar.hit_ratio for bar in mine],
            height=0.7,
            color=[
                style.OPT_COLOUR if style.is_opt(bar.label) else style.COLOURS[0] for bar in mine
            ],
            xerr=errors if any(errors) else None,
            error_kw={"elinewidth": 0.8, "ecolor": "#777777"},
        )
        axis.bar_label(
            drawn,
            [f"{100 * bar.hit_ratio:.1f}" for bar in mine],
            padding=2,
            fontsize=style.SMALL,
        )
        axis.set_yticks(range(len(mine)), ["\n".join(labels[bar.label]) for bar in mine])
        axis.set_ylim(len(mine) - 0.4, -0.6)
        style.dress(axis, trace, "hit ratio (%)", "")
        axis.grid(False, axis="y")
        axis.set_xlim(0, 1.15 * max(bar.hit_ratio for bar in mine) or 1)
        style.percent_axis(axis.xaxis)
    return figure
