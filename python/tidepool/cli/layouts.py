"""Pools and layouts of pools on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.cli.bar import bar
from tidepool.cli.cluster import Backend
from tidepool.cli.grids import warmup_too_long
from tidepool.cli.inputs import Input
from tidepool.cli.options import GivenSize, Resize, parse_given_size
from tidepool.errors import PolicyError, TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import (
    Layout,
    LayoutResult,
    Options,
    PoolSpec,
    recorded_layout,
    relation_numbers,
    simulate_layouts,
)
from tidepool.traces import Recorded, Trace

POOL_METAVAR = "NAME=POLICY[:k=v,…],SIZE[:REL,…]"


@dataclass(frozen=True)
class GivenPool:
    """A pool as it was written: sizes and relations mean something for a trace only."""

    name: str
    spec: PolicySpec
    size: GivenSize
    relations: tuple[str, ...]

    def of(self, input: Input) -> PoolSpec:
        """Return it for this trace."""
        return PoolSpec(
            self.name,
            self.spec,
            input.frames(self.size),
            relation_numbers(input.trace, self.relations),
        )


@dataclass(frozen=True)
class GivenLayout:
    """Pools as they were written; the policy of DEFAULT may be left open."""

    name: str
    default: PolicySpec | None
    pools: tuple[GivenPool, ...]

    def of(self, input: Input, frames: int, default: PolicySpec) -> Layout:
        """Return it for this trace: of so many frames in all."""
        pools = tuple(pool.of(input) for pool in self.pools)
        return Layout(self.default or default, frames, pools, name=self.name)


def parse_pool(text: str) -> GivenPool:
    """Return what NAME=POLICY[:k=v,…],SIZE[:REL,…] is."""
    name, equals, rest = text.partition("=")
    policy, *items = rest.split(",")
    while items and "=" in items[0].partition(":")[0]:
        policy += f",{items.pop(0)}"
    if not equals or not re.fullmatch(r"[^\s:,;=][^:,;=]*", name.strip()) or not items:
        raise TidepoolError(
            f'invalid pool "{text}"',
            f"Write it as {POOL_METAVAR}, as in hot=arc,64MB:orders,items.",
        )
    size, colon, first = items[0].partition(":")
    relations = tuple(relation.strip() for relation in (first, *items[1:])) if colon else ()
    if (len(items) > 1 and not colon) or not all(relations):
        raise TidepoolError(
            f'invalid pool "{text}"', "Write relations after the size: 64MB:orders,items."
        )
    return GivenPool(
        name.strip(),
        parse_policy(policy.strip()),
        parse_given_size(size.strip()),
        tuple(dict.fromkeys(relations)),
    )


def parse_layout(text: str) -> GivenLayout:
    """Return a layout: a file with a pool in each line, or pools separated by semicolons.

    A policy alone is DEFAULT's.
    """
    if os.path.isfile(text):
        lines = Path(text).read_text(encoding="utf-8").splitlines()
        return _layout(Path(text).stem, (line.partition("#")[0] for line in lines), text)
    items = [item.strip() for item in text.split(";")]
    return _layout("; ".join(filter(None, items)), items, text)


def _layout(name: str, items: Iterator[str] | Sequence[str], text: str) -> GivenLayout:
    default: PolicySpec | None = None
    pools = []
    for item in filter(None, map(str.strip, items)):
        if "=" in item and ":" not in item.partition("=")[0]:
            pools.append(parse_pool(item))
        elif default is None:
            default = parse_policy(item)
        else:
            raise TidepoolError(f'layout "{text}": two policies of DEFAULT')
    if not pools:
        raise TidepoolError(
            f'layout "{text}" has no pools',
            f'It is a file, or pools separated by semicolons: "{POOL_METAVAR};…".',
        )
    return GivenLayout(name, default, tuple(pools))


def resizes_of(input: Input, resizes: Sequence[Resize]) -> tuple[tuple[int, str, int], ...]:
    """Return the resizes of pools, which must all name one."""
    for resize in resizes:
        if resize.pool is None:
            raise TidepoolError("a resize names no pool", "Write it as REFERENCE:NAME=SIZE.")
    return tuple((r.reference, r.pool or "", input.frames(r.size)) for r in resizes)


def layout_as_recorded(
    trace: Trace, recorded: Recorded, default: PolicySpec | None = None
) -> Layout:
    """Return the pools of a recording; raise TidepoolError if they cannot be replayed."""
    if recorded.sample_rate < 1:
        raise TidepoolError(
            f"{trace.name}: a sample of the pages does not show what happened in pools",
            "Give --policy and --frames, or record all pages.",
        )
    try:
        return recorded_layout(recorded, default)
    except PolicyError as error:
        raise TidepoolError(f"{trace.name}: recorded with an {error}", error.hint) from None


def replay_layouts(
    input: Input, layouts: Sequence[Layout], seed: int, options: Options, where: Backend
) -> list[LayoutResult]:
    """Replay a trace into each layout."""
    length = input.trace.length
    total = None if length is None else length * len(layouts)
    with bar(f"simulating {input.name}", total) as advance:
        results = simulate_layouts(
            input.trace, layouts, seed, options, where.executor, where.workers, advance
        )
    if any(result.requests == 0 for result in results):
        raise warmup_too_long(input)
    return results
