"""``tidepool curve``: miss-ratio curves, exact or sampled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from tidepool.cli.bar import Advance, bar
from tidepool.cli.cluster import Backend, backend
from tidepool.cli.failures import Failures
from tidepool.cli.grids import warmup_too_long
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.options import (
    Parsed,
    Reading,
    Running,
    format_option,
    plot_option,
    policies_option,
    reading_options,
    running_options,
    sample_option,
    seed_option,
    sizes_option,
    traces_argument,
    warmup_option,
)
from tidepool.cli.printing import (
    CsvPrinter,
    count,
    megabytes,
    percent,
    print_json,
    print_table,
)
from tidepool.options import Amount, GivenSize, Input, parse_number
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Curve, Sampling, exact_lru_curve, sampled_curves
from tidepool.traces.model import Trace

SMALLEST = 0.001  # of the distinct pages: where a logarithmic spread begins
DRAWN = 1000  # points of an exact curve in a picture
LRU = parse_policy("lru")


@dataclass(frozen=True)
class _Plan:
    """What is asked of each trace."""

    specs: Sequence[PolicySpec]
    frames: Sequence[GivenSize]
    points: int
    spread: str
    sampling: Sampling | None
    control: bool
    seed: int


@click.command()
@traces_argument
@policies_option(default=("lru",))
@sizes_option()
@click.option(
    "--points",
    type=Parsed("number", parse_number(2)),
    default=20,
    show_default=True,
    metavar="N",
    help="Without --frames: number of sizes, up to the distinct pages.",
)
@click.option(
    "--spread",
    type=click.Choice(["log", "linear"]),
    default="log",
    show_default=True,
    help="Spacing of these sizes, and scale of the picture.",
)
@seed_option
@warmup_option
@sample_option
@click.option(
    "--control-variate/--no-control-variate",
    "control",
    default=True,
    show_default=True,
    help="Correct sampled curves by the sample's error for LRU, whose exact curve takes a pass "
    "over the whole trace and memory for its distinct pages.",
)
@format_option
@plot_option
@running_options
@reading_options
def curve(
    traces: tuple[str, ...],
    policies: tuple[PolicySpec, ...],
    frames: tuple[GivenSize, ...],
    points: int,
    spread: str,
    seed: int,
    warmup: Amount,
    sample: float | None,
    control: bool,
    output: str,
    plot: Path | None,
    running: Running,
    reading: Reading,
) -> None:
    """Miss-ratio curves of page traces.

    The curve of lru is exact and takes one pass for any number of points;
    other policies take a simulation for each point.  With --sample all curves
    are estimates from miniature simulations, with standard errors.

    \b
    Examples:
      tidepool curve orders.trace --plot orders.pdf
      tidepool curve orders.trace --policy lru,arc,opt
      tidepool curve huge.parquet --policy all --sample 1% --format csv
    """
    plan = _Plan(
        specs=policies,
        frames=frames,
        points=points,
        spread=spread,
        sampling=Sampling(sample, seed) if sample is not None else None,
        control=control,
        seed=seed,
    )
    printer = CsvPrinter()
    drawn: list[Curve] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        for input in inputs(opened, where.executor is None, failures):
            with failures.reported():
                sizes = _sizes(input, plan)
                skipped = warmup.resolve(input.references)
                curves, fine = _curves(input, sizes, plan, skipped, where)
                drawn += fine if plot else []
                if output == "table":
                    _print_table(input, sizes, curves)
                    continue
                for spec, made in zip(plan.specs, curves, strict=True):
                    for record in _records(spec, made, seed, skipped):
                        printer.print(record) if output == "csv" else print_json(record)
    if plot and drawn:
        from tidepool.plots import curve_figure, save

        save(curve_figure(drawn, logarithmic=spread == "log"), plot)
    failures.exit()


def _sizes(input: Input, plan: _Plan) -> list[int]:
    """Return the numbers of frames to take the curves at, ascending."""
    if plan.frames:
        return sorted({input.frames(size) for size in plan.frames})
    smallest = 1 / plan.sampling.rate if plan.sampling else 1  # a frame of the sample's
    return spread_sizes(smallest, input.pages(), plan.points, plan.spread)


def spread_sizes(smallest: float, pages: int, points: int, spread: str) -> list[int]:
    """Return about this many sizes up to the number of pages, ascending and distinct."""
    first = max(smallest, SMALLEST * pages if spread == "log" else pages / points)
    between = np.geomspace if spread == "log" else np.linspace
    sizes = between(min(first, pages), pages, points)
    return sorted({max(1, round(float(size))) for size in sizes})


def _curves(
    input: Input, sizes: Sequence[int], plan: _Plan, warmup: int, where: Backend
) -> tuple[list[Curve], list[Curve]]:
    """Return a curve per policy at these sizes; and again, as finely as a picture wants them."""
    exact = [spec for spec in plan.specs if spec == LRU and plan.sampling is None]
    others = [spec for spec in plan.specs if spec not in exact]
    made: dict[PolicySpec, Curve] = {}
    fine: dict[PolicySpec, Curve] = {}
    if exact:
        drawn = np.unique(np.geomspace(sizes[0], sizes[-1], DRAWN).round().astype(int))
        every = _lru(input, sorted({*sizes, *drawn.tolist()}), warmup, where)
        made[LRU], fine[LRU] = _at(every, sizes), every
    if others:
        steps = (input.trace.length or 0) * len(others) * len(sizes)
        with bar(f"simulating {input.name}", steps or None) as advance:
            simulated = sampled_curves(
                input.trace,
                others,
                sizes,
                plan.sampling,
                warmup,
                plan.seed,
                where.executor,
                advance,
                where.workers,
                plan.control,
                input.known_pages,
            )
        made |= zip(others, simulated, strict=True)
    curves = [made[spec] for spec in plan.specs]
    if any(one.requests == 0 for one in curves):
        raise warmup_too_long(input)
    return curves, [fine.get(spec, made[spec]) for spec in plan.specs]


def _lru(input: Input, sizes: Sequence[int], warmup: int, where: Backend) -> Curve:
    if where.executor is not None:
        return where.executor.submit(exact_lru_at, input.trace, sizes, warmup).result()
    with bar(f"stack distances of {input.name}", input.trace.length) as advance:
        return exact_lru_at(input.trace, sizes, warmup, advance)


def exact_lru_at(
    trace: Trace, sizes: Sequence[int], warmup: int, progress: Advance | None = None
) -> Curve:
    """Return the exact curve of LRU at these sizes only: less to send than all of it."""
    return _at(exact_lru_curve(trace, warmup, progress), sizes)


def _at(curve: Curve, sizes: Sequence[int]) -> Curve:
    ratios = np.array([curve.at(size) for size in sizes])
    return replace(curve, frames=np.array(sizes, dtype=np.int64), miss_ratio=ratios)


def _records(spec: PolicySpec, curve: Curve, seed: int, warmup: int) -> Iterator[dict[str, Any]]:
    """Yield a record per point."""
    for i, frames in enumerate(curve.frames.tolist()):
        miss_ratio = float(curve.miss_ratio[i])
        record = {
            "trace": curve.trace,
            "policy": spec.policy.name,
            "params": spec.typed_params(),
            "frames": frames,
            "requests": curve.requests,
            "misses": round(miss_ratio * curve.requests),
            "miss_ratio": miss_ratio,
            "seed": seed,
            "warmup": warmup,
        }
        if curve.error is not None:
            record |= {"sample_rate": curve.sample_rate, "error": float(curve.error[i])}
        yield record


def _print_table(input: Input, sizes: Sequence[int], curves: Sequence[Curve]) -> None:
    """Print the curves side by side; if sampled, each with its standard error."""
    headers = ["frames", "size"]
    for curve in curves:
        headers += [curve.policy] if curve.error is None else [curve.policy, "±"]
    rows = []
    for i, frames in enumerate(sizes):
        row = [count(frames), megabytes(frames)]
        for curve in curves:
            row.append(percent(float(curve.miss_ratio[i])))
            if curve.error is not None:
                row.append(percent(float(curve.error[i])))
        rows.append(row)
    rate = curves[0].sample_rate
    sampled = "" if rate is None else f", {100 * rate:.3g}% of the pages sampled"
    print_table(f"{input.name}{sampled}: miss ratio", headers, rows, left=0, keys=2)
