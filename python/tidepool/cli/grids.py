"""Replaying grids for a command: traces in turn here, all at once on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from tidepool.cli.failures import Failures
from tidepool.errors import TraceError
from tidepool.experiments.backend import Backend
from tidepool.experiments.plan import Grid, warmup_too_long
from tidepool.experiments.replays import Replayed, replayed
from tidepool.options import Input


def replay_grids(
    inputs: Iterable[Input],
    grids_of: Callable[[Input], Iterable[Grid]],
    backend: Backend,
    failures: Failures,
) -> Iterator[Replayed]:
    """Yield each grid of each input with a result per cell, in their order.

    Here a trace is let go of when its grids are done, before the next one is
    read.  A cluster gets all traces with the same options at once, so that its
    workers do not wait for the last replay of each.  A trace that is damaged or
    has nothing to count is reported and skipped.
    """
    grids = _made(inputs, grids_of, failures)
    if backend.executor is None:
        for grid in grids:
            yield from _replay([grid], backend, failures)
    else:
        for _, alike in groupby(grids, key=lambda grid: grid.options):
            yield from _replay(list(alike), backend, failures)


def _made(
    inputs: Iterable[Input], grids_of: Callable[[Input], Iterable[Grid]], failures: Failures
) -> Iterator[Grid]:
    for input in inputs:
        grids: list[Grid] = []
        with failures.reported():
            grids = list(grids_of(input))
        yield from grids


def _replay(grids: Sequence[Grid], backend: Backend, failures: Failures) -> Iterator[Replayed]:
    done: list[Replayed] = []
    each_alone = False
    with failures.reported():
        try:
            done = replayed(grids, backend)
        except TraceError:
            if len(grids) == 1:
                raise
            each_alone = True  # one is damaged: find it
    for grid in grids if each_alone else ():
        yield from _replay([grid], backend, failures)
    for grid, results in done:
        with failures.reported():
            if any(result.requests == 0 for result in results):
                raise warmup_too_long(grid.input.trace)
            yield grid, results
