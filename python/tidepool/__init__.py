"""Tidepool: replacement policies for buffer pools, simulated and explained.

- ``experiments``: simulate, curve, compare and pools, the functions named below;
- ``policies``, ``pool``, ``scans``: the policies, one operation at a time;
- ``prototypes``: policies in Python;
- ``traces``: page traces and their files; ``generators``: traces made by models;
- ``options``, ``notation``: what users ask for, as they write it;
- ``simulation``: replays; ``advice``: what they say to do; ``plots``: pictures of results;
- ``cli``: the command; ``amounts``: numbers as people read them;
- ``server``, ``scratch``: PostgreSQL instances; ``workloads``, ``demo``: work for them.
"""

from importlib.metadata import version

from tidepool.errors import PolicyError, TidepoolError, TraceError
from tidepool.experiments.results import Comparisons, CurveSet, Layouts, Results
from tidepool.experiments.study import compare, curve, pools, simulate
from tidepool.policies import Param, Policy, PolicySpec, find_policy, parse_policy, policies
from tidepool.pool import Pool
from tidepool.prototypes import REFUSED, Access, PythonPolicy, python_policy
from tidepool.scans import Scans
from tidepool.traces import (
    InMemoryTrace,
    Trace,
    load,
    open_trace,
    sample_trace,
    trace_info,
    write_trace,
)

__version__ = version("tidepool")

__all__ = [
    "REFUSED",
    "Access",
    "Comparisons",
    "CurveSet",
    "InMemoryTrace",
    "Layouts",
    "Param",
    "Policy",
    "PolicyError",
    "PolicySpec",
    "Pool",
    "PythonPolicy",
    "Results",
    "Scans",
    "TidepoolError",
    "Trace",
    "TraceError",
    "__version__",
    "compare",
    "curve",
    "find_policy",
    "load",
    "open_trace",
    "parse_policy",
    "policies",
    "pools",
    "python_policy",
    "sample_trace",
    "simulate",
    "trace_info",
    "write_trace",
]
