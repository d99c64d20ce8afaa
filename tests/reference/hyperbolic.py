"""Hyperbolic caching."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Model
from reference.sample import sample_least
from reference.sweep import Sweep


class Hyperbolic(Model):
    policy = "hyperbolic"
    per_frame = ("references", "inserted")

    def init(self) -> None:
        self.sweep = Sweep(int(self.params["sample"]), 16, self.band)
        self.clock = 0
        self.references: dict[int, int] = {}
        self.inserted: dict[int, int] = {}

    def age(self, frame: int) -> int:
        return self.clock - self.inserted[frame] + 1

    def on_hit(self, frame: int, flags: int) -> None:
        if self.references[frame] == 2**24 - 1:
            self.references[frame] //= 2
            self.inserted[frame] = self.clock - (self.clock - self.inserted[frame]) // 2
        self.references[frame] += 1
        if self.references[frame] % 16 == 0:
            self.clock += 16

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return sample_least(self, int(self.params["sample"]), unusable, self.priority)

    def priority(self, frame: int) -> float:
        return float(self.references[frame]) / float(self.age(frame))

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.references[frame] = 1
        self.inserted[frame] = self.clock

    def on_forget(self, frame: int) -> None:
        self.clock += self.references[frame] % 16
        del self.references[frame], self.inserted[frame]

    def band(self, frame: int) -> int:
        distance = self.age(frame) // self.references[frame]
        if distance == 0:  # the clock is late
            return 15
        return max(0, min(15, 3 + log2(self.c) - log2(distance)))

    def resident(self) -> list[int]:
        return [frame for frame in self.members if frame in self.page]

    def coldest(self) -> list[int]:
        return sorted(self.resident(), key=self.band)  # which is stable

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.sweep.round(self, victims, unwanted)

    def state(self) -> dict[str, list[str] | str]:
        return {
            "frames": [self.show(frame) for frame in self.resident()],
            "clock": str(self.clock),
        }


def log2(n: int) -> int:
    """The binary logarithm, rounded down."""
    return n.bit_length() - 1
