"""Tidepool: replacement policies for buffer pools, simulated and explained."""

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
