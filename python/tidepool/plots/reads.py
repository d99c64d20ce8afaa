"""Blocks read by a server and by its simulation, bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from tidepool.plots import style

PAIR = 0.3  # inches: height of a pair of bars
THICK = 0.38  # of that, a bar


@dataclass(frozen=True)
class Reads:
    """Blocks read under an algorithm: live, simulated, and by the optimum."""

    label: str
    live: int
    simulated: int
    optimum: int


def reads_figure(title: str, reads: Sequence[Reads]) -> Figure:
    """Draw a pair of bars for each algorithm, the first on top, the optimum as a line in them."""
    figure, (axis,) = style.panels(1, 0.75 + PAIR * len(reads), 1)
    at = range(len(reads))
    live = axis.barh(
        [y - THICK / 2 for y in at],
        [each.live for each in reads],
        height=THICK,
        color=style.COLOURS[0],
        label="live",
    )
    axis.barh(
        [y + THICK / 2 for y in at],
        [each.simulated for each in reads],
        height=THICK,
        color=style.COLOURS[5],
        hatch="////",
        edgecolor="white",
        linewidth=0,
        label="simulated",
    )
    axis.vlines(
        [each.optimum for each in reads],
        [y - THICK for y in at],
        [y + THICK for y in at],
        color=style.OPT_COLOUR,
        linewidth=1.5,
        label="optimum",
    )
    axis.bar_label(live, [f"{each.live:,}" for each in reads], padding=2, fontsize=style.SMALL)
    axis.set_yticks(at, [each.label for each in reads])
    axis.set_ylim(len(reads) - 0.4, -0.6)
    style.dress(axis, title, "blocks read", "")
    style.count_axis(axis.xaxis)
    axis.grid(False, axis="y")
    axis.set_xlim(0, 1.2 * max(max(each.live, each.simulated) for each in reads) or 1)
    style.legend_below(figure, [axis])
    return figure
