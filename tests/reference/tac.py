"""Temperature-aware caching: the page of the coldest extent goes."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection

from reference.base import REFUSED, Evicted, Model, PassedList, last_usable
from reference.extents import Extents


def rounded(temperature: float) -> float:
    """A temperature as a frame keeps it, in 24 bits."""
    return float(struct.unpack("f", struct.pack("f", temperature))[0])


class TAC(Model):
    policy = "tac"
    heap = "cached"

    savings = (1.0, 0.01)  # of a pool without a tier

    def init(self) -> None:
        self.extents: Extents | None = None
        self.seen: dict[int, tuple[float, int]] = {}  # frame: temperature, as of which epoch
        self.passed = PassedList()

    def read(self, page: int) -> None:
        if self.extents is None:
            self.extents = Extents(
                int(self.params["extent"]),
                int(self.params["window"]),
                int(self.params["sequential_above"]),
                1,
                self.savings,
            )
        self.extents.aging = max(1, int(self.params["aging"] * self.c))
        self.extents.read(page)

    @property
    def epoch(self) -> int:
        return 0 if self.extents is None else self.extents.epoch

    def temperature(self, page: int) -> float:
        return 0.0 if self.extents is None else self.extents[page]

    def aged(self, frame: int) -> float:
        """The temperature last looked at, as of now."""
        temperature, epoch = self.seen[frame]
        return temperature * 2.0 ** (epoch - self.epoch)

    def look(self, frame: int) -> None:
        self.seen[frame] = (rounded(self.temperature(self.page[frame])), self.epoch)

    def coldest_usable(self, unusable: Collection[int]) -> int | None:
        for _ in self.passed.look_again(unusable):
            self.passed.pop()
        refresh = int(self.params["heap_refresh"])
        while frames := [frame for frame in self.page if frame not in self.passed]:
            choice = min(frames, key=lambda f: (self.aged(f), f))
            if choice in unusable:
                self.passed.insert(0, choice)
            elif refresh == 0 or rounded(self.temperature(self.page[choice])) <= self.aged(choice):
                return choice
            else:
                refresh -= 1
                self.look(choice)
        return last_usable(self.passed, unusable)

    # ---- the operations ----

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        choice = self.coldest_usable(unusable)
        if choice is None:
            return None
        incoming, coldest = self.temperature(page), self.temperature(self.page[choice])
        admitted = incoming > coldest and incoming >= (1 + self.params["admit_margin"]) * coldest
        return choice if admitted else REFUSED

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.look(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        self.on_admit(frame, evicted.page, 0)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_forget(self, frame: int) -> None:
        del self.seen[frame]
        if frame in self.passed:
            self.passed.remove(frame)

    # ---- what is shown ----

    def exponent(self, frame: int) -> float:
        temperature = self.aged(frame)
        if temperature == 0:
            return -math.inf
        return min(max(math.frexp(temperature)[1] - 1, -20), 39)

    def coldest(self) -> list[int]:
        return sorted(self.page, key=self.exponent)

    def may_be_coldest(self, found: list[int]) -> bool:
        """Pages of equal exponents come in any order."""
        return sorted(found) == sorted(self.page) and found == sorted(found, key=self.exponent)

    def may_find(self, found: list[int], victims: int, unwanted: Collection[int]) -> bool:
        """So many frames, and the coldest: heaps have cells, models do not."""
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
        return {
            "cached": [self.show(frame) for frame in self.page if frame not in self.passed],
            "passed": [self.show(frame) for frame in self.passed],
        }
