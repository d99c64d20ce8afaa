"""``tidepool compare``: all policies over a spread of sizes, against one of them and OPT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tidepool.cli.cluster import backend
from tidepool.cli.compare_report import Comparison
from tidepool.cli.failures import Failures
from tidepool.cli.grids import Grid, replay_grids
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
from tidepool.options import Amount, GivenSize, Input
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Cell, Options, Result, Sampling

SIZES = ("1%", "2%", "5%", "10%", "20%", "40%", "60%", "80%")
OPT = parse_policy("opt")


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
    specs = tuple(dict.fromkeys([baseline, *(s for s in policies if s != OPT), OPT]))
    sampling = Sampling(sample, seed) if sample is not None else None

    def grids(input: Input) -> Iterator[Grid]:
        options = Options(warmup=warmup.resolve(input.references), sampling=sampling)
        sizes = [input.frames(size) for size in frames]
        yield Grid(input, _cells(specs, sizes, seed, seeds), options)

    printer = CsvPrinter()
    comparisons: list[Comparison] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        each = inputs(opened, where.executor is None, failures)
        for done, results in replay_grids(each, grids, where, failures):
            comparison = Comparison(
                trace=done.input.name,
                policies=specs,
                baseline=baseline,
                opt=OPT,
                sizes=tuple(size.text for size in frames),
                frames=tuple(done.input.frames(size) for size in frames),
                results=_by_cell(done.cells, results),
                warmup=done.options.warmup,
            )
            comparisons.append(comparison)
            _print(comparison, output, printer)
    if plot and comparisons:
        from tidepool.plots import HeatMap, heat_figure, save

        maps = [
            HeatMap(c.trace, str(to), tuple(map(str, specs)), c.sizes, c.differences(to))
            for c in comparisons
            for to in c.references()
        ]
        save(heat_figure(maps), plot)
    failures.exit()


def _cells(specs: Sequence[PolicySpec], sizes: Sequence[int], seed: int, seeds: int) -> list[Cell]:
    """Return the replays to make, each once: with several seeds if the policy is randomized."""
    cells = [
        Cell(spec, size, (seed + i) % 2**64)
        for spec in specs
        for size in sizes
        for i in range(seeds if spec.policy.randomized else 1)
    ]
    return list(dict.fromkeys(cells))


def _by_cell(
    cells: Sequence[Cell], results: Sequence[Result]
) -> dict[tuple[PolicySpec, int], list[Result]]:
    found: dict[tuple[PolicySpec, int], list[Result]] = {}
    for cell, result in zip(cells, results, strict=True):
        found.setdefault((cell.spec, cell.frames), []).append(result)
    return found


def _print(comparison: Comparison, output: str, printer: CsvPrinter) -> None:
    if output == "table":
        comparison.print_tables()
    for record in comparison.records() if output != "table" else ():
        printer.print(record) if output == "csv" else print_json(record)
