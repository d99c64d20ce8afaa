"""``tidepool simulate``: replay traces against policies."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import click

from tidepool.cli.cluster import backend
from tidepool.cli.failures import Failures, missing_option
from tidepool.cli.grids import replay_grids
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.options import (
    NUMBER,
    NUMBERS,
    POSITIVE,
    Parsed,
    Reading,
    Running,
    format_option,
    list_option,
    plot_option,
    policies_option,
    reading_options,
    running_options,
    sample_option,
    sizes_option,
    traces_argument,
    warmup_option,
)
from tidepool.cli.simulate_report import Printer
from tidepool.cli.ssd import ssd_options
from tidepool.errors import TidepoolError
from tidepool.experiments.below import with_ssds
from tidepool.experiments.pictures import picture
from tidepool.experiments.plan import Plan
from tidepool.experiments.runs import Run, divided_runs, grid_runs, unreached
from tidepool.options import (
    POOL_METAVAR,
    Amount,
    GivenPool,
    GivenSize,
    Input,
    Resize,
    SsdOptions,
    parse_pools,
    parse_resizes,
)
from tidepool.policies import PolicySpec
from tidepool.traces import Trace


@click.command()
@traces_argument
@policies_option(or_else="the recording server's")
@sizes_option(or_else="the recording server's")
@list_option(
    "--seed",
    "seeds",
    kind=NUMBERS,
    metavar="N,…",
    help="Seeds of randomized policies and of the sample.",
    or_else="the recording server's, or 0",
)
@warmup_option
@click.option(
    "--interval",
    type=POSITIVE,
    metavar="N",
    help="Also report the hit ratio of every N references.",
)
@click.option("--per-relation", is_flag=True, help="Also report counts per relation and fork.")
@click.option(
    "--correlation-window",
    type=NUMBER,
    default=0,
    metavar="µs",
    help="Treat a backend's consecutive references to a page within this many µs as one.",
)
@click.option(
    "--batch",
    type=NUMBER,
    metavar="N",
    help="Backends queue N hits before they report them to the policy, as in a server."
    "  [default: as the recording server's did, or 0: no queues]",
)
@sample_option
@list_option(
    "--resize",
    "resizes",
    kind=Parsed("resizes", parse_resizes),
    metavar="REF:[NAME=]SIZE,…",
    help="Resize the pool (NAME) before reference REF (from 0).",
)
@list_option(
    "--pool",
    "pools",
    kind=Parsed("pools", parse_pools),
    metavar=f"{POOL_METAVAR};…",
    help="A pool of its own for these relations; --policy has what pools leave of --frames.",
)
@ssd_options
@format_option
@plot_option
@running_options
@reading_options
def simulate(
    traces: tuple[str, ...],
    policies: tuple[PolicySpec, ...],
    frames: tuple[GivenSize, ...],
    seeds: tuple[int, ...],
    warmup: Amount,
    interval: int | None,
    per_relation: bool,
    correlation_window: int,
    batch: int | None,
    sample: float | None,
    resizes: tuple[Resize, ...],
    pools: tuple[GivenPool, ...],
    ssd: SsdOptions,
    output: str,
    plot: Path | None,
    running: Running,
    reading: Reading,
) -> None:
    """Replay page traces against replacement policies.

    Replays every trace under every policy with every number of frames.
    Seeds affect randomized policies and samples only; other replays are made
    once.  A server's recording is replayed with what the server ran, unless
    overridden.  A trace may be a pipe; - is standard input.

    \b
    Examples:
      tidepool simulate monday.rec
      tidepool simulate orders.trace --policy lru,2q:kin=0.3,kout=0.5,arc --frames 10%,64MB
      tidepool simulate *.parquet --policy all --frames 64MB --format json
      tidepool simulate orders.trace --policy clock --frames 5% \\
          --interval 100000 --resize 2000000:10% --plot orders.pdf
      tidepool simulate orders.trace --policy clock --frames 5% \\
          --ssd-policy tac,lru,none --ssd-frames 20%
      tidepool simulate orders.trace --policy clock --frames 64MB \\
          --pool hot=arc,16MB:orders,items --pool log=fifo,1MB:history
    """
    if output == "csv" and interval and per_relation:
        raise TidepoolError(
            "csv holds rows of one kind",
            "Leave out --interval or --per-relation, or use --format json.",
        )
    plan = Plan(
        specs=policies,
        frames=frames,
        seeds=seeds,
        warmup=warmup,
        interval=interval or 0,
        per_relation=per_relation,
        correlation_window=correlation_window,
        batch=batch,
        sample=sample,
        resizes=resizes,
        pools=pools,
        ssd=ssd,
    )
    printer = Printer(output, name_traces=len(set(traces)) > 1, name_seeds=len(seeds) > 1)
    runs: list[Run] = []
    failures = Failures()

    def show(input: Input, found: list[Run]) -> None:
        for warning in unreached(input, found[0]):
            click.echo(f"tidepool: warning: {warning}", err=True)
        printer.print(found)
        runs.extend(found)

    with backend(running) as where:
        possible: list[Trace] = []
        for trace in open_traces(traces, reading, failures):
            with failures.reported(), missing_option():
                plan.of(trace)  # raises what would be raised later
                possible.append(trace)
        divided = [trace for trace in possible if plan.divides(trace)]
        whole = [trace for trace in possible if trace not in divided]
        each = inputs(whole, where.executor is None, failures)
        done = replay_grids(each, plan.grids, where, failures)
        for input, of_trace in groupby(done, key=lambda pair: pair[0].input):
            with failures.reported():
                show(input, with_ssds(plan, input, grid_runs(of_trace), where))
        for input in inputs(divided, where.executor is None, failures):
            with failures.reported():
                found = divided_runs(plan, input, where)
                show(input, with_ssds(plan, input, found, where))
    if plot and runs:
        from tidepool.plots import save

        save(picture(runs), plot)
    failures.exit()
