"""The results of ``tidepool pools`` as tables, records and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tidepool.cli.printing import count, percent, print_table
from tidepool.simulation import Layout, LayoutResult, main_pools
from tidepool.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


# ---- tables ----


def print_tables(compared: Compared) -> None:
    """Print the layouts, and the pools of those that have several."""
    first = compared.results[0]
    print_table(
        f"{compared.trace.name}, {count(first.frames)} frames, {count(first.requests)} requests",
        ("layout", "reads", "to the first", "write-backs", "hit ratio", *_headers(compared)),
        [
            (
                result.layout,
                count(result.misses),
                _change(result.misses, first.misses) if result is not first else "",
                count(result.write_backs),
                percent(result.hit_ratio),
                *(percent(compared.of_group(result, group).hit_ratio) for group in compared.groups),
            )
            for result in compared.results
        ],
    )
    divided = [result for result in compared.results if len(result.pools) > 1]
    if divided:
        print_table(
            "",
            ("layout", "pool", "policy", "frames", "requests", "reads", "write-backs", "hit ratio"),
            [
                (
                    result.layout if pool is result.pools[0] else "",
                    pool.pool,
                    pool.policy,
                    count(pool.frames),
                    count(pool.requests),
                    count(pool.misses),
                    count(pool.write_backs),
                    percent(pool.hit_ratio),
                )
                for result in divided
                for pool in result.pools
            ],
            left=3,
            keys=2,
        )


def _headers(compared: Compared) -> list[str]:
    return [group.name for group in compared.groups]


def _change(reads: int, first: int) -> str:
    return f"{100 * (reads / first - 1):+.1f}%" if first else ""


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
