"""The memory that a policy costs, as `tidepool policies` states it and as it is allocated."""

from __future__ import annotations

import pytest

from tidepool import Policy, parse_policy, policies
from tidepool._sim import ffi, lib

FRAME_LIMIT = 64  # bytes per frame, of any policy
GHOST_LIMIT = 32  # bytes per ghost
HEADER_LIMIT = 2048  # bytes per pool


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_within_limits(policy: Policy) -> None:
    assert policy.frame_bytes <= FRAME_LIMIT
    assert policy.ghost_bytes <= GHOST_LIMIT


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_within_limits_with_as_many_ghosts_as_can_be(policy: Policy) -> None:
    params = ffi.new("double[]", [param.max for param in policy.params] + [0.0] * 8)
    ghosts = lib.tp_policy_ghosts_per_frame(policy.handle, params)
    small, large = (lib.tp_block_size(policy.handle, params, frames) for frames in (1000, 2000))
    assert (large - small) / 1000 <= FRAME_LIMIT + ghosts * GHOST_LIMIT


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_what_is_stated_is_what_is_allocated(policy: Policy) -> None:
    params = parse_policy(policy.name).array()
    small, large = (lib.tp_block_size(policy.handle, params, frames) for frames in (1000, 2000))
    per_frame = policy.frame_bytes + policy.ghosts_per_frame * policy.ghost_bytes
    assert large - small == 1000 * per_frame
    assert small - 1000 * per_frame <= HEADER_LIMIT + policy.ghost_bytes
