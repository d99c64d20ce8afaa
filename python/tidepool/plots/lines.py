"""Figures of lines: which stand out among many, and where their labels go.

Up to FEW lines get a colour each and a legend.  Of more, the best get a colour
and a label next to the line; the others are grey and listed below the figure.
OPT's line is always black.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from tidepool.plots import style

FEW = len(style.COLOURS)
GREY = "#BBBBBB"
ASIDE: dict[str, Any] = {
    "color": GREY,
    "linewidth": 0.6,
    "zorder": 1,
}  # the look of lines that do not stand out

POINT: dict[str, Any] = {"marker": ".", "markersize": 3.5}  # one point makes no line

ROOM = 0.12  # of an axis, above and below lines with labels
LISTED = 30  # grey lines, at most
SAMPLES = 80  # points of each line that labels avoid
PLACES = np.linspace(0.05, 0.95, 19)  # along a line: where its label may point
AWAY = (0.1, 0.17, 0.26, 0.4, 0.6)  # inches from there to the label
WAYS = tuple(way for way in product((-1, 0, 1), repeat=2) if way != (0, 0))  # right, up
CLEAR = 0.02  # inches to keep free around a label


@dataclass(frozen=True)
class Looks:
    """How lines look, by label; the labels of those that stand out, and of the others.

    Of many lines, both are in the order of their worth, best first.
    """

    styles: Mapping[str, dict[str, Any]]
    standing_out: tuple[str, ...]
    aside: tuple[str, ...]

    @property
    def are_many(self) -> bool:
        """Whether some lines are grey."""
        return bool(self.aside)

    def below(self, panels: int) -> list[str]:
        """Return the list of grey lines, as lines of text."""
        if not self.are_many:
            return []
        width = style.COLUMN if panels == 1 else style.PAGE
        named = [f"grey, best first: {self.aside[0]}", *self.aside[1:LISTED]]
        if len(self.aside) > LISTED:
            named.append(f"and {len(self.aside) - LISTED} more")
        return style.wrapped("; ".join(named), width - 0.4)

    def rows_below(self, panels: int) -> int:
        """Return how many rows ``finish`` adds below this many panels."""
        if self.are_many:
            return len(self.below(panels))
        return style.legend_rows(self.standing_out, panels)


def looks(worth: Mapping[str, float]) -> Looks:
    """Return the looks of lines by their labels, in the order given; more worth is better."""
    online = [label for label in worth if not style.is_opt(label)]
    others = [label for label in worth if style.is_opt(label)]
    if len(online) <= FEW:
        styles = {label: style.line_style(i, label) for i, label in enumerate(worth)}
        return Looks(styles, tuple(worth), ())
    ranked = sorted(online, key=lambda label: -worth[label])
    best, rest = ranked[: FEW - 1], ranked[FEW - 1 :]
    styles = {label: style.line_style(i, label) for i, label in enumerate([*best, *others])}
    return Looks(styles | dict.fromkeys(rest, ASIDE), (*best, *others), tuple(rest))


def finish(figure: Figure, axes: Sequence[Axes], looks: Looks) -> None:
    """Add the legend, or the labels; the panels' limits must be final."""
    if not looks.are_many:
        style.legend_below(figure, axes)
        return
    others = {  # rings, for example
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        if label not in looks.styles
    }
    figure.legend(
        [*others.values(), Line2D([], [], **ASIDE)],
        [*others, "\n".join(looks.below(len(axes)))],
        loc="outside lower center",
        fontsize=style.SMALL,
        labelcolor="#555555",
        frameon=False,
        handlelength=1.5,
    )
    figure.draw_without_rendering()  # so that panels have their sizes
    for axis in axes:
        _add_labels(axis, looks)


# ---- labels next to lines ----


def _add_labels(axis: Axes, looks: Looks) -> None:
    """Label the lines that stand out, where the labels hide least."""
    figure = axis.figure
    assert isinstance(figure, Figure)
    size = np.array(axis.get_window_extent().size) / figure.dpi
    lines = {str(line.get_label()): _points(axis, line) * size for line in axis.lines}
    lines = {label: points for label, points in lines.items() if label in looks.styles}
    obstacles = np.concatenate([_dense(points) for points in lines.values()])
    weights = np.concatenate(
        [np.full(SAMPLES, 1.0 if label in looks.standing_out else 0.35) for label in lines]
    )
    taken: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []  # centre and half of boxes
    for label in looks.standing_out:
        if label not in lines:
            continue
        half = np.array([style.LETTER * len(label) + 0.04, style.LINE]) / 2
        at, centre = _best_place(lines[label], half, size, obstacles, weights, taken)
        taken.append((centre, half))
        axis.annotate(
            label,
            tuple(at / size),
            xycoords="axes fraction",
            xytext=tuple(centre / size),
            textcoords="axes fraction",
            ha="center",
            va="center",
            fontsize=style.SMALL,
            color=str(looks.styles[label]["color"]),
            arrowprops={
                "arrowstyle": "-",
                "color": str(looks.styles[label]["color"]),
                "linewidth": 0.6,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.4},
            zorder=5,
        )


def _points(axis: Axes, line: Line2D) -> NDArray[np.float64]:
    """Return a line's points as fractions of the axes."""
    data = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(np.float64)
    found: NDArray[np.float64] = axis.transAxes.inverted().transform(axis.transData.transform(data))
    return found


def _dense(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return SAMPLES points of a line, evenly spaced from left to right."""
    x = np.linspace(points[0, 0], points[-1, 0], SAMPLES)
    return np.column_stack([x, np.interp(x, points[:, 0], points[:, 1])])


def _best_place(
    line: NDArray[np.float64],
    half: NDArray[np.float64],
    size: NDArray[np.float64],
    obstacles: NDArray[np.float64],
    weights: NDArray[np.float64],
    taken: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the point of the line that a label points to, and the label's centre, in inches."""
    best = (np.inf, line[0], line[0])
    along = _dense(line)
    step = size[0] / SAMPLES  # inches of a line per obstacle
    for away, place, (dx, dy) in product(AWAY, PLACES, WAYS):
        at = along[round(place * (SAMPLES - 1))]
        centre = at + np.array([dx * (half[0] + (0.3 if dy else 1) * away), dy * away])
        if (centre - half < CLEAR).any() or (centre + half > size - CLEAR).any():
            continue
        cost = 0.15 * away + sum(
            100 * float(np.prod(np.clip(half + other_half - np.abs(centre - other), 0, None)))
            for other, other_half in taken
        )
        if cost >= best[0]:
            continue
        inside = (np.abs(obstacles - centre) < half + CLEAR).all(axis=1)
        crossed = _between(at, centre, obstacles)
        cost += step * float(weights[inside].sum() + 0.5 * weights[crossed].sum())
        if cost < best[0]:
            best = (cost, at, centre)
    return best[1], best[2]


def _between(
    at: NDArray[np.float64], centre: NDArray[np.float64], obstacles: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which obstacles the pointer from a label to its line crosses."""
    way = centre - at
    along = ((obstacles - at) @ way) / float(way @ way)
    off = np.abs((obstacles - at) @ np.array([-way[1], way[0]])) / float(np.hypot(*way))
    found: NDArray[np.bool_] = (along > 0.15) & (along < 1) & (off < 0.015)
    return found
