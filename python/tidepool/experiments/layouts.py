"""Layouts of pools of one trace: what to replay, and what was counted in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidepool.amounts import count
from tidepool.errors import PolicyError, TidepoolError
from tidepool.experiments.backend import Backend
from tidepool.experiments.plan import MissingError, layout_as_recorded, warmup_too_long
from tidepool.options import Amount, GivenLayout, GivenSize, Input
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import (
    Layout,
    LayoutResult,
    Options,
    main_pools,
    simulate_layouts,
)
from tidepool.traces import Recorded, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AS_RECORDED = "as recorded"
USUAL = "clock"  # the policy of one pool, if nothing says which
NAMED = 3  # relations that the name of a group lists


@dataclass(frozen=True)
class Group:
    """Relations that every layout has in one pool; without a name, all others."""

    name: str
    relations: frozenset[int]


@dataclass(frozen=True)
class Counted:
    """References to a group of relations, and how many of them missed."""

    requests: int
    misses: int

    @property
    def hit_ratio(self) -> float:
        """The share of references that hit."""
        return 1 - self.misses / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class Compared:
    """Layouts of one trace, and what was counted in each."""

    trace: Trace
    layouts: Sequence[Layout]
    results: Sequence[LayoutResult]
    warmup: int

    @cached_property
    def groups(self) -> list[Group]:
        """The relations that layouts set apart, and last, if there are any, the others.

        Relations are together if no layout parts them.
        """
        apart: dict[tuple[str, ...], set[int]] = {}
        for relation in sorted({r.relation for r in self.results[0].relations}):
            pools = tuple(self._pool_of(layout, relation) for layout in self.layouts)
            apart.setdefault(pools, set()).add(relation)
        if len(apart) < 2:
            return []
        others = apart.pop(("",) * len(self.layouts), None)
        found = [Group(self._name(relations), frozenset(relations)) for relations in apart.values()]
        if others:
            found.append(Group("others", frozenset(others)))
        return found

    def _pool_of(self, layout: Layout, relation: int) -> str:
        """Return the name of the pool that a relation is assigned to; DEFAULT has none here."""
        if layout.as_recorded:
            number = self._recorded.get(relation, 0)
            return "" if number == 0 else str(number)
        return next((pool.name for pool in layout.pools if relation in pool.relations), "")

    @cached_property
    def _recorded(self) -> dict[int, int]:
        """Of a recording, the numbers of the pools that most references to relations are in."""
        return main_pools(self.trace)

    def _name(self, relations: set[int]) -> str:
        names = [self.trace.relations.get(number, str(number)) for number in sorted(relations)]
        short = [name.removeprefix("public.") for name in names]
        more = len(short) - NAMED
        return ", ".join(short[:NAMED] + [f"and {more} more"] * (more > 0))

    @staticmethod
    def of_group(result: LayoutResult, group: Group) -> Counted:
        """Return the counts of a group in a layout."""
        mine = [each for each in result.relations if each.relation in group.relations]
        return Counted(sum(each.requests for each in mine), sum(each.misses for each in mine))


# ---- replays ----


@dataclass(frozen=True)
class LayoutPlan:
    """What is asked of each trace; what is left open is as the server had it that recorded it."""

    frames: GivenSize | None = None
    specs: Sequence[PolicySpec] = ()
    layouts: Sequence[GivenLayout] = ()
    seed: int | None = None
    batch: int | None = None
    warmup: Amount = field(default=Amount(references=0))

    def compared(self, input: Input, where: Backend) -> Compared:
        """Replay a trace into all layouts."""
        recorded = input.trace.recorded
        batch, seed = (0, 0) if recorded is None else (recorded.batch, recorded.seed)
        options = Options(
            warmup=self.warmup.resolve(input.references),
            batch=batch if self.batch is None else self.batch,
            scans=recorded.scans if recorded else 0,
            per_relation=True,
        )
        layouts = self._layouts(input)
        seed = seed if self.seed is None else self.seed
        results = replay_layouts(input, layouts, seed, options, where)
        return Compared(input.trace, layouts, results, options.warmup)

    def _layouts(self, input: Input) -> list[Layout]:
        """Return the layouts to compare: one pool by policy, as recorded, and those given."""
        recorded = input.trace.recorded
        if self.frames is not None:
            size = input.frames(self.frames)
        elif recorded is not None:
            size = recorded.frames
        else:
            raise MissingError(input.trace, "frames")
        specs = self.specs or [_usual(recorded)]
        found = [Layout(spec, size, name=str(spec)) for spec in specs]
        if recorded is not None and recorded.pools and self.frames is None:
            found.append(replace(layout_as_recorded(input.trace, recorded), name=AS_RECORDED))
        found += [layout.of(input, size, specs[0]) for layout in self.layouts]
        if len({str(layout) for layout in found}) < len(found):
            raise TidepoolError("two layouts have the same name")
        return found


def _usual(recorded: Recorded | None) -> PolicySpec:
    try:
        return parse_policy(recorded.policy if recorded else USUAL)
    except PolicyError:
        return parse_policy(USUAL)


def replay_layouts(
    input: Input, layouts: Sequence[Layout], seed: int, options: Options, where: Backend
) -> list[LayoutResult]:
    """Replay a trace into each layout."""
    length = input.trace.length
    total = None if length is None else length * len(layouts)
    with where.bar(f"simulating {input.name}", total) as advance:
        results = simulate_layouts(
            input.trace, layouts, seed, options, where.executor, where.workers, advance
        )
    if any(result.requests == 0 for result in results):
        raise warmup_too_long(input.trace)
    return results


# ---- records ----


def records(compared: Compared) -> Iterator[dict[str, Any]]:
    """Yield a layout as JSON has it."""
    for result in compared.results:
        out = result.to_json()
        out.pop("relations", None)
        out["groups"] = [
            {
                "group": group.name,
                "relations": sorted(group.relations),
                "requests": counted.requests,
                "misses": counted.misses,
                "hit_ratio": counted.hit_ratio,
            }
            for group in compared.groups
            for counted in [compared.of_group(result, group)]
        ]
        if compared.warmup:
            out["warmup"] = compared.warmup
        yield out


def rows(compared: Compared) -> Iterator[dict[str, Any]]:
    """Yield a layout as rows of CSV: all references, each group, each pool."""
    for result in compared.results:
        begin = {"trace": result.trace, "layout": result.layout, "frames": result.frames}
        yield begin | _row("all", "", result.requests, result.misses, result.hit_ratio)
        for group in compared.groups:
            counted = compared.of_group(result, group)
            numbers = (counted.requests, counted.misses, counted.hit_ratio)
            yield begin | _row("group", group.name, *numbers)
        for pool in result.pools:
            of = _row("pool", pool.pool, pool.requests, pool.misses, pool.hit_ratio)
            yield begin | {"frames": pool.frames} | of


def _row(of: str, name: str, requests: int, misses: int, hit_ratio: float) -> dict[str, Any]:
    return {
        "of": of,
        "name": name,
        "requests": requests,
        "misses": misses,
        "hit_ratio": hit_ratio,
    }


# ---- a picture ----


def picture(compared: Sequence[Compared]) -> Figure:
    """Draw hit ratios: a panel for all references, and one for each group; a bar for a layout."""
    from tidepool.plots import Bar, bar_figure

    bars = []
    for one in compared:
        name = f"{one.trace.name}, {count(one.results[0].frames)} frames"
        bars += [Bar(name, result.layout, result.hit_ratio) for result in one.results]
        for group in one.groups:
            for result in one.results:
                ratio = one.of_group(result, group).hit_ratio
                bars.append(Bar(f"{one.trace.name}: {group.name}", result.layout, ratio))
    return bar_figure(bars)
