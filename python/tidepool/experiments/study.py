"""Simulations in one call, for notebooks and scripts.

Results depend on the traces, what is asked and the seeds alone: not on the
number of workers, nor on how often they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from tidepool.errors import TidepoolError
from tidepool.experiments.backend import Backend
from tidepool.experiments.below import with_ssds
from tidepool.experiments.comparison import SIZES, ComparisonPlan
from tidepool.experiments.curves import SPREADS, CurvePlan
from tidepool.experiments.layouts import LayoutPlan
from tidepool.experiments.plan import Plan, warmup_too_long
from tidepool.experiments.replays import replayed
from tidepool.experiments.results import Comparisons, CurveSet, Layouts, Results
from tidepool.experiments.runs import divided_runs, grid_runs
from tidepool.experiments.traces import TraceLike, traces_of
from tidepool.options import Input, SsdOptions, kept
from tidepool.options.arguments import (
    Policies,
    PolicyLike,
    SizeLike,
    Sizes,
    amount_of,
    choices_of,
    data_of,
    device_of,
    layouts_of,
    number_of,
    numbers_of,
    policies_of,
    policy_of,
    pools_of,
    rate_of,
    resizes_of,
    share_of,
    size_given,
    sizes_of,
    ssd_policies_of,
)
from tidepool.simulation import Device
from tidepool.simulation.ssd import KEEP_SHARE, WRITE_BUFFER

Traces = TraceLike
"""What traces_of takes: a trace, several, or a map from names to traces."""


def simulate(
    traces: Traces,
    policies: Policies | None = None,
    frames: Sizes | None = None,
    *,
    seeds: int | str | Iterable[int] | None = None,
    warmup: int | str = 0,
    interval: int | str | None = None,
    per_relation: bool = False,
    correlation_window: int | str = 0,
    batch: int | str | None = None,
    sample: float | str | None = None,
    resize: str | Iterable[Any] | None = None,
    pools: Any = None,
    ssd_policies: str | Iterable[str] | None = None,
    ssd_frames: Sizes | None = None,
    device: str | Device = "hdd",
    ssd_device: str | Device = "sata-ssd",
    ssd_write: str = "through",
    ssd_buffer: int | str = WRITE_BUFFER,
    ssd_admit: str = "read",
    ssd_write_budget: float | str = 0,
    ssd_write_budget_per_day: float | str = 0,
    ssd_tier: str | Mapping[str, str] | Iterable[str] | None = None,
    ssd_keep_share: float | str = KEEP_SHARE,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    keys: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Results:
    """Replay every trace under every policy with every number of frames.

    The arguments are the options of ``tidepool simulate``, as text by the same
    rules or as what they mean; docs/simulator.md describes them.  A server's
    recording is replayed with what the server ran, unless told otherwise.  A
    policy may be a subclass of PythonPolicy.  ``seeds`` are 0, or the
    recording server's, unless given; they matter to randomized policies and
    samples alone, and other replays are made once.

    >>> simulate("t.parquet", policies=["arc", "lirs:hir=2%"], frames=["5%", 2000])

    Raises TidepoolError for what cannot be.
    """
    found = traces_of(traces, format, columns, keys)
    ssd = SsdOptions(
        ssd_policies_of(ssd_policies),
        sizes_of(ssd_frames),
        device_of(device),
        device_of(ssd_device),
        _choice(ssd_write, "ssd_write", ("through", "back")),
        number_of(ssd_buffer, "ssd_buffer"),
        _choice(ssd_admit, "ssd_admit", ("read", "eviction")),
        data_of(ssd_write_budget, "MB", "ssd_write_budget"),
        data_of(ssd_write_budget_per_day, "GB", "ssd_write_budget_per_day"),
        choices_of(ssd_tier),
        share_of(ssd_keep_share, "ssd_keep_share"),
    )
    plan = Plan(
        specs=policies_of(policies),
        frames=sizes_of(frames),
        seeds=numbers_of(seeds, "seeds"),
        warmup=amount_of(warmup),
        interval=0 if interval is None else number_of(interval, "interval", 1),
        per_relation=_flag(per_relation, "per_relation"),
        correlation_window=number_of(correlation_window, "correlation_window"),
        batch=None if batch is None else number_of(batch, "batch"),
        sample=rate_of(sample),
        resizes=resizes_of(resize),
        pools=pools_of(pools),
        ssd=ssd if ssd.specs else None,
    )
    where = _backend(workers, executor)
    for trace in found:
        plan.of(trace)
    runs = []
    for trace in found:
        input = Input(trace if executor else kept(trace))
        if plan.divides(trace):
            runs += with_ssds(plan, input, divided_runs(plan, input, where), where)
            continue
        done = [pair for grid in plan.grids(input) for pair in replayed([grid], where)]
        if any(result.requests == 0 for _, results in done for result in results):
            raise warmup_too_long(trace)
        runs += with_ssds(plan, input, grid_runs(done), where)
    return Results(runs)


def curve(
    traces: Traces,
    policies: Policies = "lru",
    frames: Sizes | None = None,
    *,
    points: int | str = 20,
    spread: str = "log",
    seed: int | str = 0,
    warmup: int | str = 0,
    sample: float | str | None = None,
    control_variate: bool = True,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    keys: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> CurveSet:
    """Return miss-ratio curves: exact, or of a sample with standard errors.

    The arguments are the options of ``tidepool curve``.

    >>> curve("t.parquet", "lru,arc,opt").plot()
    """
    found = traces_of(traces, format, columns, keys)
    plan = CurvePlan(
        specs=policies_of(policies),
        frames=sizes_of(frames),
        points=number_of(points, "points", 2),
        spread=_choice(spread, "spread", SPREADS),
        seed=number_of(seed, "seed"),
        warmup=amount_of(warmup),
        sample=rate_of(sample),
        control=_flag(control_variate, "control_variate"),
    )
    if not plan.specs:
        raise TidepoolError("no policies given", 'Use policies="lru,arc".')
    where = _backend(workers, executor)
    return CurveSet([plan.curves(Input(t if executor else kept(t)), where) for t in found])


def compare(
    traces: Traces,
    policies: Policies = "all",
    baseline: PolicyLike = "clock",
    frames: Sizes = SIZES,
    *,
    seed: int | str = 0,
    seeds: int | str = 1,
    warmup: int | str = 0,
    sample: float | str | None = None,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    keys: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Comparisons:
    """Compare policies with a baseline and with OPT over a spread of sizes.

    The arguments are the options of ``tidepool compare``; ``seeds`` is how many
    seeds randomized policies are averaged over, from ``seed`` on.

    >>> compare("t.parquet", ["arc", "lirs"], baseline="lru").plot()
    """
    found = traces_of(traces, format, columns, keys)
    plan = ComparisonPlan(
        specs=policies_of(policies),
        baseline=policy_of(baseline, "baseline"),
        frames=sizes_of(frames),
        seed=number_of(seed, "seed"),
        seeds=number_of(seeds, "seeds", 1),
        warmup=amount_of(warmup),
        sample=rate_of(sample),
    )
    where = _backend(workers, executor)
    done = []
    for trace in found:
        (pair,) = replayed(list(plan.grids(Input(trace if executor else kept(trace)))), where)
        if any(result.requests == 0 for result in pair[1]):
            raise warmup_too_long(trace)
        done.append(plan.comparison(*pair))
    return Comparisons(done)


def pools(
    traces: Traces,
    layouts: Any = None,
    frames: SizeLike | None = None,
    policies: Policies | None = None,
    *,
    seed: int | str | None = None,
    batch: int | str | None = None,
    warmup: int | str = 0,
    format: str | None = None,
    columns: str | Mapping[str, str] | None = None,
    keys: str | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Layouts:
    """Compare layouts of pools with one pool of the same memory under each policy.

    The arguments are the options of ``tidepool pools``.

    >>> pools("t.parquet", "hot=arc,30:orders; log=fifo,10:history", frames=60)
    """
    found = traces_of(traces, format, columns, keys)
    plan = LayoutPlan(
        frames=None if frames is None else size_given(frames),
        specs=policies_of(policies),
        layouts=layouts_of(layouts),
        seed=None if seed is None else number_of(seed, "seed"),
        batch=None if batch is None else number_of(batch, "batch"),
        warmup=amount_of(warmup),
    )
    where = _backend(workers, executor)
    return Layouts([plan.compared(Input(t if executor else kept(t)), where) for t in found])


def _backend(workers: int | None, executor: Executor | None) -> Backend:
    if workers is not None and executor is not None:
        raise TidepoolError("workers are threads here: they cannot go with an executor")
    return Backend(executor, None if workers is None else number_of(workers, "workers", 1))


def _flag(given: bool, name: str) -> bool:
    if not isinstance(given, (bool, np.bool_)):
        raise TidepoolError(f"{name} is {given!r}", "Use True or False.")
    return bool(given)


def _choice(given: str, name: str, choices: tuple[str, ...]) -> str:
    if given not in choices:
        raise TidepoolError(f"{name} is {given!r}", f"Use one of {', '.join(choices)}.")
    return given
