"""``tidepool pools``: one pool against the same memory divided among several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from tidepool.cli.cluster import backend
from tidepool.cli.failures import Failures
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.layouts import layout_as_recorded, replay_layouts
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
from tidepool.cli.pools_report import Compared, picture, print_tables, records, rows
from tidepool.cli.printing import CsvPrinter, print_json
from tidepool.errors import PolicyError, TidepoolError
from tidepool.options import Amount, GivenLayout, GivenSize, Input, parse_layout
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Layout, Options
from tidepool.traces import Recorded

AS_RECORDED = "as recorded"
USUAL = "clock"  # the policy of one pool, if nothing says which


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
    printer = CsvPrinter()
    compared: list[Compared] = []
    failures = Failures()
    with backend(running) as where:
        opened = open_traces(traces, reading, failures)
        for input in inputs(opened, where.executor is None, failures):
            with failures.reported():
                recorded = input.trace.recorded
                options = Options(
                    warmup=warmup.resolve(input.references),
                    batch=_batch(recorded) if batch is None else batch,
                    per_relation=True,
                )
                made = _layouts(input, frames, policies, layouts)
                results = replay_layouts(input, made, _seed(seed, recorded), options, where)
                done = Compared(input.trace, made, results, options.warmup)
                _print(done, output, printer)
                compared.append(done)
    if plot and compared:
        from tidepool.plots import save

        save(picture(compared), plot)
    failures.exit()


def _seed(given: int | None, recorded: Recorded | None) -> int:
    return given if given is not None else recorded.seed if recorded else 0


def _batch(recorded: Recorded | None) -> int:
    return 0 if recorded is None else recorded.batch


def _layouts(
    input: Input,
    frames: GivenSize | None,
    specs: Sequence[PolicySpec],
    given: Sequence[GivenLayout],
) -> list[Layout]:
    """Return the layouts to compare: one pool by policy, as recorded, and those given."""
    recorded = input.trace.recorded
    if frames is None and recorded is None:
        raise click.UsageError(
            f"Missing option '--frames': {input.name} is not a server's recording.",
            click.get_current_context(),
        )
    if frames is not None:
        size = input.frames(frames)
    else:
        assert recorded is not None
        size = recorded.frames
    specs = specs or [_usual(recorded)]
    found = [Layout(spec, size, name=str(spec)) for spec in specs]
    if recorded is not None and recorded.pools and frames is None:
        found.append(replace(layout_as_recorded(input.trace, recorded), name=AS_RECORDED))
    found += [layout.of(input, size, specs[0]) for layout in given]
    if len({str(layout) for layout in found}) < len(found):
        raise TidepoolError("two layouts have the same name")
    return found


def _usual(recorded: Recorded | None) -> PolicySpec:
    try:
        return parse_policy(recorded.policy if recorded else USUAL)
    except PolicyError:
        return parse_policy(USUAL)


def _print(compared: Compared, output: str, printer: CsvPrinter) -> None:
    if output == "table":
        print_tables(compared)
    elif output == "json":
        for record in records(compared):
            print_json(record)
    else:
        for row in rows(compared):
            printer.print(row)
