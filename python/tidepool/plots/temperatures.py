"""How warm a disk is, and what of it an SSD has: a strip for each relation, and the sum."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator
from numpy.typing import NDArray

from tidepool.extents import PAGES, Summary, Warmth
from tidepool.plots import style
from tidepool.simulation.sizes import PAGE_BYTES

WARM, CACHED = "inferno", "Greens"
UNKNOWN = "#F2F2F2"  # no extent is known there
STRIPS = 12  # relations that are drawn, at most
CELLS = 240  # of a strip, at most
STRIP = 0.33  # inches: height of a relation's
GAP = 0.35  # of it: the part that shows what is on the SSD
SCALES = 1.0  # inches: height of the title and the scales
BELOW = 1.9  # inches: height of the sum
TICKS = 6  # along it, at most
MAGNITUDES = 4  # of the temperatures that colours tell apart


def temperature_figure(summary: Summary) -> Figure:
    """Draw how warm the extents of the warmest relations are, and how much of each the SSD has.

    Below are the share of the heat that an SSD of each size could have, and a ring for
    what this one has.
    """
    shown = summary.relations[:STRIPS]
    left_out = len(summary.relations) - len(shown)
    strips_height = STRIP * len(shown) + SCALES
    figure = style.Picture(figsize=(style.PAGE, strips_height + BELOW), layout="constrained")
    halves = figure.subfigures(2, 1, squeeze=False, height_ratios=[strips_height, BELOW])
    above, below = halves[:, 0]
    above.suptitle(
        "warmth of the disk, from a relation's first block to its last"
        + (f" ({left_out} colder relations left out)" if left_out else ""),
        fontsize=style.FONT,
    )
    grid = above.subplots(len(shown), 1, squeeze=False)[:, 0]
    warmest = max(float(relation.temperatures.max()) for relation in shown) or 1.0
    norm = LogNorm(warmest / 10**MAGNITUDES, warmest, clip=True)
    for axes, relation in zip(grid, shown, strict=True):
        means, shares = cells(relation)
        across = (0, len(means))
        images = (
            axes.imshow(means[np.newaxis], cmap=WARM, norm=norm, extent=(*across, GAP, 1)),
            axes.imshow(shares[np.newaxis], cmap=CACHED, vmin=0, vmax=1, extent=(*across, 0, GAP)),
        )
        _name(axes, relation, len(means))
    for image, label in zip(
        images, ("temperature of an extent (µs saved)", "of an extent on the SSD (%)"), strict=True
    ):
        bar = above.colorbar(image, ax=[*grid], location="bottom", shrink=0.5, aspect=40, pad=0.03)
        bar.set_label(label, fontsize=style.SMALL, labelpad=1)
        bar.ax.tick_params(labelsize=style.SMALL, length=2, pad=1)
        bar.outline.set_visible(False)
    style.percent_axis(bar.ax.xaxis)
    _sum(below.subplots(), summary)
    return figure


def cells(relation: Warmth) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a strip's cells: mean temperature of its extents, and share of them on the SSD.

    NaN where no extent is known.
    """
    count = int(relation.extents[-1]) + 1
    n = min(count, CELLS)
    cell = relation.extents * n // count
    known = np.bincount(cell, minlength=n).astype(float)
    known[known == 0] = np.nan
    heat = np.bincount(cell, relation.temperatures, minlength=n)
    cached = np.bincount(cell, relation.cached, minlength=n)
    return heat / known, cached / known / PAGES


def _name(axes: Axes, relation: Warmth, width: int) -> None:
    axes.set_facecolor(UNKNOWN)
    axes.set_aspect("auto")
    axes.set_xlim(0, width)
    axes.set_ylim(0, 1)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    name = f"{_short(relation.relation)}\n{style.bytes_text(relation.blocks * PAGE_BYTES)}"
    axes.set_ylabel(
        name, fontsize=style.SMALL, rotation=0, ha="right", va="center", parse_math=False
    )


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}\N{HORIZONTAL ELLIPSIS}"


def _sum(axes: Axes, summary: Summary) -> None:
    shares = summary.hottest
    size = PAGES * PAGE_BYTES
    sizes = np.arange(len(shares)) * size
    axes.plot(sizes, shares, color=style.COLOURS[0], linewidth=1.2, label="the warmest extents")
    axes.plot(
        summary.pages * PAGE_BYTES,
        summary.covered,
        marker="o",
        markersize=8,
        markerfacecolor="none",
        color=style.COLOURS[1],
        linestyle="",
        label="what is on the SSD",
    )
    style.dress(axes, None, "pages on an SSD", "of the heat (%)")
    axes.set_ylim(0, 1.05)
    axes.set_xlim(0, sizes[-1] * 1.02)
    style.percent_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MultipleLocator(2 ** np.ceil(np.log2(sizes[-1] / TICKS))))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda size, _: style.bytes_text(size) if size > 0 else "0")
    )
    axes.legend(fontsize=style.SMALL, frameon=False, loc="lower right")
