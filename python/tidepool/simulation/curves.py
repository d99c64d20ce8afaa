"""Miss-ratio curves: exact for LRU in one pass, simulated for any policy, exact or sampled."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.policies import PolicySpec
from tidepool.simulation.events import Events, positioned
from tidepool.simulation.grid import Cell, Progress, simulate
from tidepool.simulation.options import Options, Sampling
from tidepool.traces.model import Trace


@dataclass(frozen=True)
class Curve:
    """The miss ratio of a policy on a trace by number of frames.

    ``frames`` ascends; ``error`` is the standard error of each miss ratio,
    None if they are exact.  Between the points the curve is a line, for exact
    LRU curves every integer between two points has the lower one's ratio.
    """

    trace: str
    policy: str
    frames: NDArray[np.int64]
    miss_ratio: NDArray[np.float64]
    requests: int
    error: NDArray[np.float64] | None = None
    sample_rate: float | None = None

    def at(self, frames: int) -> float:
        """Return the miss ratio with this many frames, interpolated between points."""
        return float(np.interp(frames, self.frames, self.miss_ratio))


def exact_lru_curve(trace: Trace, warmup: int = 0, progress: Progress | None = None) -> Curve:
    """Return the miss ratio of LRU for every number of frames, in one pass.

    ``frames`` is 1 … the deepest stack distance, at least 1.  Pages that cease
    to exist leave free frames behind.  Correlated and VACUUM references count
    like all others, as in textbook LRU.
    """
    stack = lib.tps_stack_new(warmup)
    if stack == ffi.NULL:
        raise MemoryError("no memory for stack distances")
    stack = ffi.gc(stack, lib.tps_stack_free)
    for position, chunk in positioned(trace):
        if not lib.tps_stack_feed(stack, Events(chunk, position).pointer):
            raise MemoryError("no memory for stack distances")
        if progress:
            progress(len(chunk))
    requests, cold, distinct = (ffi.new("uint64_t *") for _ in range(3))
    lib.tps_stack_totals(stack, requests, cold, distinct)
    counts = ffi.new("uint64_t **")
    n = lib.tps_stack_histogram(stack, counts)
    histogram = (
        np.frombuffer(ffi.buffer(counts[0], 8 * n), dtype=np.uint64).astype(np.int64)
        if n
        else np.zeros(1, np.int64)
    )
    hits = np.cumsum(histogram)
    ratio = 1 - hits / requests[0] if requests[0] else np.zeros(len(hits))
    return Curve(
        trace=trace.name,
        policy="lru",
        frames=np.arange(1, len(hits) + 1),
        miss_ratio=ratio,
        requests=requests[0],
    )


def exact_lru_points(
    trace: Trace, frames: Sequence[int], warmup: int = 0
) -> tuple[tuple[int, float], ...]:
    """Return the exact miss ratio of LRU with each of these numbers of frames."""
    curve = exact_lru_curve(trace, warmup)
    return tuple((size, curve.at(size)) for size in frames)


def sampled_curves(
    trace: Trace,
    specs: Sequence[PolicySpec],
    frames: Sequence[int],
    sampling: Sampling | None,
    warmup: int = 0,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    control: bool = False,
    pages: int | None = None,
) -> list[Curve]:
    """Return a curve per policy over these sizes, by simulation of each size.

    With ``sampling`` each point is a miniature simulation and has an error;
    without, it is exact.  With ``control`` the exact LRU curve, one more pass
    over the whole trace, serves as the control variate of sampled points.
    ``pages`` is the number of distinct pages, if it is known.
    """
    frames = sorted(set(frames))
    if sampling is not None and control:
        points = (
            executor.submit(exact_lru_points, trace, frames, warmup).result()
            if executor
            else exact_lru_points(trace, frames, warmup)
        )
        sampling = replace(sampling, lru=points)
    cells = [Cell(spec, size, seed) for spec in specs for size in frames]
    options = Options(warmup=warmup, sampling=sampling)
    results = simulate([(trace, cells)], options, executor, workers, progress, [pages])
    curves = []
    for i, spec in enumerate(specs):
        part = results[i * len(frames) : (i + 1) * len(frames)]
        curves.append(
            Curve(
                trace=trace.name,
                policy=str(spec),
                frames=np.array(frames, dtype=np.int64),
                miss_ratio=np.array([1 - result.hit_ratio for result in part]),
                requests=part[0].requests if part else 0,
                error=np.array([result.error for result in part]) if sampling else None,
                sample_rate=sampling.rate if sampling else None,
            )
        )
    return curves
