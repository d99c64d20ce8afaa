"""``tidepool compare``: all policies over a spread of sizes, against one of them and OPT."""

from __future__ import annotations

from pathlib import Path

import click

from tidepool.cli.cluster import backend
from tidepool.cli.compare_report import print_tables
from tidepool.cli.failures import Failures
from tidepool.cli.grids import replay_grids
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.options import (
    POLICY,
    POSITIVE,
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
from tidepool.cli.printing import CsvPrinter, print_json
from tidepool.experiments.comparison import SIZES, Comparison, ComparisonPlan, picture
from tidepool.options import Amount, GivenSize
from tidepool.policies import PolicySpec


@click.command()
@traces_argument
@policies_option(default=("all",), help="Compare these policies with the baseline and opt.")
@click.option(
    "--baseline",
    type=POLICY,
    default="clock",
    show_default=True,
    metavar="NAME[:k=v,…]",
    help="The policy to compare with.",
)
@sizes_option(default=SIZES)
@click.option(
    "--seeds",
    type=POSITIVE,
    default=1,
    show_default=True,
    metavar="N",
    help="Seeds to average randomized policies over.",
)
@seed_option
@warmup_option
@sample_option
@format_option
@plot_option
@running_options
@reading_options
def compare(
    traces: tuple[str, ...],
    policies: tuple[PolicySpec, ...],
    baseline: PolicySpec,
    frames: tuple[GivenSize, ...],
    seeds: int,
    seed: int,
    warmup: Amount,
    sample: float | None,
    output: str,
    plot: Path | None,
    running: Running,
    reading: Reading,
) -> None:
    """Compare replacement policies on page traces, over a spread of sizes.

    Shows hit ratios and their differences from a baseline and from opt, the
    optimum, in percentage points: as tables and, with --plot, as heat maps.

    \b
    Examples:
      tidepool compare orders.trace --plot orders.pdf
      tidepool compare *.parquet --baseline lru --sample 5%
      tidepool compare orders.trace --policy arc,lirs --seeds 5
    """
    plan = ComparisonPlan(policies, baseline, frames, seed, seeds, warmup, sample)
    printer = CsvPrinter()
    comparisons: list[Comparison] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        each = inputs(opened, where.executor is None, failures)
        for done, results in replay_grids(each, plan.grids, where, failures):
            comparison = plan.comparison(done, results)
            comparisons.append(comparison)
            _print(comparison, output, printer)
    if plot and comparisons:
        from tidepool.plots import save

        save(picture(comparisons), plot)
    failures.exit()


def _print(comparison: Comparison, output: str, printer: CsvPrinter) -> None:
    if output == "table":
        print_tables(comparison)
    for record in comparison.records() if output != "table" else ():
        printer.print(record) if output == "csv" else print_json(record)
