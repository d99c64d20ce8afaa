"""Hit ratio over time, a line per policy, a panel per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tidepool.plots import style
from tidepool.plots.lines import POINT, ROOM, finish, looks

HEIGHT = 1.9
MARKED = 25


@dataclass(frozen=True)
class Series:
    """The hit ratio of each interval, which ends after so many references."""

    trace: str
    label: str
    ends: NDArray[np.int64]
    hit_ratio: NDArray[np.float64]


@dataclass(frozen=True)
class Mark:
    """An event before a reference: the end of the warm-up, a resize."""

    trace: str
    reference: int
    label: str


def series_figure(series: Sequence[Series], marks: Sequence[Mark] = ()) -> Figure:
    """Draw time series; each point stands at the end of its interval."""
    traces = list(dict.fromkeys(s.trace for s in series))
    labels = list(dict.fromkeys(s.label for s in series))
    ratios = {label: [s.hit_ratio.mean() for s in series if s.label == label] for label in labels}
    look_of = looks({label: float(np.mean(means)) for label, means in ratios.items()})
    figure, axes = style.panels(len(traces), HEIGHT, look_of.rows_below(len(traces)))
    for trace, axis in zip(traces, axes, strict=True):
        for s in series:
            if s.trace == trace:
                look = dict(look_of.styles[s.label])
                if len(s.hit_ratio) > MARKED:
                    look.pop("marker", None)
                elif len(s.hit_ratio) == 1:
                    look = POINT | look
                axis.plot(s.ends, s.hit_ratio, label=s.label, **look)
        for mark in marks:
            if mark.trace == trace:
                axis.axvline(mark.reference, color="#777777", linewidth=0.8, linestyle=":")
                axis.annotate(
                    mark.label,
                    (mark.reference, 1),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, -2),
                    textcoords="offset points",
                    va="top",
                    rotation=90,
                    fontsize=style.SMALL,
                    color="#555555",
                    bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5},
                )
        title = trace if len(labels) > 1 else f"{trace}, {labels[0]}"
        style.dress(axis, title, "references", "hit ratio (%)")
        style.count_axis(axis.xaxis)
        style.percent_axis(axis.yaxis)
        if look_of.are_many:
            axis.margins(y=ROOM)
        axis.set_ylim(max(0, axis.get_ylim()[0]), min(1.02, axis.get_ylim()[1]))
    finish(figure, axes, look_of)
    return figure
