"""Pools of more frames than 16 bits can number: the policies' invariants hold there, too."""

from __future__ import annotations

import numpy as np
import pytest

from tidepool import policies
from tidepool.simulation import Ssd, parse_ssd_policy
from tidepool.simulation.events import Events
from tidepool.simulation.ssd import Tier
from tidepool.traces import Chunk

FRAMES = 70_000


def references() -> np.ndarray:
    """Fill the pool, go over what came last again, and replace most of it."""
    random = np.random.default_rng(1)
    scan = np.arange(FRAMES + 1000)
    hot = random.integers(FRAMES // 2, FRAMES, 30_000)
    return np.concatenate([scan, hot, scan + FRAMES, hot, hot + FRAMES]).astype(np.uint64)


@pytest.mark.parametrize("policy", [p.name for p in policies() if p.handle is not None])
def test_invariants(policy: str) -> None:
    """A tier's cache is the one that can be fed at full speed, and then checked."""
    tier = Tier(Ssd(parse_ssd_policy(policy), FRAMES, write_buffer=0))
    pages = references()
    for begin in range(0, len(pages), FRAMES):
        tier.feed(Events(Chunk(page=pages[begin : begin + FRAMES]), begin).pointer)
        assert tier.check() == []
    result = tier.result()
    assert 0 < result.hits < result.reads == len(pages)
    if policy != "keep":
        assert result.reads - result.hits - result.refused > FRAMES
