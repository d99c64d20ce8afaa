"""Temperatures of extents (core/include/tidepool/tier/extents.h), of any number of them."""

from __future__ import annotations

from collections import defaultdict


class Extents:
    """All that was saved by reads, halved at the end of every epoch.

    ``counts`` has for each extent the random reads of its pages, in eighths;
    ``recent`` what was saved, halved at the end of every short epoch.  ``aging``
    and ``burst``, the reads of an epoch and a short one, may be changed.
    """

    def __init__(
        self,
        pages: int,
        window: int,
        above: int,
        aging: int,
        savings: tuple[float, float],
        burst: int = 1,
        streams: bool = False,
    ) -> None:
        self.pages, self.window, self.above, self.aging = pages, window, above, aging
        self.burst, self.streams = burst, streams
        self.random_saving, self.sequential_saving = savings
        self.reads: list[int] = []  # every page read, newest last
        self.epoch = 0
        self.epoch_begin = self.short_epoch_begin = 0  # in reads
        self.positions: list[int] = []  # of streams, the one accessed last first
        self.temperatures: dict[int, float] = defaultdict(float)
        self.recent: dict[int, float] = defaultdict(float)
        self.counts: dict[int, list[int]] = defaultdict(lambda: [0] * min(pages, 32))

    def extent(self, page: int) -> int:
        relation, block = page >> 32, page & 0xFFFFFFFF
        return relation << 32 | block // self.pages

    def group(self, page: int) -> int:
        number = (page & 0xFFFFFFFF) % self.pages
        return number if self.pages <= 32 else number * 32 // self.pages

    def near(self, a: int, b: int) -> bool:
        return a >> 32 == b >> 32 and abs(a - b) < self.pages

    def is_sequential(self, page: int) -> bool:
        if not self.streams:
            looked_at = self.reads[-self.window :]
            return sum(self.near(other, page) for other in looked_at) > self.above
        behind = [p for p in self.positions if p >> 32 == page >> 32 and 0 <= page - p <= 32]
        if behind:
            self.positions.remove(max(behind))
        self.positions = [page, *self.positions][:64]
        return bool(behind) and max(behind) < page

    def read(self, page: int) -> bool:
        """Returns whether the read is sequential."""
        sequential = self.is_sequential(page)
        saving = self.sequential_saving if sequential else self.random_saving
        extent = self.extent(page)
        if saving > 0:
            self.temperatures[extent] += saving
            self.recent[extent] += saving
            if not sequential:
                counts = self.counts[extent]
                group = self.group(page)
                counts[group] = counts[group] + 8 if counts[group] <= 247 else 255
        self.reads.append(page)
        if len(self.reads) - self.epoch_begin >= self.aging:
            self.epoch += 1
            self.epoch_begin = len(self.reads)
            for extent in self.temperatures:
                self.temperatures[extent] /= 2
                self.counts[extent] = [count // 2 for count in self.counts[extent]]
        if len(self.reads) - self.short_epoch_begin >= self.burst:
            self.short_epoch_begin = len(self.reads)
            for extent in self.recent:
                self.recent[extent] /= 2
        return sequential

    def __getitem__(self, page: int) -> float:
        return self.temperatures[self.extent(page)]

    def page_factor(self, page: int) -> float:
        """How much more, or less, the page is read than the mean of its extent."""
        counts = self.counts[self.extent(page)]
        mean = sum(counts) / len(counts) / 8
        if mean == 0:
            return 1
        square = sum(count * count for count in counts) / len(counts) / 64
        difference = square - mean * mean - mean * 2 / 3
        if difference <= 0:
            return 1
        own = counts[self.group(page)] / 8
        return 1 + (own / mean - 1) * (difference / (difference + mean))

    def of_page(self, page: int, pages: bool, burst_weight: float) -> float:
        """As tp_extents_page."""
        burst = burst_weight * (self.aging / self.burst)
        page_factor = self.page_factor(page) if pages else 1
        return self[page] * page_factor + burst * self.recent[self.extent(page)]
