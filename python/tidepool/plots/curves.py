"""Miss or hit ratio by number of frames, a line per policy, a panel per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tidepool.plots import style
from tidepool.simulation.curves import Curve

HEIGHT = 2.3
MARKED = 25  # a line with more points than this is drawn without markers
LIVE = "live"
RING: dict[str, Any] = {
    "linestyle": "",
    "marker": "o",
    "markersize": 7,
    "markerfacecolor": "none",
    "markeredgewidth": 1.1,
    "zorder": 4,
}
BAND = 1.96  # standard errors on either side: 95 %


@dataclass(frozen=True)
class Point:
    """What a live server met under this policy."""

    trace: str
    policy: str
    frames: int
    miss_ratio: float


def curve_figure(
    curves: Sequence[Curve],
    ratio: Literal["miss", "hit"] = "miss",
    logarithmic: bool = True,
    points: Sequence[Point] = (),
) -> Figure:
    """Draw curves; sampled ones with a band that is 95 % certain to hold the true ratio.

    Points are rings in the colour of their policy's curve, of which there must be one.
    """
    traces = list(dict.fromkeys(curve.trace for curve in curves))
    labels = list(dict.fromkeys(curve.policy for curve in curves))
    entries = [*labels, *([LIVE] if points else [])]
    figure, axes = style.panels(len(traces), HEIGHT, style.legend_rows(entries, len(traces)))
    for trace, axis in zip(traces, axes, strict=True):
        for curve in curves:
            if curve.trace == trace:
                _draw(
                    axis, curve, ratio, style.line_style(labels.index(curve.policy), curve.policy)
                )
        for point in points:
            if point.trace == trace:
                look = style.line_style(labels.index(point.policy), point.policy)
                value = point.miss_ratio if ratio == "miss" else 1 - point.miss_ratio
                axis.plot(point.frames, value, **RING, markeredgecolor=look["color"])
        if points:
            axis.plot([], [], **RING, markeredgecolor=style.OPT_COLOUR, label=LIVE)
        style.frames_axes(axis, logarithmic)
        style.dress(axis, _title(trace, curves), "frames (pages of 8 kB)", f"{ratio} ratio (%)")
        style.percent_axis(axis.yaxis)
        axis.set_ylim(0, min(1.02, axis.get_ylim()[1]))
    style.legend_below(figure, axes)
    return figure


def _draw(axis: Axes, curve: Curve, ratio: str, look: dict[str, object]) -> None:
    values = curve.miss_ratio if ratio == "miss" else 1 - curve.miss_ratio
    if len(curve.frames) > MARKED:
        look = {key: value for key, value in look.items() if key != "marker"}
    axis.plot(curve.frames, values, label=curve.policy, **look)  # type: ignore[arg-type]
    if curve.error is not None:
        reach = BAND * curve.error
        axis.fill_between(
            curve.frames,
            np.clip(values - reach, 0, 1),
            np.clip(values + reach, 0, 1),
            color=str(look["color"]),
            alpha=0.15,
            linewidth=0,
        )


def _title(trace: str, curves: Sequence[Curve]) -> str:
    """The trace; of sampled curves, the sample; of a lone curve, the policy."""
    policies = {curve.policy for curve in curves}
    rates = {curve.sample_rate for curve in curves if curve.trace == trace and curve.sample_rate}
    parts = [trace]
    if len(policies) == 1:
        parts.append(policies.pop())
    parts += [f"{100 * rate:.3g}% of the pages sampled" for rate in sorted(rates)]
    return ", ".join(parts)
