"""Layouts: several pools that divide the frames among them, as in a server with named pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tidepool.errors import TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.results import Result
from tidepool.traces.columns import column, references
from tidepool.traces.model import Trace
from tidepool.traces.provenance import DEFAULT, LARGEST_POOL, Recorded, RecordedPool


@dataclass(frozen=True)
class PoolSpec:
    """A named pool: its policy, its frames, and the numbers of the relations assigned to it."""

    name: str
    spec: PolicySpec
    frames: int
    relations: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Pools of a number of frames in all; DEFAULT has the frames and relations that are left.

    ``resize`` lists (reference, pool, frames): before that reference, counted
    from 0, frames move from DEFAULT to the pool, or back.  Raises TidepoolError
    for pools that cannot be.

    A layout ``as_recorded`` has the pools of a recording, by their numbers; the
    trace says which pool each page came into, and when pools changed.
    """

    default: PolicySpec
    frames: int
    pools: tuple[PoolSpec, ...] = ()
    resize: tuple[tuple[int, str, int], ...] = ()
    name: str = ""  # for people
    as_recorded: bool = False
    numbers: tuple[int, ...] = field(default=())

    def __post_init__(self) -> None:
        _check_policies((self.default, *(pool.spec for pool in self.pools)))
        _check_names(self.pools)
        _check_relations(self.pools)
        _check_sizes(self)
        if len(self.pools) > LARGEST_POOL or max(self.numbers, default=0) > LARGEST_POOL:
            raise TidepoolError(f"there can be at most {LARGEST_POOL} pools besides {DEFAULT}")

    def __str__(self) -> str:
        return self.name or ", ".join(
            [str(self.default)] * (not self.pools)
            + [f"{DEFAULT}={self.default}"] * bool(self.pools)
            + [f"{pool.name}={pool.spec}" for pool in self.pools]
        )

    def numbered(self) -> dict[int, PoolSpec]:
        """Return all pools by their numbers, DEFAULT among them."""
        numbers = self.numbers or range(1, len(self.pools) + 1)
        left = self.frames - sum(pool.frames for pool in self.pools)
        return {
            0: PoolSpec(DEFAULT, self.default, left),
            **dict(zip(numbers, self.pools, strict=True)),
        }


def recorded_layout(recorded: Recorded, default: PolicySpec | None = None) -> Layout:
    """Return the pools that a server had when a recording began.

    ``default`` replaces the policy of DEFAULT.
    """
    first, *named = recorded.pools
    return Layout(
        default or recorded_policy(first, is_default=True),
        sum(pool.buffers for pool in recorded.pools),
        tuple(PoolSpec(pool.name, recorded_policy(pool), pool.buffers) for pool in named),
        as_recorded=True,
        numbers=tuple(pool.number for pool in named),
    )


def is_recorded_layout(recorded: Recorded | None, layout: Layout, batch: int) -> bool:
    """Return whether the trace's server ran this, as replay.is_as_recorded has it."""
    return (
        recorded is not None
        and recorded.reports
        and layout.as_recorded
        and batch == recorded.batch
        and replace(layout, name="") == recorded_layout(recorded)
    )


def recorded_policy(pool: RecordedPool, is_default: bool = False) -> PolicySpec:
    """Return the policy of a recorded pool; raise PolicyError if there is none of its name."""
    return parse_policy(pool.policy_of_default if is_default else pool.policy)


@dataclass(frozen=True)
class PoolResult:
    """What was counted in one pool.

    Requests are the hits on its pages and the pages that came into it;
    ``refused`` pages went to DEFAULT instead, for want of a frame.
    """

    pool: str
    policy: str
    params: dict[str, Any]
    frames: int  # at the end
    requests: int
    misses: int
    hit_ratio: float
    refused: int
    correlated: int
    evictions: int
    write_backs: int
    forgotten: int
    predicted_evictions: int = 0  # these four: see REASONS
    frequency_evictions: int = 0
    recency_evictions: int = 0
    premature_evictions: int = 0


@dataclass(frozen=True)
class LayoutResult(Result):
    """The result of a replay into a layout: sums, and each pool's.

    ``policy`` and ``params`` are DEFAULT's, ``frames`` all pools' together.
    """

    layout: str = ""
    evictions: int = 0
    pools: tuple[PoolResult, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON takes it."""
        pools = [vars(pool) for pool in self.pools]
        return super().to_json() | {
            "layout": self.layout, "evictions": self.evictions, "pools": pools
        }  # fmt: skip


# ---- what cannot be ----


def _check_policies(specs: Iterable[PolicySpec]) -> None:
    for spec in specs:
        if spec.policy.handle is None:
            raise TidepoolError(f'pools have online policies, "{spec}" is none')
        if spec.policy.reads_extents:
            raise TidepoolError(f'policy "{spec}" is for SSDs, not for pools in memory')


def _check_names(pools: Sequence[PoolSpec]) -> None:
    seen: set[str] = set()
    for pool in pools:
        if pool.name.upper() == DEFAULT:
            raise TidepoolError(
                f"the pool {DEFAULT} has what other pools leave",
                "Give its policy with --policy, and the size of all pools with --frames.",
            )
        if pool.name in seen:
            raise TidepoolError(f'pool "{pool.name}" is given twice')
        seen.add(pool.name)


def _check_relations(pools: Sequence[PoolSpec]) -> None:
    owner: dict[int, str] = {}
    for pool in pools:
        for relation in pool.relations:
            if relation in owner:
                raise TidepoolError(
                    f'relation {relation} is assigned to pool "{owner[relation]}"'
                    f' and to pool "{pool.name}"'
                )
            owner[relation] = pool.name


def _check_sizes(layout: Layout) -> None:
    sizes = {pool.name: pool.frames for pool in layout.pools}
    _check_fit(layout, sizes, "")
    for reference, name, frames in sorted(layout.resize):
        if name not in sizes:
            known = ", ".join(sizes) or "none"
            raise TidepoolError(f'no pool "{name}" to resize', f"There is: {known}.")
        sizes[name] = frames
        _check_fit(layout, sizes, f" from reference {reference} on")


def _check_fit(layout: Layout, sizes: Mapping[str, int], when: str) -> None:
    claimed = sum(sizes.values())
    if claimed >= layout.frames:
        listed = ", ".join(f"{name} {frames:,}" for name, frames in sizes.items())
        raise TidepoolError(
            f"the pools have {claimed:,} frames{when}, of {layout.frames:,} in all:"
            f" none is left for {DEFAULT}",
            f"They have: {listed}.  Make one smaller, or raise --frames.",
        )


# ---- relations by their names ----


def relation_numbers(trace: Trace, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of a trace's relations.

    A relation is called by its name, by its name without the schema if only one
    has it, or, if it has no name, by its number.  Raises TidepoolError for one
    that the trace does not have.
    """
    full = {name: number for number, name in trace.relations.items()}
    short: dict[str, list[int]] = {}
    for name, number in full.items():
        short.setdefault(name.rpartition(".")[2], []).append(number)
    found = []
    numbers: set[int] | None = None  # of the trace, once they are needed
    for name in names:
        if name in full:
            found.append(full[name])
            continue
        if len(short.get(name, [])) == 1:
            found.append(short[name][0])
            continue
        if len(short.get(name, [])) > 1:
            raise TidepoolError(
                f'{trace.name}: several relations are called "{name}"',
                "Give the name with its schema.",
            )
        numbers = _numbers(trace) if numbers is None else numbers
        if not name.isdigit() or int(name) not in numbers:
            known = [*full, *(str(n) for n in sorted(numbers - set(full.values())))]
            more = ", …" if len(known) > 20 else ""
            raise TidepoolError(
                f'{trace.name}: the trace has no relation "{name}"',
                f"It has: {', '.join(known[:20])}{more}.",
            )
        found.append(int(name))
    return tuple(found)


def main_pools(trace: Trace) -> dict[int, int]:
    """Return for each relation of a recording the pool that most references to it name."""
    counts: Counter[tuple[int, int]] = Counter()
    for chunk in trace.chunks():
        rows = references(chunk)
        both = (chunk.page[rows] >> np.uint64(34)) << np.uint64(8) | column(chunk, "pool", 0)[rows]
        for each, count in zip(*np.unique(both, return_counts=True), strict=True):
            counts[int(each) >> 8, int(each) & 255] += int(count)
    return {relation: pool for (relation, pool), _ in reversed(counts.most_common())}


def _numbers(trace: Trace) -> set[int]:
    found: set[int] = set()
    for chunk in trace.chunks():
        found.update(np.unique(chunk.page >> np.uint64(34)).tolist())
    return found
