"""Temperature-aware caching by page: the coldest page of a sample goes."""

from __future__ import annotations

import math
from collections.abc import Collection

from reference.base import REFUSED, Model
from reference.extents import Extents
from reference.sample import sample_least
from reference.sweep import Sweep


class PageTemperature(Model):
    policy = "page_temperature"
    savings = (1.0, 0.01)  # of a pool without a tier

    def init(self) -> None:
        self.sweep = Sweep(int(self.params["sample"]), 61, self.band)
        self.extents: Extents | None = None

    def read(self, page: int) -> None:
        if self.extents is None:
            pages, streams = int(self.params["extent"]), self.params["streams"] == 1
            self.extents = Extents(pages, 20, 2, 1, self.savings, 1, streams)
        self.set_epochs(self.extents)
        self.extents.read(page)

    def set_epochs(self, extents: Extents) -> None:
        extents.aging = max(1, int(self.params["aging"] * self.c))
        extents.burst = max(1, int(self.params["burst"] * self.c))

    def temperature(self, page: int) -> float:
        if self.extents is None:
            return 0.0
        self.set_epochs(self.extents)
        pages = self.params["pages"] == 1
        return self.extents.of_page(page, pages, self.params["burst_weight"])

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        choice = sample_least(
            self,
            int(self.params["sample"]),
            unusable,
            lambda frame: self.temperature(self.page[frame]),
        )
        if choice is None:
            return None
        incoming, least = self.temperature(page), self.temperature(self.page[choice])
        admitted = incoming > least and incoming >= (1 + self.params["admit_margin"]) * least
        return choice if admitted else REFUSED

    def on_admit(self, frame: int, page: int, flags: int) -> None: ...

    def on_evict(self, frame: int, flags: int) -> None: ...

    def on_forget(self, frame: int) -> None: ...

    def band(self, frame: int) -> int:
        """0 for no temperature, then the exponents from -20 to 39."""
        temperature = self.temperature(self.page[frame])
        if temperature <= 0:
            return 0
        return min(max(math.frexp(temperature)[1] - 1, -20), 39) + 21

    def coldest(self) -> list[int]:
        return sorted([frame for frame in self.members if frame in self.page], key=self.band)

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.sweep.round(self, victims, unwanted)

    def state(self) -> dict[str, list[str] | str]:
        return {"cached": [self.show(frame) for frame in self.members if frame in self.page]}
