"""Replaying layouts of pools for a command."""

from __future__ import annotations

from collections.abc import Sequence

from tidepool.cli.bar import bar
from tidepool.cli.cluster import Backend
from tidepool.cli.grids import warmup_too_long
from tidepool.errors import PolicyError, TidepoolError
from tidepool.options import Input, Resize
from tidepool.policies import PolicySpec
from tidepool.simulation import Layout, LayoutResult, Options, recorded_layout, simulate_layouts
from tidepool.traces import Recorded, Trace


def resizes_of(input: Input, resizes: Sequence[Resize]) -> tuple[tuple[int, str, int], ...]:
    """Return the resizes of pools, which must all name one."""
    for resize in resizes:
        if resize.pool is None:
            raise TidepoolError("a resize names no pool", "Write it as REFERENCE:NAME=SIZE.")
    return tuple((r.reference, r.pool or "", input.frames(r.size)) for r in resizes)


def layout_as_recorded(
    trace: Trace, recorded: Recorded, default: PolicySpec | None = None
) -> Layout:
    """Return the pools of a recording; raise TidepoolError if they cannot be replayed."""
    if recorded.sample_rate < 1:
        raise TidepoolError(
            f"{trace.name}: a sample of the pages does not show what happened in pools",
            "Give --policy and --frames, or record all pages.",
        )
    try:
        return recorded_layout(recorded, default)
    except PolicyError as error:
        raise TidepoolError(f"{trace.name}: recorded with an {error}", error.hint) from None


def replay_layouts(
    input: Input, layouts: Sequence[Layout], seed: int, options: Options, where: Backend
) -> list[LayoutResult]:
    """Replay a trace into each layout."""
    length = input.trace.length
    total = None if length is None else length * len(layouts)
    with bar(f"simulating {input.name}", total) as advance:
        results = simulate_layouts(
            input.trace, layouts, seed, options, where.executor, where.workers, advance
        )
    if any(result.requests == 0 for result in results):
        raise warmup_too_long(input)
    return results
