"""Pools and layouts of pools, as they are written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidepool.errors import TidepoolError
from tidepool.notation import continues
from tidepool.options.input import Input
from tidepool.options.values import GivenSize, items_of, parse_given_size
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Layout, PoolSpec, relation_numbers

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
    while items and continues(items[0]):
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


def parse_pools(text: str) -> tuple[GivenPool, ...]:
    """Return the pools of a list between semicolons."""
    return tuple(parse_pool(item) for item in items_of(text, "pool", ";"))


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
