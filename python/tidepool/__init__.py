"""Tidepool: replacement policies for buffer pools, simulated and explained."""

from tidepool.errors import TidepoolError
from tidepool.policies import Param, Policy, PolicySpec, find_policy, parse_policy, policies
from tidepool.pool import Pool

__all__ = [
    "Param",
    "Policy",
    "PolicySpec",
    "Pool",
    "TidepoolError",
    "find_policy",
    "parse_policy",
    "policies",
]
