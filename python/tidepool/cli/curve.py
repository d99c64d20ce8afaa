"""``tidepool curve``: miss-ratio curves, exact or sampled."""

from __future__ import annotations

from pathlib import Path

import click

from tidepool.amounts import count, megabytes, percent
from tidepool.cli.cluster import backend
from tidepool.cli.failures import Failures
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
from tidepool.cli.printing import CsvPrinter, print_json, print_table
from tidepool.experiments.curves import SPREADS, CurvePlan, Curves
from tidepool.options import Amount, GivenSize, parse_number
from tidepool.policies import PolicySpec
from tidepool.simulation import Curve


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
    type=click.Choice(SPREADS),
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
    plan = CurvePlan(policies, frames, points, spread, seed, warmup, sample, control)
    printer = CsvPrinter()
    drawn: list[Curve] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        for input in inputs(opened, where.executor is None, failures):
            with failures.reported():
                done = plan.curves(input, where)
                drawn += done.fine if plot else []
                if output == "table":
                    _print_table(done)
                    continue
                for record in done.records():
                    printer.print(record) if output == "csv" else print_json(record)
    if plot and drawn:
        from tidepool.plots import curve_figure, save

        save(curve_figure(drawn, logarithmic=spread == "log"), plot)
    failures.exit()


def _print_table(done: Curves) -> None:
    """Print the curves side by side; if sampled, each with its standard error."""
    headers, curves = ["frames", "size"], done.curves
    for curve in curves:
        headers += [curve.policy] if curve.error is None else [curve.policy, "±"]
    rows = []
    for i, frames in enumerate(done.sizes):
        row = [count(frames), megabytes(frames)]
        for curve in curves:
            row.append(percent(float(curve.miss_ratio[i])))
            if curve.error is not None:
                row.append(percent(float(curve.error[i])))
        rows.append(row)
    rate = curves[0].sample_rate
    sampled = "" if rate is None else f", {100 * rate:.3g}% of the pages sampled"
    print_table(f"{done.trace}{sampled}: miss ratio", headers, rows, left=0, keys=2)
