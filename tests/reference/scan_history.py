"""How relations have been scanned so far: core/include/tidepool/prediction/scan.h, HISTORY."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from reference.base import mix64

REGIONS = 128  # of a relation
HALF = 32  # scans after which history counts half
PROBES = 4  # neighbouring places where a relation's history may be

single = np.float32


def faded(value: np.float32, scans: int) -> np.float32:
    """A number after so many further scans: halved at multiples of HALF, linear between."""
    if scans // HALF > 60:
        return single(0)
    return value / single(2 ** (scans // HALF)) * (single(1) - single(scans % HALF) / single(64))


@dataclass(eq=False)
class RelationHistory:
    relation: int
    begun: int = 0
    last_begin: int = 0
    shift: int = 7  # a region is 2**shift blocks
    interval: np.float32 = field(default_factory=lambda: single(0))
    total: np.float32 = field(default_factory=lambda: single(0))
    # of a region: visits, as of which value of begun
    visits: dict[int, tuple[np.float32, int]] = field(default_factory=dict)

    def visits_of(self, region: int) -> np.float32:
        value, as_of = self.visits.get(region, (single(0), self.begun))
        return faded(value, self.begun - as_of)

    def cover(self, end: int) -> None:
        while end > REGIONS << self.shift:
            halves = [
                (self.visits_of(2 * i) + self.visits_of(2 * i + 1)) / single(2)
                for i in range(REGIONS // 2)
            ]
            self.visits = {i: (value, self.begun) for i, value in enumerate(halves)}
            self.shift += 1


class History:
    """Of a quarter as many relations as there is room for scans, at least four."""

    def __init__(self, capacity: int) -> None:
        places = 4
        while places < capacity // 4:
            places *= 2
        self.places: list[RelationHistory | None] = [None] * places
        self.lead_time = single(0)

    def probed(self, relation: int) -> list[int]:
        home = mix64(relation) >> 32
        return [(home + i) % len(self.places) for i in range(PROBES)]

    def find(self, relation: int) -> RelationHistory | None:
        for i in self.probed(relation):
            place = self.places[i]
            if place is not None and place.relation == relation:
                return place
        return None

    def begin(self, relation: int, end: int, now: int) -> int:
        """A scan of a relation that has blocks up to ``end`` begins.

        Returns the place where the relation's history is.
        """
        history = self.find(relation)
        if history is None:
            history = RelationHistory(relation)
            self.places[self.vacant(relation)] = history
        history.cover(end)
        if history.begun > 0:
            gap = single(max(0, now - history.last_begin))
            weight = max(single(1) / single(history.begun), single(0.0625))
            history.interval += weight * (gap - history.interval)
        history.total = faded(history.total, 1) + single(1)
        history.last_begin = now
        history.begun += 1
        return self.places.index(history)

    def vacant(self, relation: int) -> int:
        """The last empty place, else that of the relation not scanned for longest."""
        probed = self.probed(relation)
        empty = [i for i in probed if self.places[i] is None]

        def last_begin(i: int) -> int:
            place = self.places[i]
            assert place is not None
            return place.last_begin

        return empty[-1] if empty else min(probed, key=last_begin)

    def pass_(
        self, place: int, relation: int, block: int, entered: int | None, taken: int
    ) -> int | None:
        """A scan has come to this block so long after it began; ``entered``: its last region.

        Returns the region that it has entered last now.
        """
        history = self.places[place]
        if history is None or history.relation != relation:  # it was given up
            return entered
        region = block >> history.shift
        if region == entered or region >= REGIONS:
            return entered
        visits = history.visits_of(region) + single(1)
        history.visits[region] = (visits, history.begun)
        if self.lead_time > 0:
            self.lead_time += single(0.01) * (single(taken) - self.lead_time)
        else:
            self.lead_time = single(taken)
        return region

    def interval(self, relation: int, block: int, now: int, is_awaited: bool) -> float:
        """Microseconds from one scan that comes to the block's region to the next.

        ``is_awaited``: a running scan, one of the total, has not come to the block yet.
        """
        history = self.find(relation)
        if history is None or history.begun < 2:
            return inf
        region = block >> history.shift
        visits = float(history.visits_of(region)) if region < REGIONS else 0.0
        if visits <= 0:
            return inf
        since = float(max(0, now - history.last_begin))
        scans = float(history.total) - is_awaited
        return max(float(history.interval), since) * max(1.0, scans / visits)
