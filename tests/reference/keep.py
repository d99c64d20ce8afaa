"""Never evict."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import REFUSED, Model


class Keep(Model):
    policy = "keep"
    linked = ("kept",)

    def init(self) -> None:
        self.kept: list[int] = []

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return REFUSED

    def on_evict(self, frame: int, flags: int) -> None:
        self.kept.remove(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.kept.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.kept.remove(frame)

    def coldest(self) -> list[int]:
        return self.kept[::-1]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return []

    def state(self) -> dict[str, list[str] | str]:
        return {"kept": [self.show(frame) for frame in self.kept]}
