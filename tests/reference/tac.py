"""Temperature-aware caching, from the definition in core/policies/tac.c."""

from __future__ import annotations

import math
from collections.abc import Collection

from reference.base import Evicted, Frames, Model, PassedList, last_usable, search
from reference.extents import Extents

BANDS = 10


class TAC(Model):
    """A level is the exponent of a temperature as though none had ever been halved."""

    savings = (1.0, 0.01)  # of a pool without a tier

    def init(self) -> None:
        self.banded = self.params["order"] == 1
        self.extents: Extents | None = None
        self.seen: dict[int, tuple[float, int]] = {}  # frame: temperature, as of which epoch
        self.passed = PassedList()  # frames, not by bands
        self.bands: dict[int, Frames] = {}  # level
        self.top = 0

    def read(self, page: int) -> None:
        if self.extents is None:  # the pool's capacity sets what an epoch is
            aging = max(1, int(self.params["aging"] * self.capacity))
            self.extents = Extents(
                int(self.params["extent"]),
                int(self.params["window"]),
                int(self.params["sequential_above"]),
                aging,
                self.savings,
            )
        self.extents.read(page)

    @property
    def epoch(self) -> int:
        return 0 if self.extents is None else len(self.extents.reads) // self.extents.aging

    def temperature(self, page: int) -> float:
        return 0.0 if self.extents is None else self.extents[page]

    # ---- by heap ----

    def aged(self, frame: int) -> float:
        """The temperature last looked at, as of now."""
        temperature, epoch = self.seen[frame]
        return temperature * 2.0 ** (epoch - self.epoch)

    def look(self, frame: int) -> None:
        self.seen[frame] = (self.temperature(self.page[frame]), self.epoch)

    def heap_choice(self, unusable: Collection[int]) -> int | None:
        for _ in self.passed.look_again(unusable):
            self.passed.pop()
        refresh = int(self.params["heap_refresh"])
        while frames := [frame for frame in self.page if frame not in self.passed]:
            choice = min(frames, key=lambda f: (self.aged(f), f))
            if choice in unusable:
                self.passed.insert(0, choice)
            elif refresh == 0 or self.temperature(self.page[choice]) <= self.aged(choice):
                return choice
            else:
                refresh -= 1
                self.look(choice)
        return last_usable(self.passed, unusable)

    # ---- by bands ----

    def level(self, page: int) -> float:
        temperature = self.temperature(page)
        if temperature == 0:
            return -math.inf
        return math.frexp(temperature)[1] - 1 + self.epoch

    def band_for(self, page: int) -> int:
        level = self.level(page)
        while self.top < level:
            self.top += 1
            falls_off = self.bands.pop(self.top - BANDS, Frames())
            if falls_off:
                self.bands[self.lowest] = Frames(self.band(self.lowest) + falls_off)
        return int(max(level, self.lowest))

    @property
    def lowest(self) -> int:
        return self.top - BANDS + 1

    def band(self, level: int) -> Frames:
        return self.bands.setdefault(level, Frames())

    def band_of(self, frame: int) -> int:
        return next(level for level, frames in self.bands.items() if frame in frames)

    def place_in_band(self, frame: int) -> None:
        self.band(self.band_for(self.page[frame])).insert(0, frame)

    def band_choice(self, unusable: Collection[int]) -> int | None:
        refresh = int(self.params["heap_refresh"])
        while True:
            bands = [self.band(level) for level in range(self.lowest, self.top + 1)]
            choice = search(bands, unusable)
            if choice is None or refresh == 0:
                return choice
            if self.level(self.page[choice]) <= self.band_of(choice):
                return choice
            refresh -= 1
            self.bands[self.band_of(choice)].remove(choice)
            self.place_in_band(choice)

    def in_bands(self) -> list[int]:
        """The frames, coldest first."""
        return [frame for _, frames in sorted(self.bands.items()) for frame in frames[::-1]]

    # ---- the operations ----

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        choice = self.band_choice(unusable) if self.banded else self.heap_choice(unusable)
        if choice is None:
            return None
        incoming, coldest = self.temperature(page), self.temperature(self.page[choice])
        admitted = incoming > coldest and incoming >= (1 + self.params["admit_margin"]) * coldest
        return choice if admitted else None

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        if self.banded:
            self.place_in_band(frame)
        else:
            self.look(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        self.on_admit(frame, evicted.page, 0)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_forget(self, frame: int) -> None:
        if self.banded:
            self.bands[self.band_of(frame)].remove(frame)
        else:
            del self.seen[frame]
            if frame in self.passed:
                self.passed.remove(frame)

    # ---- what is shown ----

    def coldest(self) -> list[int]:
        if self.banded:
            return self.in_bands()

        def exponent(frame: int) -> float:
            temperature = self.aged(frame)
            if temperature == 0:
                return -math.inf
            return min(max(math.frexp(temperature)[1] - 1, -20), 39)

        return sorted([frame for frame in self.members if frame in self.page], key=exponent)

    def may_find(self, found: list[int], victims: int, unwanted: Collection[int]) -> bool:
        """By heap, so many frames and the coldest: heaps have cells, models do not."""
        if self.banded:
            return super().may_find(found, victims, unwanted)
        cached = set(self.page) - set(self.passed)
        if unwanted:
            return set(found) <= cached - set(unwanted)
        coldest = min(cached, key=lambda f: (self.aged(f), f), default=None)
        return (
            len(found) == len(set(found)) == min(victims, len(cached))
            and set(found) <= cached
            and (coldest is None or found[0] == coldest)
        )

    def state(self) -> dict[str, list[str] | str]:
        cached = [
            frame
            for frame in self.members
            if frame in self.page and not self.banded and frame not in self.passed
        ]
        lists: dict[str, list[str] | str] = {
            "cached": [self.show(frame) for frame in cached],
            "passed": [self.show(frame) for frame in self.passed],
        }
        for i in range(BANDS):
            levels = [level for level in self.bands if level % BANDS == i]
            lists[f"b{i}"] = [
                text for level in levels for text in self.show_list(self.bands[level])
            ]
        return lists
