"""SSD tiers below a server's memory as it was: the server's own, or others in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidepool.errors import PolicyError, TidepoolError
from tidepool.experiments.backend import Backend
from tidepool.experiments.plan import Plan
from tidepool.experiments.runs import Run
from tidepool.options import Input
from tidepool.simulation import SsdResult, replay_recorded_ssd, simulate_below


def with_ssds(plan: Plan, input: Input, runs: Sequence[Run], where: Backend) -> list[Run]:
    """Return a trace's runs with what SSDs below its server did, or would have done.

    The same runs, if the plan does not let SSDs follow the server.
    """
    if not plan.follows(input.trace):
        return list(runs)
    found: dict[int, list[tuple[str, SsdResult]]] = {}
    for run in runs:
        seed = run.result.seed
        if seed not in found:
            found[seed] = _tiers(plan, input, seed, run.options.warmup, where)
    return [
        replace(run, result=replace(run.result, ssd=result), ssd=label)
        for run in runs
        for label, result in found[run.result.seed]
    ]


def _tiers(
    plan: Plan, input: Input, seed: int, warmup: int, where: Backend
) -> list[tuple[str, SsdResult]]:
    trace = input.trace
    with where.bar(f"simulating {input.name}", trace.length) as advance:
        if plan.ssd is not None and plan.ssd.specs:
            ssds = [each for each in plan.ssd.ssds(input) if each is not None]
            results = simulate_below(trace, ssds, seed, where.workers, advance, warmup)
            return [(str(each.spec), result) for each, result in zip(ssds, results, strict=True)]
        assert trace.recorded is not None and trace.recorded.ssd is not None
        spec = trace.recorded.ssd.spec
        try:
            result = replay_recorded_ssd(trace, progress=advance, warmup=warmup)
        except PolicyError:
            raise TidepoolError(
                f'{input.name}: its SSD was under "{spec}", which the simulator does not have',
                "Choose another with --ssd-policy and --ssd-frames.",
            ) from None
        return [(f"{spec}, as recorded", result)]
