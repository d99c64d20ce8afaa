"""``tidepool simulate``: replay traces against policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import click

from tidepool.cli.cluster import Backend, backend
from tidepool.cli.failures import Failures
from tidepool.cli.grids import Grid, replay_grids
from tidepool.cli.inputs import inputs, open_traces
from tidepool.cli.layouts import (
    layout_as_recorded,
    replay_layouts,
    resizes_of,
)
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
from tidepool.cli.simulate_report import Printer, Run, in_order, picture
from tidepool.cli.ssd import ssd_options
from tidepool.errors import PolicyError, TidepoolError
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
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import Cell, Layout, Options, Sampling, Size, Ssd
from tidepool.traces import Recorded, Trace


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
    asked = _Replays(policies, frames, seeds, batch)
    _check(asked.specs, sample, resizes, interval, per_relation, output, bool(pools))
    _check_ssd(ssd, sample, resizes, bool(pools))
    _check_batch(batch or 0, sample)

    def options_of(input: Input) -> Options:
        replays = asked.of(input.trace, sample is not None)
        return Options(
            warmup=warmup.resolve(input.references),
            interval=interval or 0,
            correlation_window=correlation_window,
            batch=0 if replays.batch is None else replays.batch,
            per_relation=per_relation,
            resize=tuple((r.reference, input.frames(r.size)) for r in resizes if r.pool is None),
        )

    def grids(input: Input) -> Iterator[Grid]:
        replays = asked.of(input.trace, sample is not None)
        specs, seeds = replays.specs, replays.seeds
        sizes = list(dict.fromkeys(input.frames(size) for size in replays.frames))
        options = options_of(input)
        if sample is None:
            tiers = ssd.ssds(input.frames)
            yield Grid(input, _cells(specs, sizes, seeds, tiers), options)
            return
        for seed in seeds:
            cells = [Cell(spec, size, seed) for spec in specs for size in sizes]
            yield Grid(input, cells, replace(options, sampling=Sampling(sample, seed)))

    printer = Printer(output, name_traces=len(set(traces)) > 1, name_seeds=len(seeds) > 1)
    runs: list[Run] = []
    failures = Failures()
    with backend(running) as where:
        possible: list[Trace] = []
        for trace in open_traces(traces, reading, failures):
            with failures.reported():
                asked.of(trace, sample is not None)  # raises what would be raised later
                possible.append(trace)
        divided = [trace for trace in possible if pools or asked.divides(trace)]
        whole = [trace for trace in possible if trace not in divided]
        each = inputs(whole, where.executor is None, failures)
        done = replay_grids(each, grids, where, failures)
        for input, of_trace in groupby(done, key=lambda pair: pair[0].input):
            found = in_order(
                Run(str(cell.spec), result, grid.options, str(cell.ssd.spec) if cell.ssd else "")
                for grid, results in of_trace
                for cell, result in zip(grid.cells, results, strict=True)
            )
            _check_reach(input, found[0])
            printer.print(found)
            runs += found
        for input in inputs(divided, where.executor is None, failures):
            with failures.reported():
                found = _divided(input, asked, pools, resizes, options_of(input), where)
                _check_reach(input, found[0])
                printer.print(found)
                runs += found
    if plot and runs:
        from tidepool.plots import save

        save(picture(runs), plot)
    failures.exit()


@dataclass(frozen=True)
class _Replays:
    """Policies, sizes, seeds and queues that options ask for; what they leave open is empty."""

    specs: Sequence[PolicySpec]
    frames: Sequence[GivenSize]
    seeds: Sequence[int]
    batch: int | None

    def of(self, trace: Trace, sampled: bool) -> _Replays:
        """Return it with what is left open as the server had it that recorded the trace."""
        recorded = trace.recorded
        if recorded is None:
            for option, given in (("--policy", self.specs), ("--frames", self.frames)):
                if not given:
                    raise click.UsageError(
                        f"Missing option '{option}': {trace.name} is not a server's recording.",
                        click.get_current_context(),
                    )
            return replace(self, seeds=self.seeds or (0,))
        frames = GivenSize(str(recorded.frames), Size(frames=recorded.frames))
        batch = None if sampled else recorded.batch
        return _Replays(
            self.specs or [_recorded_policy(trace.name, recorded)],
            self.frames or [frames],
            self.seeds or [recorded.seed],
            batch if self.batch is None else self.batch,
        )

    def divides(self, trace: Trace) -> bool:
        """Whether a server's recording is replayed with the pools that the server had."""
        recorded = trace.recorded
        return recorded is not None and bool(recorded.pools) and not (self.specs or self.frames)


def _divided(
    input: Input,
    asked: _Replays,
    pools: Sequence[GivenPool],
    resizes: Sequence[Resize],
    options: Options,
    where: Backend,
) -> list[Run]:
    """Replay a trace into pools: for each policy of DEFAULT, size in all and seed."""
    replays = asked.of(input.trace, sampled=False)
    if pools:
        given = tuple(pool.of(input) for pool in pools)
        resize = resizes_of(input, resizes)
        layouts = [
            Layout(spec, input.frames(size), given, resize)
            for spec in replays.specs
            for size in replays.frames
        ]
    else:
        assert input.trace.recorded is not None
        layouts = [layout_as_recorded(input.trace, input.trace.recorded)]
    return [
        Run(result.layout, result, options, pool_resizes=layout.resize)
        for seed in replays.seeds
        for layout, result in zip(
            layouts, replay_layouts(input, layouts, seed, options, where), strict=True
        )
    ]


def _recorded_policy(name: str, recorded: Recorded) -> PolicySpec:
    try:
        return parse_policy(recorded.policy)
    except PolicyError:
        raise TidepoolError(
            f'{name}: recorded under "{recorded.policy}", which the simulator does not have',
            "Choose a policy with --policy.",
        ) from None


def _cells(
    specs: Sequence[PolicySpec],
    sizes: Sequence[int],
    seeds: Sequence[int],
    tiers: Sequence[Ssd | None] = (None,),
) -> list[Cell]:
    """Return the replays to make; a seed more makes none if nothing depends on it."""
    return [
        Cell(spec, size, seed, ssd)
        for spec in specs
        for size in sizes
        for ssd in tiers
        for seed in (seeds if _depends_on_seed(spec, ssd) else seeds[:1])
    ]


def _depends_on_seed(spec: PolicySpec, ssd: Ssd | None) -> bool:
    return spec.policy.randomized or (ssd is not None and ssd.spec.policy.randomized)


def _check_batch(batch: int, sample: float | None) -> None:
    if batch > 0 and sample is not None:
        raise TidepoolError("a sample has no queues of hits", "Leave out --batch or --sample.")


def _check_ssd(
    ssd: SsdOptions, sample: float | None, resizes: Sequence[Resize], divided: bool
) -> None:
    """Raise TidepoolError for what does not go with an SSD."""
    if ssd.specs and divided:
        raise TidepoolError("pools above an SSD are not simulated", "Leave out --pool.")
    if ssd.specs and sample is not None:
        raise TidepoolError("a tier on an SSD cannot be sampled", "Leave out --sample.")
    if ssd.specs and resizes:
        raise TidepoolError(
            "a pool above an SSD cannot be resized", "Leave out --resize or --ssd-policy."
        )


def _check(
    specs: Sequence[PolicySpec],
    sample: float | None,
    resizes: Sequence[Resize],
    interval: int | None,
    per_relation: bool,
    output: str,
    divided: bool,
) -> None:
    """Raise TidepoolError for what does not go together, before any work."""
    if divided and sample is not None:
        raise TidepoolError("pools cannot be sampled", "Leave out --pool or --sample.")
    for resize in resizes:
        if resize.pool is not None and not divided:
            raise TidepoolError(f'no pool "{resize.pool}" to resize', "Define it with --pool.")
    if resizes and sample is not None:
        raise TidepoolError("a sampled pool cannot be resized", "Leave out --resize or --sample.")
    if resizes and any(spec.policy.handle is None for spec in specs):
        raise TidepoolError(
            "only pools of online policies can be resized", "Leave out --resize or opt."
        )
    if len({(r.reference, r.pool) for r in resizes}) < len(resizes):
        raise TidepoolError("two resizes before the same reference")
    if output == "csv" and interval and per_relation:
        raise TidepoolError(
            "csv holds rows of one kind",
            "Leave out --interval or --per-relation, or use --format json.",
        )


def _check_reach(input: Input, run: Run) -> None:
    """Warn of resizes after the end of the trace."""
    references = run.result.requests + run.options.warmup
    for reference in run.resized:
        if reference >= references:
            click.echo(
                f"tidepool: warning: {input.name}: no resize before reference {reference}, "
                f"the trace has {references}",
                err=True,
            )
