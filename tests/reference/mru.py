"""Most recently used."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Model


class MRU(Model):
    linked = ("recent",)

    def init(self) -> None:
        self.recent: list[int] = []

    def on_hit(self, frame: int, flags: int) -> None:
        self.recent.remove(frame)
        self.recent.insert(0, frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        for frame in self.recent:
            if frame not in unusable:
                return frame
        return None

    def on_evict(self, frame: int, flags: int) -> None:
        self.recent.remove(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.recent.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.recent.remove(frame)

    def coldest(self) -> list[int]:
        return list(self.recent)

    def state(self) -> dict[str, list[str] | str]:
        return {"recent": [self.show(frame) for frame in self.recent]}
