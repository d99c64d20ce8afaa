"""Clock2Q+: Zhai, Marthen and others."""

from __future__ import annotations

from math import floor

from reference.small_main import SmallMain


class Clock2QPlus(SmallMain):
    policy = "clock2q_plus"
    per_frame = ("count", "inserted")

    def init(self) -> None:
        super().init()
        self.inserted: dict[int, int] = {}  # number of the insertion into small
        self.insertions = 0

    @property
    def window(self) -> int:
        return floor(self.params["window"] * self.target)

    def on_hit(self, frame: int, flags: int) -> None:
        newer = self.insertions - self.inserted[frame]
        if frame in self.main or newer >= self.window:
            self.count[frame] = 1

    def goes(self, frame: int) -> bool:
        return self.count[frame] == 0

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        super().on_admit(frame, page, flags)
        if frame in self.small:
            self.insertions += 1
        self.inserted[frame] = self.insertions

    def on_forget(self, frame: int) -> None:
        super().on_forget(frame)
        del self.inserted[frame]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "small": self.show_list(self.small, self.count),
            "main": self.show_list(self.main, self.count),
            "ghost": [self.show_page(page) for page in self.ghost],
            "target": str(self.target),
            "window": str(self.window),
        }
