"""Replays and what they counted, as records and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidepool.amounts import count
from tidepool.experiments.backend import Backend
from tidepool.experiments.layouts import replay_layouts
from tidepool.experiments.plan import Plan
from tidepool.experiments.replays import Replayed
from tidepool.options import Input
from tidepool.simulation import Options, Result


@dataclass(frozen=True)
class Run:
    """A replay and what it counted."""

    label: str  # the policy, as on the command line
    result: Result
    options: Options
    ssd: str = ""  # the policy of the SSD tier, likewise
    pool_resizes: tuple[tuple[int, str, int], ...] = ()  # of a layout

    @property
    def resized(self) -> list[int]:
        """Before which references there are resizes."""
        return [at for at, _ in self.options.resize] + [at for at, _, _ in self.pool_resizes]


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Return the runs of a trace by policy and size as given, then in the order of their seeds."""
    runs = list(runs)
    order: dict[tuple[Any, ...], int] = {}

    def key(run: Run) -> tuple[Any, ...]:
        tier = run.result.ssd
        return (run.label, run.result.frames, run.ssd, tier.frames if tier else 0)

    for run in runs:
        order.setdefault(key(run), len(order))
    return sorted(runs, key=lambda run: order[key(run)])


def grid_runs(replayed: Iterable[Replayed]) -> list[Run]:
    """Return the runs of a trace's grids."""
    return in_order(
        Run(str(cell.spec), result, grid.options, str(cell.ssd.spec) if cell.ssd else "")
        for grid, results in replayed
        for cell, result in zip(grid.cells, results, strict=True)
    )


def divided_runs(plan: Plan, input: Input, where: Backend) -> list[Run]:
    """Replay a trace into pools: for each policy of DEFAULT, size in all and seed."""
    layouts, options = plan.layouts(input), plan.options(input)
    return [
        Run(result.layout, result, options, pool_resizes=layout.resize)
        for seed in plan.of(input.trace).seeds
        for layout, result in zip(
            layouts, replay_layouts(input, layouts, seed, options, where), strict=True
        )
    ]


def unreached(input: Input, run: Run) -> Iterator[str]:
    """Yield a warning for each resize after the end of the trace."""
    references = run.result.requests + run.options.warmup
    for reference in run.resized:
        if reference >= references:
            yield (
                f"{input.name}: no resize before reference {reference}, the trace has {references}"
            )


# ---- records ----


def record(run: Run) -> dict[str, Any]:
    """Return a run as JSON has it: what was counted, then the options that are not defaults."""
    out = run.result.to_json()
    if run.options.warmup:
        out["warmup"] = run.options.warmup
    if run.options.correlation_window:
        out["correlation_window"] = run.options.correlation_window
    if run.options.batch > 0:
        out["batch"] = run.options.batch
    if run.options.resize:
        out["resize"] = [list(resize) for resize in run.options.resize]
    if run.pool_resizes:
        out["resize"] = [list(resize) for resize in run.pool_resizes]
    return out


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield a run as rows of CSV: one, or one for each interval, relation or pool.

    What an SSD tier counted is in columns of its own, named tier_….
    """
    out = record(run)
    out.pop("resize", None)
    out |= {f"tier_{name}": value for name, value in out.pop("ssd", {}).items()}
    series = out.pop("series", None)
    out.pop("last_interval", None)
    relations = out.pop("relations", None)
    pools = out.pop("pools", None)
    if series is not None:
        for end, ratio in zip(run.result.interval_ends.tolist(), series, strict=True):
            yield out | {"end": end, "interval_hit_ratio": ratio}
    elif relations is not None:
        for relation in relations:
            yield out | {
                "relation": relation["relation"],
                "fork": relation["fork"],
                "relation_name": relation["name"],
                "relation_requests": relation["requests"],
                "relation_misses": relation["misses"],
            }
    elif pools is not None:
        for pool in pools:
            yield out | {"pool": pool.pop("pool"), **{f"pool_{k}": v for k, v in pool.items()}}
    else:
        yield out


# ---- what distinguishes them ----


def memory_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that differ in more than their SSD tiers."""
    first: dict[tuple[str, int, int], Run] = {}
    for run in runs:
        first.setdefault((run.label, run.result.frames, run.result.seed), run)
    return list(first.values())


def labels(runs: Sequence[Run]) -> list[str]:
    """Return for each run what distinguishes it: policy, frames, seed."""
    several_sizes = len({run.result.frames for run in runs}) > 1
    several_seeds = len({run.result.seed for run in runs}) > 1
    return [
        ", ".join(
            [run.label]
            + [f"{count(run.result.frames)} frames"] * several_sizes
            + [f"seed {run.result.seed}"] * several_seeds
        )
        for run in runs
    ]
