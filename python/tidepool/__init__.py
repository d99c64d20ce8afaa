"""Tidepool: replacement policies for buffer pools, simulated and explained.

- ``policies``, ``pool``, ``scans``: the policies, one operation at a time;
- ``traces``: page traces and their files; ``generators``: traces made by models;
- ``options``, ``notation``: what users ask for, as they write it;
- ``simulation``: replays; ``advice``: what they say to do; ``plots``: pictures of results;
- ``cli``: the command; ``amounts``: numbers as people read them;
- ``server``, ``scratch``: PostgreSQL instances; ``workloads``, ``demo``: work for them.
"""

from tidepool.errors import TidepoolError
from tidepool.policies import Param, Policy, PolicySpec, find_policy, parse_policy, policies
from tidepool.pool import Pool
from tidepool.scans import Scans
from tidepool.traces import InMemoryTrace, load, open_trace, sample_trace, trace_info, write_trace

__all__ = [
    "InMemoryTrace",
    "Param",
    "Policy",
    "PolicySpec",
    "Pool",
    "Scans",
    "TidepoolError",
    "find_policy",
    "load",
    "open_trace",
    "parse_policy",
    "policies",
    "sample_trace",
    "trace_info",
    "write_trace",
]
