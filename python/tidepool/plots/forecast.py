"""What SSDs of several sizes would do: read time saved, and bytes written a day, by size."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from tidepool.plots import style
from tidepool.simulation.forecast import Forecast, SsdForecast

HEIGHT = 2.3
MARKED = 12  # a line with more points than this is drawn without markers
NAMED = 6  # so many sizes, at most, are named along the axis; else round ones


def forecast_figure(forecasts: Sequence[Forecast]) -> Figure:
    """Draw two panels for each forecast: the share of the read time saved, and what is written.

    The SSD that is recommended has a ring.
    """
    policies = list(dict.fromkeys(ssd.policy for found in forecasts for ssd in found.ssds))
    rows = style.legend_rows(policies, 2)
    figure, axes = style.panels(2 * len(forecasts), HEIGHT, rows)
    for i, found in enumerate(forecasts):
        saved, written = axes[2 * i : 2 * i + 2]
        for j, policy in enumerate(policies):
            ssds = sorted((s for s in found.ssds if s.policy == policy), key=lambda s: s.bytes)
            look = style.line_style(j, policy)
            if len(ssds) > MARKED:
                look = {key: value for key, value in look.items() if key != "marker"}
            if not ssds:
                continue
            sizes = [ssd.bytes for ssd in ssds]
            saved.plot(sizes, [ssd.saved_share for ssd in ssds], label=policy, **look)
            written.plot(sizes, [_written(ssd) for ssd in ssds], label=policy, **look)
        best = found.best
        if best is not None:
            ring = {"marker": "o", "markersize": 8, "markerfacecolor": "none", "zorder": 4}
            ring |= {"linestyle": "", "color": style.OPT_COLOUR}
            saved.plot(best.bytes, best.saved_share, **ring)  # type: ignore[arg-type]
            written.plot(best.bytes, _written(best), **ring)  # type: ignore[arg-type]
        timed = found.seconds is not None
        name = found.trace if len(policies) > 1 else f"{found.trace}, {policies[0]}"
        marks = sorted({ssd.bytes for ssd in found.ssds})
        style.dress(saved, name, "size of the SSD", "read time saved (%)")
        style.dress(written, name, "size of the SSD", "GB written a day" if timed else "GB written")
        style.percent_axis(saved.yaxis)
        saved.set_ylim(min(0.0, saved.get_ylim()[0]), 1)
        written.set_ylim(bottom=0)
        for axis in (saved, written):
            axis.set_xscale("log", base=2)
            axis.xaxis.set_major_locator(
                FixedLocator(marks) if len(marks) <= NAMED else LogLocator(base=4)
            )
            axis.xaxis.set_minor_locator(NullLocator())
            axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: style.bytes_text(size)))
    style.legend_below(figure, axes)
    return figure


def _written(ssd: SsdForecast) -> float:
    """Return the GB written, in a day if that is known."""
    return (ssd.written if ssd.written_per_day is None else ssd.written_per_day) / 1e9
