"""Temperatures of extents (core/include/tidepool/extents.h), of any number of them."""

from __future__ import annotations

from collections import defaultdict


class Extents:
    """All that was saved by reads, halved at the end of every epoch."""

    def __init__(
        self, pages: int, window: int, above: int, aging: int, savings: tuple[float, float]
    ) -> None:
        self.pages, self.window, self.above, self.aging = pages, window, above, aging
        self.random_saving, self.sequential_saving = savings
        self.recent: list[int] = []  # every page read, newest last
        self.temperatures: dict[int, float] = defaultdict(float)

    def extent(self, page: int) -> int:
        relation, block = page >> 32, page & 0xFFFFFFFF
        return relation << 32 | block // self.pages

    def near(self, a: int, b: int) -> bool:
        return a >> 32 == b >> 32 and abs(a - b) < self.pages

    def read(self, page: int) -> bool:
        """Returns whether the read is sequential."""
        looked_at = self.recent[-self.window :]
        sequential = sum(self.near(other, page) for other in looked_at) > self.above
        saving = self.sequential_saving if sequential else self.random_saving
        self.temperatures[self.extent(page)] += saving
        self.recent.append(page)
        if len(self.recent) % self.aging == 0:
            for extent in self.temperatures:
                self.temperatures[extent] /= 2
        return sequential

    def __getitem__(self, page: int) -> float:
        return self.temperatures[self.extent(page)]
