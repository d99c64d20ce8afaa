"""Adaptive replacement cache: Megiddo and Modha's Figure 4.

The figure adapts p, replaces and inserts in one step; here the victim is
asked for with the p that the reference will set, and p is set on admission.
"""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Evicted, Frames, Model, promotes, search


class ARC(Model):
    policy = "arc"
    linked = ("T1", "T2")
    ghost_lists = ("B1", "B2")

    def init(self) -> None:
        self.T1 = Frames()
        self.T2 = Frames()
        self.B1: list[int] = []  # pages
        self.B2: list[int] = []
        self.p = 0.0

    def on_leave(self, frame: int, slot: int) -> None:
        self.p = min(self.p, float(self.c))
        self.trim_directory()

    def on_hit(self, frame: int, flags: int) -> None:
        """Case I."""
        if frame in self.T1:
            self.T1.remove(frame)
            self.T2.insert(0, frame)
        else:
            self.T2.to_head(frame)

    def adapted(self, page: int, flags: int, b1: int, b2: int) -> float:
        """The p of cases II and III; b1 and b2 are the sizes of B1 and B2."""
        if promotes(flags) and page in self.B1:
            b1 = max(b1, 1)  # the page itself
            delta = 1.0 if b1 >= b2 else b2 / b1
            return min(self.p + delta, float(self.c))
        if promotes(flags) and page in self.B2:
            b2 = max(b2, 1)
            delta = 1.0 if b2 >= b1 else b1 / b2
            return max(self.p - delta, 0.0)
        return self.p

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        """REPLACE."""
        p = self.adapted(page, flags, len(self.B1), len(self.B2))
        in_b2 = promotes(flags) and page in self.B2
        if self.T1 and (len(self.T1) > p or (in_b2 and len(self.T1) == p)):
            return search([self.T1, self.T2], unusable)
        return search([self.T2, self.T1], unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.trim_ghosts(self.ghost_slots - 1)
        if frame in self.T1:
            self.T1.remove(frame)
            self.B1.insert(0, self.page[frame])
            self.origin[frame] = "B1"
        else:
            self.T2.remove(frame)
            self.B2.insert(0, self.page[frame])
            self.origin[frame] = "B2"

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        b1 = len(self.B1) - (self.origin.get(frame) == "B1")
        b2 = len(self.B2) - (self.origin.get(frame) == "B2")
        self.p = self.adapted(page, flags, b1, b2)
        remembered = page in self.B1 or page in self.B2
        for ghosts in (self.B1, self.B2):
            if page in ghosts:
                ghosts.remove(page)
        if remembered and promotes(flags):
            self.T2.insert(0, frame)
        else:
            self.T1.insert(0, frame)
        self.trim_directory()

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        super().on_restore(frame, evicted)
        self.trim_directory()

    def on_forget(self, frame: int) -> None:
        (self.T1 if frame in self.T1 else self.T2).remove(frame)

    def trim_directory(self) -> None:
        """Case IV's bounds: |L1| <= c, |L1| + |L2| <= 2c."""
        while self.B1 and len(self.T1) + len(self.B1) > self.c:
            self.B1.pop()
        self.trim_ghosts(2 * self.c - len(self.T1) - len(self.T2))

    def trim_ghosts(self, limit: int) -> None:
        while len(self.B1) + len(self.B2) > limit:
            (self.B2 or self.B1).pop()

    def coldest(self) -> list[int]:
        t1, t2 = self.T1[::-1], self.T2[::-1]
        return t1 + t2 if len(self.T1) > self.p else t2 + t1

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.T1[::-1][:victims] + self.T2[::-1][:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "T1": self.show_list(self.T1),
            "T2": self.show_list(self.T2),
            "B1": [self.show_page(page) for page in self.B1],
            "B2": [self.show_page(page) for page in self.B2],
            "p": self.show_number(self.p),
        }
