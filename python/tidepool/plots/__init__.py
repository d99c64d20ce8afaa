"""Pictures of results, made to be read at the width of a paper's column.

A module for each kind: ``curves``, ``series`` (over time), ``bars``, ``heatmap``, ``reads``
(live and simulated), ``times`` (by device), ``forecast`` (SSDs by size), ``temperatures`` (of a
disk); ``style`` is what they share.

Functions from results to a matplotlib Figure, and ``save``.  They keep no
state and touch none of matplotlib's; nothing is shown on a screen.
"""

from tidepool.plots.bars import Bar, bar_figure
from tidepool.plots.curves import Point, curve_figure
from tidepool.plots.forecast import forecast_figure
from tidepool.plots.heatmap import HeatMap, heat_figure
from tidepool.plots.reads import Reads, reads_figure
from tidepool.plots.saving import check_picture, save, svg_text
from tidepool.plots.series import Mark, Series, series_figure
from tidepool.plots.temperatures import temperature_figure
from tidepool.plots.times import TimeBar, time_figure

__all__ = [
    "Bar",
    "HeatMap",
    "Mark",
    "Point",
    "Reads",
    "Series",
    "TimeBar",
    "bar_figure",
    "check_picture",
    "curve_figure",
    "forecast_figure",
    "heat_figure",
    "reads_figure",
    "save",
    "series_figure",
    "svg_text",
    "temperature_figure",
    "time_figure",
]
