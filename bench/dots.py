"""Pictures with a row for each algorithm: dots with error bars, panels side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import OUT
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from tidepool.plots import save, style

ROW = 0.21  # inches
MARKERS = "osD^v"


@dataclass(frozen=True)
class Panel:
    """What one panel shows.

    Attributes:
        label: of its axis.
        values: for each kind of dot, a value and its error in each row; None: nothing there.
        goal: a line.
        scale: of its axis, as matplotlib knows them.
    """

    label: str
    values: Mapping[str, Sequence[tuple[float, float] | None]]
    goal: float | None = None
    scale: str = "linear"


def draw(name: str, rows: Sequence[str], panels: Sequence[Panel]) -> Path:
    """Save bench/out/NAME.png, the first row on top; return its path."""
    kinds = list(dict.fromkeys(kind for panel in panels for kind in panel.values))
    height = 0.75 + ROW * len(rows) + 0.16
    figure = Figure(figsize=(style.PAGE, height), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for panel, axis in zip(panels, axes, strict=True):
        for place, (kind, values) in enumerate(panel.values.items()):
            i = kinds.index(kind)
            # so that no error bar hides another
            offset = 0.22 * (place - (len(panel.values) - 1) / 2)
            dots = [(y + offset, *value) for y, value in enumerate(values) if value]
            if not dots:
                continue
            at, middle, error = zip(*dots, strict=True)
            axis.errorbar(
                middle,
                at,
                xerr=error if any(error) else None,
                label=kind,
                color=style.COLOURS[i % len(style.COLOURS)],
                marker=MARKERS[i % len(MARKERS)],
                markersize=3.2,
                linestyle="none",
                elinewidth=0.8,
            )
        style.dress(axis, None, panel.label, "")
        if panel.scale != "linear":
            axis.set_xscale(panel.scale)
            style.count_axis(axis.xaxis)
        if panel.scale == "log":
            low, high = axis.get_xlim()
            axis.set_xlim(min(low, high / 4), max(high, low * 4))  # room for a tick or two
            axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        if panel.goal is not None:
            axis.axvline(panel.goal, color="#777777", linewidth=0.8, linestyle=(0, (4, 2)))
        axis.grid(False, axis="y")
        for y in range(0, len(rows), 2):  # leads the eye from the name
            axis.axhspan(y - 0.5, y + 0.5, color="#F2F2F2", zorder=0)
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    style.legend_below(figure, list(axes))
    path = OUT / f"{name}.png"
    save(figure, path)
    return path


def clients_text(count: int) -> str:
    """Return "1 client" or "8 clients"."""
    return f"{count} client{'s' if count > 1 else ''}"
