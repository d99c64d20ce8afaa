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
NAMES = 1.3  # inches: width of the policies' names, at least
USUAL = 90  # percent of the cells that the range of colours holds at least
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
    longest = max(len(policy) for heat in maps for policy in heat.policies)
    names = max(NAMES, style.LETTER * longest + 0.3)
    abreast = len(references) * (0.31 * widest + 0.25) + names
    width = max(style.COLUMN, min(style.PAGE, abreast))
    each = (width - names) / len(references)  # inches that a map and its captions have
    titles = {(m.trace, m.reference): _title(m, each) for m in maps}
    scales = {to: style.wrapped(_scale(to), each) for to in references}
    rows = max(map(len, scales.values())) - 1
    for trace in traces:
        rows += max(len(titles[trace, to]) for to in references if (trace, to) in titles) - 1
    figure = style.Picture(
        figsize=(
            width,
            sum(tallest) * CELL + 0.62 * len(traces) + 0.45 + 1.15 * style.LINE * rows,
        ),
        layout="constrained",
    )
    grid = figure.subplots(
        len(traces), len(references), squeeze=False, height_ratios=[n + 1 for n in tallest]
    )
    for j, reference in enumerate(references):
        column = [heat for heat in maps if heat.reference == reference]
        reach, clipped = _reach(np.concatenate([heat.values.ravel() for heat in column]))
        norm = CenteredNorm(0, reach)
        for heat in column:
            axes = grid[traces.index(heat.trace)][j]
            title = "\n".join(titles[heat.trace, reference])
            image = _draw(axes, heat, norm, title, first=j == 0)
        bar = figure.colorbar(
            image,
            ax=[grid[i][j] for i in range(len(traces))],
            location="bottom",
            shrink=0.7,
            aspect=35,
            extend="both" if clipped else "neither",
            pad=0.02,
        )
        bar.set_label("\n".join(scales[reference]), fontsize=style.SMALL)
        bar.ax.tick_params(labelsize=style.SMALL, length=2)
        bar.outline.set_visible(False)
    return figure


def _reach(values: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the end of the colours' range, and whether values lie beyond it.

    A few extremes (usually MRU) must not make all the others look alike: they
    get the last colour.
    """
    sizes = np.abs(values)
    most, usual = float(sizes.max()), float(np.percentile(sizes, USUAL, method="higher"))
    if most <= 2 * usual or usual == 0:
        return max(most, 1e-9), False
    return usual, True


def _title(heat: HeatMap, width: float) -> list[str]:
    """Return a map's title as lines of this width in inches."""
    trace, reference = f"{heat.trace},", f"against {heat.reference}"
    whole = style.wrapped(f"{trace} {reference}", width, style.FONT)
    if len(whole) == 1:
        return whole
    return [line for part in (trace, reference) for line in style.wrapped(part, width, style.FONT)]


def _scale(reference: str) -> str:
    return f"hit ratio minus that of {reference} (percentage points)"


def _draw(axes: Axes, heat: HeatMap, norm: CenteredNorm, title: str, first: bool) -> AxesImage:
    image = axes.imshow(heat.values, cmap=COLOURS, norm=norm, aspect="auto")
    axes.set_xticks(range(len(heat.sizes)), heat.sizes)
    axes.set_yticks(range(len(heat.policies)), heat.policies if first else [])
    axes.tick_params(labelsize=style.SMALL, length=0, pad=2)
    axes.set_title(title, fontsize=style.FONT, pad=4, parse_math=False)
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
