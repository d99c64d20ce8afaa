"""Replays of traces against policies, alone or in grids, exact or sampled.

- ``options``, ``results``: what is asked of a replay, and what it counted;
- ``replay``: one replay; ``sampler``, ``sampled``: one of a sample, and its estimates;
- ``layouts``, ``layout_replay``: several pools that divide the frames;
- ``grid``: many replays on threads or a cluster; ``curves``: miss-ratio curves;
- ``sizes``: cache sizes as users write them; ``events``: chunks as the C layer takes them;
- ``future``: the next use of each page, for OPT;
- ``ssd``, ``offline``, ``devices``: an SSD below memory, its OPT, device times;
- ``below``: an SSD below a server, from its recording; ``forecast``: of several sizes.
"""

from tidepool.simulation.below import (
    FollowingTier,
    has_physical_io,
    replay_recorded_ssd,
    simulate_below,
)
from tidepool.simulation.curves import Curve, exact_lru_curve, sampled_curves
from tidepool.simulation.devices import DEVICES, Device, parse_device
from tidepool.simulation.forecast import Endurance, Forecast, SsdForecast, forecast_ssd
from tidepool.simulation.grid import Cell, simulate
from tidepool.simulation.layout_replay import LayoutReplay, simulate_layouts
from tidepool.simulation.layouts import (
    Layout,
    LayoutResult,
    PoolResult,
    PoolSpec,
    main_pools,
    recorded_layout,
    relation_numbers,
)
from tidepool.simulation.options import Options, Sampling
from tidepool.simulation.results import RelationResult, Result
from tidepool.simulation.sizes import Size, count_pages, parse_memory, parse_size
from tidepool.simulation.ssd import Ssd, SsdPolicySpec, SsdResult, parse_ssd_policy

__all__ = [
    "DEVICES",
    "Cell",
    "Curve",
    "Device",
    "Endurance",
    "FollowingTier",
    "Forecast",
    "Layout",
    "LayoutReplay",
    "LayoutResult",
    "Options",
    "PoolResult",
    "PoolSpec",
    "RelationResult",
    "Result",
    "Sampling",
    "Size",
    "Ssd",
    "SsdForecast",
    "SsdPolicySpec",
    "SsdResult",
    "count_pages",
    "exact_lru_curve",
    "forecast_ssd",
    "has_physical_io",
    "main_pools",
    "parse_device",
    "parse_memory",
    "parse_size",
    "parse_ssd_policy",
    "recorded_layout",
    "relation_numbers",
    "replay_recorded_ssd",
    "sampled_curves",
    "simulate",
    "simulate_below",
    "simulate_layouts",
]
