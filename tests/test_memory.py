"""The memory that a policy costs, as `tidepool policies` states it and as it is allocated."""

from __future__ import annotations

import pytest

from tidepool import Policy, parse_policy, policies
from tidepool._sim import ffi, lib

FRAME_LIMIT = 64  # bytes per frame, of any policy
GHOST_LIMIT = 32  # bytes per ghost
HEADER_LIMIT = 2052  # bytes per pool
CHUNK, CHUNK_BYTES = 256, 8  # of members; where a pool, or none, has it
SMALL, LARGE = 4 * CHUNK, 8 * CHUNK  # frames


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_within_limits(policy: Policy) -> None:
    assert policy.frame_bytes <= FRAME_LIMIT
    assert policy.ghost_bytes <= GHOST_LIMIT


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_within_limits_with_as_many_ghosts_as_can_be(policy: Policy) -> None:
    params = ffi.new("double[]", [param.max for param in policy.params] + [0.0] * 8)
    ghosts = lib.tp_policy_ghosts_per_frame(policy.handle, params)
    small, large = (lib.tp_block_size(policy.handle, params, frames) for frames in (SMALL, LARGE))
    more = LARGE - SMALL
    chunks = more // CHUNK * CHUNK_BYTES
    assert large - small <= more * (FRAME_LIMIT + ghosts * GHOST_LIMIT) + chunks


@pytest.mark.parametrize("policy", policies(), ids=lambda policy: policy.name)
def test_what_is_stated_is_what_is_allocated(policy: Policy) -> None:
    params = parse_policy(policy.name).array()
    small, large = (lib.tp_block_size(policy.handle, params, frames) for frames in (SMALL, LARGE))
    per_frame = policy.frame_bytes + policy.ghosts_per_frame * policy.ghost_bytes
    more = LARGE - SMALL
    assert large - small == more * per_frame + more // CHUNK * CHUNK_BYTES
    pool = small - SMALL * per_frame - SMALL // CHUNK * CHUNK_BYTES
    assert pool <= HEADER_LIMIT + policy.ghost_bytes
