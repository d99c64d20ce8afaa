"""What relations would do with buffers of their own: exact LRU curves of read time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidepool.advice.evidence import Prepared, rows_of
from tidepool.advice.gains import price_of
from tidepool.advice.study import Study
from tidepool.simulation.curves import exact_lru_curve
from tidepool.traces.memory import InMemoryTrace

POINTS = 33  # of a curve
NOTICEABLE = 1e-3  # of the time of two pools: less does not move buffers


@dataclass(frozen=True)
class Unit:
    """Relations that are assigned together: a table, an index, a TOAST table with its index."""

    name: str
    relations: frozenset[int]


@dataclass(frozen=True)
class TimeCurve:
    """Milliseconds of reads by buffers, at ``frames``, which ascend from 0."""

    frames: NDArray[np.float64]
    ms: NDArray[np.float64]

    def at(self, frames: float) -> float:
        """Return the milliseconds with so many buffers."""
        return float(np.interp(frames, self.frames, self.ms))

    def worth(self) -> float:
        """Return the most that a buffer saves, on average, if there are as many as that takes."""
        slopes = (self.ms[0] - self.ms[1:]) / self.frames[1:]
        return float(slopes.max()) if len(slopes) else 0.0


def time_curve(study: Study, relations: frozenset[int]) -> TimeCurve:
    """Return the curve of relations that share a pool under LRU.

    Of the sample, scaled to all pages.
    """
    frames = study.setup.frames
    points = np.concatenate([[0.0], np.geomspace(max(1.0, frames / 512), frames, POINTS - 1)])
    total = np.zeros(POINTS)
    for prepared in study.recordings:
        chunk = rows_of(prepared, relations, study.setup.ringed(prepared))
        chunk_rows = len(chunk)
        if not chunk_rows:
            continue
        curve = exact_lru_curve(InMemoryTrace("", [chunk]))
        at = np.maximum(1, points * prepared.rate)
        ratios = np.interp(at, curve.frames, curve.miss_ratio)
        ratios[0] = 1.0
        total += ratios * chunk_rows * _price(study, prepared, relations) / prepared.rate
    return TimeCurve(points, total)


class Curves:
    """Curves of a study's relations, each made once."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._known: dict[frozenset[int], TimeCurve] = {}

    def of(self, relations: frozenset[int]) -> TimeCurve:
        """Return the curve of relations that share a pool under LRU."""
        if relations not in self._known:
            self._known[relations] = time_curve(self._study, relations)
        return self._known[relations]


def _price(study: Study, prepared: Prepared, relations: frozenset[int]) -> float:
    """Return the mean milliseconds of a read of these relations, as the server made them."""
    reads = sum((prepared.live_relations.get(r, np.zeros(2)) for r in relations), np.zeros(2))
    prices = price_of(study.device)
    return float(reads @ prices / reads.sum()) if reads.sum() else float(prices[0])


def split(first: TimeCurve, second: TimeCurve, frames: int, least: int, most: int) -> list[int]:
    """Return sizes of the first of two pools that share the buffers, the best one first."""
    sizes = np.unique(np.geomspace(max(1, least), max(1, most), 4 * POINTS).round().astype(int))
    cost = [first.at(size) + second.at(frames - size) for size in sizes]
    return [int(sizes[i]) for i in np.argsort(cost, kind="stable")]


def divide(
    curves: Sequence[TimeCurve],
    sizes: Sequence[int],
    least: Sequence[int],
    most: Sequence[int] | None = None,
) -> list[int]:
    """Return sizes of pools such that no two of them save time by dividing theirs otherwise.

    ``sizes`` is where to begin; no pool gets fewer buffers than its ``least``,
    or more than its ``most``.
    """
    found = list(sizes)
    limits = most or [sum(sizes)] * len(sizes)
    while True:
        before = list(found)
        for i in range(1, len(found)):
            for j in range(i):
                both = found[i] + found[j]
                fewest = max(least[i], both - limits[j])
                largest = min(limits[i], both - least[j])
                size = split(curves[i], curves[j], both, fewest, largest)[0]
                cost = curves[i].at(size) + curves[j].at(both - size)
                if cost < (1 - NOTICEABLE) * (curves[i].at(found[i]) + curves[j].at(found[j])):
                    found[i], found[j] = size, both - size
        if found == before:
            return found


def worth_of(units: Sequence[Unit], curves: Sequence[TimeCurve]) -> list[Unit]:
    """Return the units, those whose buffers are worth most first."""
    order = sorted(range(len(units)), key=lambda i: -curves[i].worth())
    return [units[i] for i in order]
