"""Differences of hit ratios as heat maps: policies by sizes, one row of maps per trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import CenteredNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from tidepool.plots import style

COLOURS = "PuOr"  # diverging, and safe for the colour-blind
CELL = 0.175  # inches: height of a row
WITHIN = 95  # percent of the differences are in the colours' range: no outlier pales the others
DARK = 0.6  # of the range: beyond, a cell's text is white


@dataclass(frozen=True)
class HeatMap:
    """Differences in percentage points, a row per policy and a column per size.

    Maps of one figure that compare with the same ``reference`` share their
    colours' range.
    """

    trace: str
    reference: str
    policies: tuple[str, ...]
    sizes: tuple[str, ...]
    values: NDArray[np.float64]


def heat_figure(maps: Sequence[HeatMap]) -> Figure:
    """Draw heat maps: traces below each other, references side by side."""
    traces = list(dict.fromkeys(heat.trace for heat in maps))
    references = list(dict.fromkeys(heat.reference for heat in maps))
    tallest = [max(len(m.policies) for m in maps if m.trace == trace) for trace in traces]
    widest = max(len(heat.sizes) for heat in maps)
    abreast = len(references) * (0.31 * widest + 0.25) + 1.3
    figure = Figure(
        figsize=(
            max(style.COLUMN, min(style.PAGE, abreast)),
            sum(tallest) * CELL + 0.62 * len(traces) + 0.45,
        ),
        layout="constrained",
    )
    grid = figure.subplots(
        len(traces), len(references), squeeze=False, height_ratios=[n + 1 for n in tallest]
    )
    for j, reference in enumerate(references):
        column = [heat for heat in maps if heat.reference == reference]
        differences = np.concatenate([np.abs(heat.values).ravel() for heat in column])
        reach = max(1e-9, float(np.percentile(differences, WITHIN, method="higher")))
        norm = CenteredNorm(0, reach)
        for heat in column:
            axes = grid[traces.index(heat.trace)][j]
            image = _draw(axes, heat, norm, first=j == 0)
        bar = figure.colorbar(
            image,
            ax=[grid[i][j] for i in range(len(traces))],
            location="bottom",
            shrink=0.7,
            aspect=35,
            pad=0.02,
            extend="both" if differences.max() > reach else "neither",
        )
        bar.set_label(
            f"hit ratio minus that of {reference} (percentage points)", fontsize=style.SMALL
        )
        bar.ax.tick_params(labelsize=style.SMALL, length=2)
        bar.outline.set_visible(False)
    return figure


def _draw(axes: Axes, heat: HeatMap, norm: CenteredNorm, first: bool) -> AxesImage:
    image = axes.imshow(heat.values, cmap=COLOURS, norm=norm, aspect="auto")
    axes.set_xticks(range(len(heat.sizes)), heat.sizes)
    axes.set_yticks(range(len(heat.policies)), heat.policies if first else [])
    axes.tick_params(labelsize=style.SMALL, length=0, pad=2)
    axes.set_title(f"{heat.trace}, against {heat.reference}", fontsize=style.FONT, pad=4)
    axes.set_xlabel("frames", fontsize=style.FONT, labelpad=2)
    for side in axes.spines.values():
        side.set_visible(False)
    reach = float(norm.halfrange or 1)
    for (i, k), value in np.ndenumerate(heat.values):
        axes.text(
            k,
            i,
            value_text(float(value)),
            ha="center",
            va="center",
            fontsize=style.SMALL - 1,
            color="white" if abs(value) > DARK * reach else "black",
        )
    return image


def value_text(points: float) -> str:
    """Return a difference as a cell has it: a sign, one decimal, none from 10 up."""
    if abs(points) < 0.05:
        return "0"
    text = f"{points:+.0f}" if abs(points) >= 9.95 else f"{points:+.1f}"
    return text.replace("-", "\N{MINUS SIGN}")
