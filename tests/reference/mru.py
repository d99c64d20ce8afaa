"""Most recently used."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Evicted, Model, PassedList, last_usable


class MRU(Model):
    policy = "mru"
    linked = ("recent", "passed")

    def init(self) -> None:
        self.recent: list[int] = []
        self.passed = PassedList()

    def remove(self, frame: int) -> None:
        (self.recent if frame in self.recent else self.passed).remove(frame)

    def on_hit(self, frame: int, flags: int) -> None:
        self.remove(frame)
        self.recent.insert(0, frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        for frame in self.passed.look_again(unusable):
            return frame
        while self.recent:
            if self.recent[0] not in unusable:
                return self.recent[0]
            self.passed.insert(0, self.recent.pop(0))
        return last_usable(self.passed, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.remove(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        if evicted.place is not None and evicted.place[0] == 0:
            self.recent.insert(0, frame)
        else:
            super().on_restore(frame, evicted)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.recent.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.remove(frame)

    def coldest(self) -> list[int]:
        return self.passed[::-1] + self.recent

    def state(self) -> dict[str, list[str] | str]:
        return {
            "recent": [self.show(frame) for frame in self.recent],
            "passed": [self.show(frame) for frame in self.passed],
        }
