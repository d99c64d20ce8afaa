"""``tidepool pools``: one pool against the same memory divided among several."""

from __future__ import annotations

from pathlib import Path

import click

from tidepool.cli.cluster import backend
from tidepool.cli.failures import Failures, missing_option
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.options import (
    NUMBER,
    SIZE,
    Parsed,
    Reading,
    Running,
    format_option,
    plot_option,
    policies_option,
    reading_options,
    running_options,
    traces_argument,
    warmup_option,
)
from tidepool.cli.pools_report import print_tables
from tidepool.cli.printing import CsvPrinter, print_json
from tidepool.experiments.layouts import USUAL, Compared, LayoutPlan, picture, records, rows
from tidepool.options import Amount, GivenLayout, GivenSize, parse_layout
from tidepool.policies import PolicySpec


@click.command()
@traces_argument
@click.option(
    "--frames",
    type=SIZE,
    metavar="N|P%|SIZE",
    help="Frames (1000), a share of the distinct pages (10%) or bytes (64MB) of all pools"
    " together.  [default: the recording server's]",
)
@policies_option(
    help="Policies of one pool; the first, of DEFAULT in layouts that do not say.",
    or_else=f"the recording server's, or {USUAL}",
)
@click.option(
    "--layout",
    "layouts",
    type=Parsed("layout", parse_layout),
    multiple=True,
    metavar="FILE|POOL;POOL;…",
    help="Pools as for simulate --pool, separated by semicolons, or in a file by lines; a policy"
    " alone is DEFAULT's. Repeatable.",
)
@click.option(
    "--seed",
    type=NUMBER,
    metavar="N",
    help="Seed of randomized policies.  [default: the recording server's, or 0]",
)
@click.option(
    "--batch",
    type=NUMBER,
    metavar="N",
    help="Backends queue N hits before they report them, as in a server."
    "  [default: as the recording server's did, or 0: no queues]",
)
@warmup_option
@format_option
@plot_option
@running_options
@reading_options
def pools(
    traces: tuple[str, ...],
    frames: GivenSize | None,
    policies: tuple[PolicySpec, ...],
    layouts: tuple[GivenLayout, ...],
    seed: int | None,
    batch: int | None,
    warmup: Amount,
    output: str,
    plot: Path | None,
    running: Running,
    reading: Reading,
) -> None:
    """Compare layouts of buffer pools: one for everything, and several.

    Replays each trace into one pool under each policy, into each layout given
    and, if a server with pools recorded it, into these.  Shows reads and hit
    ratios: of all references, of the relations that layouts set apart, and of
    each pool.

    \b
    Examples:
      tidepool pools monday.rec
      tidepool pools orders.trace --frames 64MB --policy clock,arc \\
          --layout 'hot=arc,16MB:orders,items' \\
          --layout 'arc; log=fifo,1MB:history' --plot pools.pdf
      tidepool pools orders.trace --frames 10% --layout mine.pools --format json
    """
    plan = LayoutPlan(frames, policies, layouts, seed, batch, warmup)
    printer = CsvPrinter()
    compared: list[Compared] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        for input in inputs(opened, where.executor is None, failures):
            with failures.reported(), missing_option():
                done = plan.compared(input, where)
                _print(done, output, printer)
                compared.append(done)
    if plot and compared:
        from tidepool.plots import save

        save(picture(compared), plot)
    failures.exit()


def _print(compared: Compared, output: str, printer: CsvPrinter) -> None:
    if output == "table":
        print_tables(compared)
    elif output == "json":
        for record in records(compared):
            print_json(record)
    else:
        for row in rows(compared):
            printer.print(row)
