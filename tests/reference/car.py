"""Clock with adaptive replacement: Bansal and Modha's Figure 2.

Lists are in the order of tp_describe: what the figure calls the head of a
clock, the page under its hand, is the last of T1 or T2; what it calls the
tail, where pages are inserted, is the first.
"""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Evicted, Frames, Model, promotes
from reference.queue_pair import choose_of_pair


class CAR(Model):
    policy = "car"
    linked = ("T1", "T2")
    ghost_lists = ("B1", "B2")
    per_frame = ("bit",)

    def init(self) -> None:
        self.T1 = Frames()
        self.T2 = Frames()
        self.B1: list[int] = []  # pages
        self.B2: list[int] = []
        self.bit: dict[int, int] = {}  # page reference bits of resident frames
        self.p = 0.0

    def on_leave(self, frame: int, slot: int) -> None:
        self.p = min(self.p, float(self.c))
        self.trim_directory()

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        super().on_restore(frame, evicted)
        self.trim_directory()

    def trim_directory(self) -> None:
        while self.B1 and len(self.T1) + len(self.B1) > self.c:
            self.B1.pop()
        self.trim_ghosts(2 * self.c - len(self.T1) - len(self.T2))

    def on_hit(self, frame: int, flags: int) -> None:
        """Lines 1 and 2."""
        self.bit[frame] = 1

    def t1_has_turn(self) -> bool:
        """Line 24."""
        return len(self.T1) >= max(1, self.p)

    def spared(self, frame: int) -> bool:
        bit, self.bit[frame] = self.bit[frame], 0
        return bit == 1

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        """The procedure replace, lines 22 to 39, up to the demotion."""
        return choose_of_pair((self.T1, self.T2), self.t1_has_turn, self.spared, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        """Lines 27 and 34."""
        ghost_slots = self.c * self.ghosts_per_frame + 1
        self.trim_ghosts(ghost_slots - 1)
        if frame in self.T1:
            self.B1.insert(0, self.page[frame])
            self.origin[frame] = "B1"
        else:
            self.B2.insert(0, self.page[frame])
            self.origin[frame] = "B2"
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        """Lines 6 to 20."""
        if not promotes(flags):
            self.drop_ghost(page)
        b1, b2 = len(self.B1), len(self.B2)
        remembered = page in self.B1 or page in self.B2
        # the cache directory's replacement
        if not remembered:
            if len(self.T1) + b1 == self.c:
                self.B1.pop()
            elif len(self.T1) + len(self.T2) + b1 + b2 == 2 * self.c:
                self.B2.pop()
        # p
        if page in self.B1:
            self.p = min(self.p + max(1.0, b2 / b1), float(self.c))
        elif page in self.B2:
            self.p = max(self.p - max(1.0, b1 / b2), 0.0)
        # the page
        self.drop_ghost(page)
        (self.T2 if remembered else self.T1).insert(0, frame)
        self.bit[frame] = 0

    def on_forget(self, frame: int) -> None:
        (self.T1 if frame in self.T1 else self.T2).remove(frame)
        del self.bit[frame]

    def drop_ghost(self, page: int) -> None:
        for ghosts in (self.B1, self.B2):
            if page in ghosts:
                ghosts.remove(page)

    def trim_ghosts(self, limit: int) -> None:
        while len(self.B1) + len(self.B2) > limit:
            (self.B2 or self.B1).pop()

    def coldest(self) -> list[int]:
        t1, t2 = self.T1[::-1], self.T2[::-1]
        zeros = t1 + t2 if self.t1_has_turn() else t2 + t1
        return [frame for frame in zeros if self.bit[frame] == 0] + [
            frame for frame in t2 + t1 if self.bit[frame] == 1
        ]

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return [
            frame
            for clock in (self.T1, self.T2)
            for frame in [frame for frame in clock[::-1] if self.bit[frame] == 0][:victims]
        ]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "T1": self.show_list(self.T1, self.bit),
            "T2": self.show_list(self.T2, self.bit),
            "B1": [self.show_page(page) for page in self.B1],
            "B2": [self.show_page(page) for page in self.B2],
            "p": self.show_number(self.p),
        }
