"""2Q, full version: Johnson and Shasha's names."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Frames, Model, promotes, search


class TwoQ(Model):
    policy = "2q"
    linked = ("A1in", "Am")
    ghost_lists = ("A1out",)

    def init(self) -> None:
        self.A1in = Frames()
        self.Am = Frames()
        self.A1out: list[int] = []  # pages

    @property
    def Kin(self) -> int:  # noqa: N802
        return max(1, int(self.params["kin"] * self.c))

    @property
    def Kout(self) -> int:  # noqa: N802
        return max(1, int(self.params["kout"] * self.c))

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.Kout)

    def on_hit(self, frame: int, flags: int) -> None:
        if frame in self.Am:
            self.Am.to_head(frame)

    def eviction_order(self) -> list[Frames]:
        return [self.A1in, self.Am] if len(self.A1in) > self.Kin else [self.Am, self.A1in]

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return search(self.eviction_order(), unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        if frame in self.Am:
            self.Am.remove(frame)
            return
        self.A1in.remove(frame)
        self.trim_ghosts(self.ghost_slots - 1)
        self.A1out.insert(0, self.page[frame])
        self.origin[frame] = "A1out"

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        found = page in self.A1out
        self.trim_ghosts(self.Kout)
        if page in self.A1out:
            self.A1out.remove(page)
        if found and promotes(flags):
            self.Am.insert(0, frame)
        else:
            self.A1in.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        (self.Am if frame in self.Am else self.A1in).remove(frame)

    def trim_ghosts(self, limit: int) -> None:
        del self.A1out[limit:]

    def coldest(self) -> list[int]:
        first, second = self.eviction_order()
        return first[::-1] + second[::-1]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.A1in[::-1][:victims] + self.Am[::-1][:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "A1in": self.show_list(self.A1in),
            "Am": self.show_list(self.Am),
            "A1out": [self.show_page(page) for page in self.A1out],
            "Kin": str(self.Kin),
            "Kout": str(self.Kout),
        }
