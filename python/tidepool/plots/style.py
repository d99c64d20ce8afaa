"""What all figures share: sizes, colours, line styles, axes.

Colours are those of M. Okabe and K. Ito, Color universal design (2008),
which people with any kind of colour vision can tell apart; line styles and
markers differ too, so that print in black and white does as well.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from tidepool.simulation.sizes import PAGE_BYTES

COLUMN = 3.4  # inches: one column of a two-column paper
PAGE = 7.0  # inches: both
SCREEN = 150  # dots per inch in a notebook
FONT = 7.5  # points
SMALL = 6.5
LETTER, LINE = 0.052, 0.105  # inches that a character of small type takes, and a line of it

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
OPT_COLOUR = "#000000"
_DASHES = ((0, ()), (0, (4, 1.2)), (0, (1.2, 1)), (0, (4, 1, 1, 1)), (0, (7, 1.5)))
_MARKERS = "os^Dvp*X<h>"
GRID = "#DDDDDD"


class Picture(Figure):
    """A figure that a notebook shows when it is a cell's value, without pyplot."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=SCREEN)
        return data.getvalue()


def is_opt(label: str) -> bool:
    """Whether what has this label is OPT."""
    return label.split(":")[0].split(",")[0] == "opt"


def line_style(i: int, label: str) -> dict[str, Any]:
    """Return the look of the i-th line; OPT's is always black and dashed."""
    if is_opt(label):
        return {
            "color": OPT_COLOUR,
            "linestyle": (0, (3, 1.5)),
            "marker": ".",
            "markersize": 3.5,
            "linewidth": 1.1,
            "zorder": 3,
        }
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": _DASHES[i % len(_DASHES)],
        "marker": _MARKERS[i % len(_MARKERS)],
        "markersize": 3,
        "markeredgewidth": 0,
        "linewidth": 1.1,
    }


def panels(count: int, height: float, legend_rows: int = 0) -> tuple[Figure, list[Axes]]:
    """Return a figure of ``count`` panels: one in a column's width, more two abreast on a page.

    ``height`` is a panel's in inches; rows of a legend below come on top.
    """
    columns = min(count, 2)
    rows = math.ceil(count / columns)
    width = COLUMN if columns == 1 else PAGE
    figure = Picture(figsize=(width, rows * height + 0.16 * legend_rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def dress(axes: Axes, title: str | None, x: str, y: str) -> None:
    """Set title, labels, a light grid and small type."""
    if title:
        axes.set_title(title, fontsize=FONT, pad=4, parse_math=False)
    axes.set_xlabel(x, fontsize=FONT, labelpad=2)
    axes.set_ylabel(y, fontsize=FONT, labelpad=2)
    axes.tick_params(labelsize=SMALL, length=2.5, pad=2)
    axes.grid(True, color=GRID, linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def wrapped(text: str, width: float, size: float = SMALL) -> list[str]:
    """Return a text as lines that fit in so many inches, broken at spaces and after commas."""
    letters = int(width / (LETTER * size / SMALL))
    spaced = re.sub(r",(?=\S)", ",\v", text)  # a space to textwrap, and to nobody else
    lines = textwrap.wrap(spaced, max(8, letters), replace_whitespace=False)
    return [line.replace("\v", "") for line in lines] or [""]


def percent_axis(axis: Any) -> None:
    """Tick labels in percent, of an axis of ratios."""
    axis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{round(100 * ratio, 6):g}"))


def count_text(count: float) -> str:
    """Return a number of things as an axis has it: 500, 20 k, 3 M."""
    for unit, value in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(count) >= value:
            return f"{count / value:g} {unit}"
    return f"{count:g}"


def bytes_text(size: float) -> str:
    """Return a number of bytes as PostgreSQL has it: 8 kB, 64 MB."""
    for unit, value in (("TB", 2**40), ("GB", 2**30), ("MB", 2**20)):
        if size >= value:
            return f"{size / value:.3g} {unit}"
    return f"{size / 2**10:.3g} kB"


def count_axis(axis: Any) -> None:
    """Tick labels as short counts."""
    axis.set_major_formatter(FuncFormatter(lambda count, _: count_text(count)))
    axis.set_minor_formatter(NullFormatter())


def _megabytes(frames: Any) -> Any:
    return frames * PAGE_BYTES / 2**20


def _frames(megabytes: Any) -> Any:
    return megabytes * 2**20 / PAGE_BYTES


def frames_axes(axes: Axes, logarithmic: bool) -> None:
    """Let x be frames, with bytes along the top; what is drawn says how far they reach."""
    if logarithmic:
        axes.set_xscale("log")
    count_axis(axes.xaxis)
    low, high = axes.dataLim.intervalx
    if low == high:  # a single size
        axes.set_xlim(low / 2, high * 2)
    wide = high > 100 * low
    if logarithmic and not wide:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    top = axes.secondary_xaxis("top", functions=(_megabytes, _frames))
    top.xaxis.set_major_formatter(FuncFormatter(lambda size, _: bytes_text(size * 2**20)))
    if logarithmic:
        # 128 kB, 1 MB, 8 MB, 64 MB, …; or powers of two
        top.xaxis.set_major_locator(LogLocator(base=8 if wide else 2))
        top.xaxis.set_minor_locator(NullLocator())
    top.tick_params(labelsize=SMALL, length=2.5, pad=2)


def legend_below(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, below them."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if len(entries) > 1:
        figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=legend_columns(list(entries), float(figure.get_figwidth())),
            fontsize=SMALL,
            frameon=False,
            handlelength=2.6,
            columnspacing=1.2,
            labelspacing=0.3,
        )


def legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many labels fit abreast in a legend of this width in inches."""
    widest = 0.45 + 0.055 * max(map(len, labels), default=1)
    return max(1, min(len(labels), int(width / widest)))


def legend_rows(labels: Sequence[str], panels: int) -> int:
    """Return the rows of the legend of a figure with this many panels."""
    distinct = list(dict.fromkeys(labels))
    if len(distinct) < 2:
        return 0
    return math.ceil(len(distinct) / legend_columns(distinct, COLUMN if panels == 1 else PAGE))
