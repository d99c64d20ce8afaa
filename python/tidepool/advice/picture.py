"""The picture of sizes: read time by size, under today's algorithm and the best."""

from __future__ import annotations

from matplotlib.figure import Figure

from tidepool.advice.report import Report, SizePoint
from tidepool.plots import style
from tidepool.simulation.sizes import PAGE_BYTES

HEIGHT = 2.6
BAND = 1.96


def size_figure(report: Report) -> Figure:
    """Draw read time by size, with a mark at today's."""
    figure, (axis,) = style.panels(1, HEIGHT, legend_rows=1)
    frames = [line.frames for line in report.sizes]
    labels = [report.where.algorithm]
    curves = [[line.today for line in report.sizes]]
    if report.best != report.where.algorithm:
        labels.append(report.best)
        curves.append([line.best for line in report.sizes])
    scale, unit = (1000, "s") if report.where.read_ms >= 10_000 else (1, "ms")
    for i, (label, points) in enumerate(zip(labels, curves, strict=True)):
        look = style.line_style(i, label)
        values = [point.read_ms / scale for point in points]
        axis.plot(frames, values, label=label, **look)
        axis.fill_between(
            frames,
            [_at(point, -BAND) / scale for point in points],
            [_at(point, BAND) / scale for point in points],
            color=look["color"],
            alpha=0.15,
            linewidth=0,
        )
    here = report.where.frames
    axis.axvline(here, color="#777777", linewidth=0.8, linestyle=(0, (2, 2)))
    axis.annotate(
        "you are here", (here, 1), xycoords=("data", "axes fraction"), xytext=(3, -8),
        textcoords="offset points", fontsize=style.SMALL, color="#555555",
    )  # fmt: skip
    style.dress(axis, None, "size of shared buffers", f"read time ({unit})")
    axis.set_ylim(0, None)
    axis.set_xlim(0, None)
    axis.xaxis.set_major_formatter(lambda x, _: style.bytes_text(x * PAGE_BYTES) if x else "0")
    axis.locator_params(axis="x", nbins=5)
    style.legend_below(figure, [axis])
    return figure


def _at(point: SizePoint, errors: float) -> float:
    return max(0.0, point.read_ms * (1 + errors * point.error))
