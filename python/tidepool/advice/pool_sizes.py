"""Advice on a server that has pools: how they should divide the buffers.

The LRU curves of the pools' relations tell a better division.  Layouts on the
way to it are replayed with the pools' own algorithms, and only that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidepool.advice.curves import Curves, divide
from tidepool.advice.pools import LEAST_POOL, floor
from tidepool.advice.setups import Setup
from tidepool.advice.sql import RECYCLE
from tidepool.advice.study import Study, Verdict
from tidepool.simulation.layouts import PoolSpec

WAYS = (0.25, 0.5, 0.75, 1.0)  # towards the sizes that curves suggest


def tried_sizes(study: Study) -> list[Verdict]:
    """Return what other sizes of the server's pools would bring, the best first.

    Fixed are pools whose memory is a promise (keep) or takes a restart (RECYCLE).
    """
    setup = study.setup
    moved = [pool for pool in setup.pools if not _is_fixed(pool)]
    if not moved:
        return []
    sizes = _suggested(study, moved)
    setups = []
    for way in WAYS:
        wanted = {
            pool.name: pool.frames + round(way * (size - pool.frames))
            for pool, size in zip(moved, sizes, strict=True)
        }
        pools = tuple(
            replace(pool, frames=wanted.get(pool.name, pool.frames)) for pool in setup.pools
        )
        setups.append(Setup(setup.spec, setup.frames, pools))
    verdicts = study.tried("trying sizes of pools", [each for each in setups if each != setup])
    return sorted(verdicts, key=lambda verdict: -verdict.chosen_by)


def _suggested(study: Study, moved: Sequence[PoolSpec]) -> list[int]:
    """Return the sizes that the curves suggest for these pools."""
    setup, curves = study.setup, Curves(study)
    everything = frozenset(r for prepared in study.recordings for r in prepared.blocks)
    assigned = [frozenset(pool.relations) for pool in setup.pools]
    default = setup.frames - sum(pool.frames for pool in setup.pools)
    groups = [
        everything.difference(*assigned),
        *(frozenset(pool.relations) for pool in moved),
    ]
    sizes = [default, *(pool.frames for pool in moved)]
    least = [min(default, floor(setup.frames)), *(min(p.frames, LEAST_POOL) for p in moved)]
    with study.bar("curves of pools", len(groups)) as advance:
        parts = []
        for group in groups:
            parts.append(curves.of(group))
            advance(1)
    return divide(parts, sizes, least)[1:]


def _is_fixed(pool: PoolSpec) -> bool:
    return pool.name == RECYCLE or pool.spec.policy.name == "keep"
