"""What is asked of traces, and the replays that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tidepool.errors import PolicyError, TidepoolError
from tidepool.options import Amount, GivenPool, GivenSize, Input, Resize, SsdOptions
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation import (
    Cell,
    Layout,
    Options,
    Sampling,
    Size,
    Ssd,
    recorded_layout,
)
from tidepool.traces import Recorded, Trace


class MissingError(TidepoolError):
    """A trace that is no server's recording needs something that was left open."""

    def __init__(self, trace: Trace, missing: str) -> None:
        super().__init__(
            f"no {missing} given, and {trace.name} is not a server's recording",
            f"Name the {missing}.",
        )
        self.trace, self.missing = trace, missing


@dataclass(frozen=True)
class Grid:
    """Replays of one trace with one set of options."""

    input: Input
    cells: Sequence[Cell]
    options: Options


@dataclass(frozen=True)
class Plan:
    """The replays of every trace; what is left open is as the server had it that recorded it.

    Raises TidepoolError for what does not go together.
    """

    specs: tuple[PolicySpec, ...] = ()
    frames: tuple[GivenSize, ...] = ()
    seeds: tuple[int, ...] = ()
    warmup: Amount = field(default=Amount(references=0))
    interval: int = 0
    per_relation: bool = False
    correlation_window: int = 0
    batch: int | None = None
    sample: float | None = None
    resizes: tuple[Resize, ...] = ()
    pools: tuple[GivenPool, ...] = ()
    ssd: SsdOptions | None = None

    def __post_init__(self) -> None:
        if self.batch and self.sample is not None:
            raise TidepoolError(
                "a sample has no queues of hits", "Leave out the batch or the sample."
            )
        self._check_resizes()
        if self.pools and self.sample is not None:
            raise TidepoolError("pools cannot be sampled", "Leave out the pools or the sample.")
        if self.ssd is not None and self.ssd.specs:
            self._check_ssd()

    def _check_resizes(self) -> None:
        for resize in self.resizes:
            if resize.pool is not None and not self.pools:
                raise TidepoolError(f'no pool "{resize.pool}" to resize', "Define the pool.")
        if self.resizes and self.sample is not None:
            raise TidepoolError(
                "a sampled pool cannot be resized", "Leave out the resizes or the sample."
            )
        if self.resizes and any(spec.policy.handle is None for spec in self.specs):
            raise TidepoolError(
                "only pools of online policies can be resized", "Leave out the resizes or opt."
            )
        if len({(r.reference, r.pool) for r in self.resizes}) < len(self.resizes):
            raise TidepoolError("two resizes before the same reference")

    def _check_ssd(self) -> None:
        if self.pools:
            raise TidepoolError("pools above an SSD are not simulated", "Leave out the pools.")
        if self.sample is not None:
            raise TidepoolError("a tier on an SSD cannot be sampled", "Leave out the sample.")
        if self.resizes:
            raise TidepoolError(
                "a pool above an SSD cannot be resized", "Leave out the resizes or the SSD."
            )

    def _check_as_recorded(self, trace: Trace) -> None:
        """Raise TidepoolError for what cannot be asked of the pools of a recording."""
        otherwise = "Name policies and frames to replay the recording into one pool."
        if self.sample is not None:
            raise TidepoolError("pools cannot be sampled", otherwise)
        if self.ssd is not None and self.ssd.specs and not self.follows(trace):
            raise TidepoolError("pools above an SSD are not simulated", otherwise)
        if self.resizes:
            raise TidepoolError("a recording says how its pools were resized", otherwise)

    def of(self, trace: Trace) -> Plan:
        """Return it with what is left open filled in; raise TidepoolError if that cannot be."""
        recorded = trace.recorded
        if recorded is None:
            for missing, given in (("policies", self.specs), ("frames", self.frames)):
                if not given:
                    raise MissingError(trace, missing)
            return replace(self, seeds=self.seeds or (0,), batch=self.batch or 0)
        batch = 0 if self.sample is not None else recorded.batch
        return replace(
            self,
            specs=self.specs or (_recorded_policy(trace.name, recorded),),
            frames=self.frames or (GivenSize(str(recorded.frames), Size(frames=recorded.frames)),),
            seeds=self.seeds or (recorded.seed,),
            batch=batch if self.batch is None else self.batch,
        )

    def follows(self, trace: Trace) -> bool:
        """Whether SSDs get what the recording says that the server read and wrote.

        So they do if memory is as it was in the server.
        """
        recorded = trace.recorded
        return (
            recorded is not None
            and recorded.physical
            and not (self.specs or self.frames or self.resizes or self.pools)
            and self.sample is None
            and bool(recorded.ssd or (self.ssd is not None and self.ssd.specs))
        )

    def divides(self, trace: Trace) -> bool:
        """Whether it is replayed into pools: those given, or those that the server had."""
        recorded = trace.recorded
        as_recorded = (
            recorded is not None and bool(recorded.pools) and not (self.specs or self.frames)
        )
        return bool(self.pools) or as_recorded

    def options(self, input: Input) -> Options:
        """Return the options of replays of this trace, the sample apart."""
        return Options(
            warmup=self.warmup.resolve(input.references),
            interval=self.interval,
            correlation_window=self.correlation_window,
            batch=self.of(input.trace).batch or 0,
            scans=input.trace.recorded.scans if input.trace.recorded else 0,
            per_relation=self.per_relation,
            resize=tuple(
                (r.reference, input.frames(r.size)) for r in self.resizes if r.pool is None
            ),
        )

    def grids(self, input: Input) -> Iterator[Grid]:
        """Yield the replays of a trace into one pool: a grid, or one for each sample."""
        plan = self.of(input.trace)
        sizes = list(dict.fromkeys(input.frames(size) for size in plan.frames))
        options = self.options(input)
        if self.sample is None:
            below = self.ssd is None or self.follows(input.trace)
            tiers = [None] if below or self.ssd is None else self.ssd.ssds(input)
            yield Grid(input, _cells(plan.specs, sizes, plan.seeds, tiers), options)
            return
        for seed in plan.seeds:
            cells = [Cell(spec, size, seed) for spec in plan.specs for size in sizes]
            yield Grid(input, cells, replace(options, sampling=Sampling(self.sample, seed)))

    def layouts(self, input: Input) -> list[Layout]:
        """Return the pools to replay a trace into: for each policy of DEFAULT and size in all."""
        if not self.pools:
            self._check_as_recorded(input.trace)
            assert input.trace.recorded is not None
            return [layout_as_recorded(input.trace, input.trace.recorded)]
        plan = self.of(input.trace)
        given = tuple(pool.of(input) for pool in self.pools)
        for resize in self.resizes:
            if resize.pool is None:
                raise TidepoolError("a resize names no pool", "Write it as REFERENCE:NAME=SIZE.")
        resizes = tuple((r.reference, r.pool or "", input.frames(r.size)) for r in self.resizes)
        return [
            Layout(spec, input.frames(size), given, resizes)
            for spec in plan.specs
            for size in plan.frames
        ]


def layout_as_recorded(
    trace: Trace, recorded: Recorded, default: PolicySpec | None = None
) -> Layout:
    """Return the pools of a recording; raise TidepoolError if they cannot be replayed."""
    if recorded.sample_rate < 1:
        raise TidepoolError(
            f"{trace.name}: a sample of the pages does not show what happened in pools",
            "Give policies and frames, or record all pages.",
        )
    try:
        return recorded_layout(recorded, default)
    except PolicyError as error:
        raise TidepoolError(f"{trace.name}: recorded with an {error}", error.hint) from None


def warmup_too_long(trace: Trace) -> TidepoolError:
    """Return the error for a trace of which nothing was counted."""
    return TidepoolError(
        f"{trace.name}: the trace is not longer than the warm-up",
        "Lower the warm-up, or give it as a share (20%).",
    )


def _recorded_policy(name: str, recorded: Recorded) -> PolicySpec:
    try:
        return parse_policy(recorded.policy)
    except PolicyError:
        raise TidepoolError(
            f'{name}: recorded under "{recorded.policy}", which the simulator does not have',
            "Choose a policy.",
        ) from None


def _cells(
    specs: Sequence[PolicySpec],
    sizes: Sequence[int],
    seeds: Sequence[int],
    tiers: Sequence[Ssd | None],
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
