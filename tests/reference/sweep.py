"""Sweeps for pages that a sampling policy will evict soon, as tp_upcoming_sweep in walk.h."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from reference.base import Model

COUNT_EVERY = 7
COUNTED = 256


class Sweep:
    """What is kept between the rounds; ``bands`` are numbered from 0, the coldest."""

    def __init__(self, sample: int, bands: int, band: Callable[[int], int]) -> None:
        self.share = min(1.0, 2.3 / sample + 1 / 16)
        self.last = bands - 1
        self.band = band
        self.next = 0  # member
        self.passed = 0
        self.counts: Counter[int] = Counter()
        self.threshold = -1  # nothing is cold until it has been learned what is
        self.portion = 0.0
        self.credit = 0.0

    def round(self, model: Model, victims: int, unwanted: Collection[int]) -> list[int]:
        """The frames found in a round, which is at most once over all members."""
        found: list[int] = []
        for _ in range(model.c):
            if len(found) == victims:
                break
            frame = model.members[self.next if self.next < model.c else 0]
            self.next = self.next + 1 if self.next < model.c else 1
            if frame in model.page:
                band = self.band(frame)
                self.count(band, min(model.c, COUNTED))
                if frame not in unwanted and self.is_cold(band):
                    found.append(frame)
        return found

    def count(self, band: int, enough: int) -> None:
        if self.passed % COUNT_EVERY == 0 or self.threshold < 0:
            self.counts[band] += 1
            if self.counts.total() >= enough:
                self.learn()
        self.passed += 1

    def learn(self) -> None:
        missing = self.share * self.counts.total()
        self.threshold = 0
        while self.threshold < self.last and self.counts[self.threshold] <= missing:
            missing -= self.counts[self.threshold]
            self.threshold += 1
        here = self.counts[self.threshold]
        self.portion = missing / here if missing < here else 1.0
        self.counts.clear()

    def is_cold(self, band: int) -> bool:
        if band != self.threshold:
            return band < self.threshold
        self.credit += self.portion
        if self.credit < 1:
            return False
        self.credit -= 1
        return True
