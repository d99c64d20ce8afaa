"""W-TinyLFU, with the count-min sketch of core/include/tidepool/parts/sketch.h."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import MASK, Evicted, Frames, Model, last_usable, mix64, promotes

ROWS = 4  # counters that a key has
COLUMNS = 28
MOST = 15  # highest count
SAMPLE = 10  # additions per frame at which all is halved


def page_key(page: int) -> int:
    """As tp_page_key of core/include/tidepool/page.h."""
    spread = (page >> 64) * 0xD1342543DE82EF95
    return mix64((page & MASK) + spread + 0x9E3779B97F4A7C15 & MASK)


class Sketch:
    """A group of counters for every four frames; everything is halved at once."""

    def __init__(self) -> None:
        self.groups: list[list[list[int]]] = []
        self.additions = 0

    def group_of(self, key: int) -> list[list[int]]:
        """Linear hashing: as many bits of the key as give the number of a group."""
        level = 1
        while 2 * level <= len(self.groups):
            level *= 2
        number = key % (2 * level)
        return self.groups[number if number < len(self.groups) else key % level]

    def places(self, page: int) -> list[tuple[list[int], int]]:
        """A row and a column of it for each of the page's counters."""
        key = page_key(page)
        group = self.group_of(key & 0xFFFFFFFF)
        return [(group[r], (key >> 8 * (4 + r) & 0xFF) * COLUMNS // 256) for r in range(ROWS)]

    def add(self, page: int, frames: int) -> None:
        if not self.groups:
            return
        places = self.places(page)
        if any(row[column] < MOST for row, column in places):
            self.additions += 1
        for row, column in places:
            row[column] = min(row[column] + 1, MOST)
        if self.additions >= SAMPLE * frames:
            self.additions //= 2
            self.groups = [[[n // 2 for n in row] for row in group] for group in self.groups]

    def estimate(self, page: int) -> int:
        return min(row[column] for row, column in self.places(page)) if self.groups else 0

    def resize(self, frames: int) -> None:
        if frames // 4 > len(self.groups):
            number = len(self.groups)
            if number == 0:
                self.groups.append([[0] * COLUMNS for _ in range(ROWS)])
            else:
                self.groups.append([list(row) for row in self.groups[parent(number)]])
        elif frames // 4 < len(self.groups):
            last = self.groups.pop()
            if self.groups:
                into = self.groups[parent(len(self.groups))]
                for r in range(ROWS):
                    into[r] = [max(a, b) for a, b in zip(into[r], last[r], strict=True)]


def parent(group: int) -> int:
    """The group that this one is split from: without its highest bit."""
    return int(bin(group)[3:] or "0", 2)


class WTinyLFU(Model):
    policy = "w_tinylfu"
    linked = ("window", "probation", "protected")

    def init(self) -> None:
        self.sketch = Sketch()
        self.window = Frames()
        self.probation = Frames()
        self.protected = Frames()

    @property
    def main(self) -> int:
        return min(floor((1 - self.params["window"]) * self.c), self.c - 1) if self.c else 0

    @property
    def max_window(self) -> int:
        return self.c - self.main

    @property
    def max_protected(self) -> int:
        return floor(self.params["protected"] * self.main)

    @property
    def window_is_full(self) -> bool:
        """With the pages that are about to come in."""
        return len(self.window) + self.c - len(self.page) >= self.max_window

    def estimate(self, frame: int) -> int:
        return self.sketch.estimate(self.page[frame])

    def list_of(self, frame: int) -> Frames:
        for frames in (self.window, self.probation):
            if frame in frames:
                return frames
        return self.protected

    def on_join(self, frame: int) -> None:
        self.sketch.resize(self.c)

    def on_leave(self, frame: int, slot: int) -> None:
        self.sketch.resize(self.c)
        self.keep_bounds()

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        super().on_restore(frame, evicted)
        self.keep_bounds()

    def keep_bounds(self) -> None:
        while len(self.window) > self.max_window:
            self.probation.insert(0, self.window.pop())
        while len(self.protected) > self.max_protected:
            self.probation.insert(0, self.protected.pop())

    def on_hit(self, frame: int, flags: int) -> None:
        self.sketch.add(self.page[frame], self.c)
        if frame in self.window:
            self.window.to_head(frame)
            return
        if frame in self.probation:
            self.probation.remove(frame)
            self.protected.insert(0, frame)
        self.protected.to_head(frame)
        if len(self.protected) > self.max_protected:
            self.probation.insert(0, self.protected.pop())

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        candidate = None
        rival = self.probation.search(unusable)
        if self.window_is_full:
            candidate = self.window.search(unusable, use_hand=False)
        if candidate is not None and rival is not None:
            return rival if self.estimate(candidate) > self.estimate(rival) else candidate
        for choice in (candidate, rival):
            if choice is not None:
                return choice
        for frames in (self.protected, self.window):
            choice = frames.search(unusable)
            if choice is not None:
                return choice
        return last_usable(self.window + self.protected + self.probation, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        if promotes(flags):
            self.sketch.add(page, self.c)
        self.window.insert(0, frame)
        if len(self.window) > self.max_window:
            self.probation.insert(0, self.window.pop())

    def on_forget(self, frame: int) -> None:
        self.list_of(frame).remove(frame)

    def window_goes_first(self) -> bool:
        if not self.window or not self.probation:
            return True  # or false: it is all the same
        return self.window_is_full and self.estimate(self.window[-1]) <= self.estimate(
            self.probation[-1]
        )

    def coldest(self) -> list[int]:
        if self.window_goes_first():
            return self.window[::-1] + self.probation[::-1] + self.protected[::-1]
        return self.probation[::-1] + self.window[::-1] + self.protected[::-1]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        last = [] if self.probation else self.protected
        lists = (self.window, self.probation, last)
        return [frame for frames in lists for frame in frames[::-1][:victims]]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "window": self.show_list(self.window),
            "probation": self.show_list(self.probation),
            "protected": self.show_list(self.protected),
            "max_window": str(self.max_window),
            "max_protected": str(self.max_protected),
            "additions": str(self.sketch.additions),
        }
