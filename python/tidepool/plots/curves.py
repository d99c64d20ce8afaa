"""Miss or hit ratio by number of frames, a line per policy, a panel per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tidepool.plots import style
from tidepool.plots.lines import ASIDE, POINT, ROOM, finish, looks
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
    """What a live server measured under this policy."""

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

    All curves of a trace are drawn at the same sizes.  Otherwise a curve known
    at more sizes, as LRU's exact one, could seem to beat OPT where OPT's is
    interpolated.  Points become rings in the colour of their policy's curve,
    which must be among the curves.
    """
    traces = list(dict.fromkeys(curve.trace for curve in curves))
    curves = [drawn for trace in traces for drawn in _at_common_sizes(trace, curves)]
    look_of = looks(_mean_hit_ratios(curves))
    rows = look_of.rows_below(len(traces)) + bool(points)
    figure, axes = style.panels(len(traces), HEIGHT, rows)
    for trace, axis in zip(traces, axes, strict=True):
        for curve in curves:
            if curve.trace == trace:
                _draw(axis, curve, ratio, look_of.styles[curve.policy])
        for point in points:
            if point.trace == trace:
                look = look_of.styles[point.policy]
                value = point.miss_ratio if ratio == "miss" else 1 - point.miss_ratio
                axis.plot(point.frames, value, **RING, markeredgecolor=look["color"])
        if points:
            axis.plot([], [], **RING, markeredgecolor=style.OPT_COLOUR, label=LIVE)
        style.frames_axes(axis, logarithmic)
        style.dress(axis, _title(trace, curves), "frames (pages of 8 kB)", f"{ratio} ratio (%)")
        style.percent_axis(axis.yaxis)
        if look_of.are_many:
            axis.margins(y=ROOM)
        axis.set_ylim(0, min(1.02, axis.get_ylim()[1]))
    finish(figure, axes, look_of)
    return figure


def _at_common_sizes(trace: str, curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves of a trace, all at the sizes of the coarsest, if they have these."""
    mine = [curve for curve in curves if curve.trace == trace]
    coarsest = min((curve.frames for curve in mine), key=len)
    if not all(np.isin(coarsest, curve.frames).all() for curve in mine):
        return mine
    return [_only(curve, coarsest) for curve in mine]


def _only(curve: Curve, frames: NDArray[np.int64]) -> Curve:
    rows = np.isin(curve.frames, frames)
    error = None if curve.error is None else curve.error[rows]
    return replace(curve, frames=curve.frames[rows], miss_ratio=curve.miss_ratio[rows], error=error)


def _mean_hit_ratios(curves: Sequence[Curve]) -> dict[str, float]:
    """Return the mean of each policy's hit ratios over its sizes, and over the traces."""
    found: dict[str, list[float]] = {}
    for curve in curves:
        found.setdefault(curve.policy, []).append(1 - float(curve.miss_ratio.mean()))
    return {policy: fmean(ratios) for policy, ratios in found.items()}


def _draw(axis: Axes, curve: Curve, ratio: str, look: dict[str, object]) -> None:
    values = curve.miss_ratio if ratio == "miss" else 1 - curve.miss_ratio
    if len(curve.frames) > MARKED:
        look = {key: value for key, value in look.items() if key != "marker"}
    elif len(curve.frames) == 1:
        look = POINT | look
    axis.plot(curve.frames, values, label=curve.policy, **look)  # type: ignore[arg-type]
    if curve.error is not None and look["color"] != ASIDE["color"]:
        half_width = BAND * curve.error
        axis.fill_between(
            curve.frames,
            np.clip(values - half_width, 0, 1),
            np.clip(values + half_width, 0, 1),
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
