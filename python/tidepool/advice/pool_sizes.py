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
from tidepool.traces.provenance import DEFAULT

WAYS = (0.25, 0.5, 0.75, 1.0)  # towards the sizes that curves suggest


def tried_sizes(study: Study) -> list[Verdict]:
    """Return what other sizes of the server's pools would bring, the best first.

    Fixed are pools whose memory is a promise (keep) or takes a restart (RECYCLE).
    What they give or take goes to the REMAINDER pool, if there is one, and
    otherwise to DEFAULT.
    """
    setup = study.setup
    rest = remainder(study)
    moved = [pool for pool in setup.pools if not _is_fixed(pool) and pool.name != rest]
    if not moved:
        return []
    sizes = _suggested(study, moved)
    setups = []
    for way in WAYS:
        wanted = {
            pool.name: pool.frames + round(way * (size - pool.frames))
            for pool, size in zip(moved, sizes, strict=True)
        }
        taken = sum(wanted[pool.name] - pool.frames for pool in moved)
        wanted |= {pool.name: pool.frames - taken for pool in setup.pools if pool.name == rest}
        pools = tuple(
            replace(pool, frames=wanted.get(pool.name, pool.frames)) for pool in setup.pools
        )
        setups.append(Setup(setup.spec, setup.frames, pools))
    verdicts = study.tried("trying sizes of pools", [each for each in setups if each != setup])
    return sorted(verdicts, key=lambda verdict: -verdict.chosen_by)


def remainder(study: Study) -> str:
    """Return the name of the pool that has what the others leave; DEFAULT if no other does."""
    return next((pool.name for pool in study.recorded.pools if pool.remainder), DEFAULT)


def _suggested(study: Study, moved: Sequence[PoolSpec]) -> list[int]:
    """Return the sizes that the curves suggest for these pools."""
    setup, curves = study.setup, Curves(study)
    recorded = {pool.name: pool for pool in study.recorded.pools}
    rest = next((pool for pool in setup.pools if pool.name == remainder(study)), None)
    if rest is None:
        everything = frozenset(r for prepared in study.recordings for r in prepared.blocks)
        of_others = [frozenset(pool.relations) for pool in setup.pools]
        rest = PoolSpec(
            DEFAULT,
            setup.spec,
            setup.frames - sum(pool.frames for pool in setup.pools),
            tuple(everything.difference(*of_others)),
        )
        least = [min(rest.frames, floor(setup.frames))]
    else:
        least = [rest.frames if _is_fixed(rest) else min(rest.frames, LEAST_POOL)]
    pools = [rest, *moved]
    most = [setup.frames]
    for pool in moved:
        limits = recorded[pool.name]
        least.append(min(pool.frames, max(LEAST_POOL, limits.least)))
        most.append(max(pool.frames, limits.most or setup.frames))
    with study.bar("curves of pools", len(pools)) as advance:
        parts = []
        for pool in pools:
            parts.append(curves.of(frozenset(pool.relations)))
            advance(1)
    return divide(parts, [pool.frames for pool in pools], least, most)[1:]


def _is_fixed(pool: PoolSpec) -> bool:
    return pool.name == RECYCLE or pool.spec.policy.name == "keep"
