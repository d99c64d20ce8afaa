"""Simulation: replay traces against policies, alone or in grids, exactly or by sampling."""

from tidepool.simulation.curves import Curve, exact_lru_curve, sampled_curves
from tidepool.simulation.grid import Cell, simulate
from tidepool.simulation.replay import Options, RelationResult, Result, Sampling
from tidepool.simulation.sizes import Size, count_pages, parse_size

__all__ = [
    "Cell",
    "Curve",
    "Options",
    "RelationResult",
    "Result",
    "Sampling",
    "Size",
    "count_pages",
    "exact_lru_curve",
    "parse_size",
    "sampled_curves",
    "simulate",
]
