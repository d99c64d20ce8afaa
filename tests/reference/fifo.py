"""First in, first out."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Frames, Model, search


class FIFO(Model):
    policy = "fifo"
    linked = ("queue",)

    def init(self) -> None:
        self.queue = Frames()

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return search([self.queue], unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.queue.remove(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.queue.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.queue.remove(frame)

    def coldest(self) -> list[int]:
        return self.queue[::-1]

    def state(self) -> dict[str, list[str] | str]:
        return {"queue": self.show_list(self.queue)}
