"""S3-FIFO: Yang, Zhang, Qiu, Yue and Rashmi's Algorithm 1."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import Frames, Model, last_usable, promotes


class S3FIFO(Model):
    policy = "s3fifo"
    linked = ("S", "M")
    ghost_lists = ("G",)
    per_frame = ("freq",)

    def init(self) -> None:
        self.S = Frames()
        self.M = Frames()
        self.G: list[int] = []  # pages
        self.freq: dict[int, int] = {}  # of resident frames

    @property
    def target(self) -> int:
        """Size from which on S gives the victims."""
        return max(1, floor(self.params["small"] * self.c))

    @property
    def ghost_limit(self) -> int:
        return floor(self.params["ghost"] * self.c)

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.ghost_limit)

    def on_hit(self, frame: int, flags: int) -> None:
        self.freq[frame] = min(self.freq[frame] + 1, 3)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        s_exhausted = m_exhausted = False  # a search of it has found nothing
        while not (s_exhausted and m_exhausted):
            s_first = len(self.S) >= self.target
            if m_exhausted or (s_first and not s_exhausted):
                frame = self.S.search(unusable)
                if frame is None:
                    s_exhausted = True
                    continue
                if self.freq[frame] <= 1:
                    return frame
                self.S.remove(frame)
                self.M.insert(0, frame)
                self.freq[frame] = 0
                m_exhausted = False
            else:
                frame = self.M.search(unusable)
                if frame is None:
                    m_exhausted = True
                    continue
                if self.freq[frame] == 0:
                    return frame
                self.M.to_head(frame)
                self.freq[frame] -= 1
        return last_usable(self.M + self.S, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        if frame in self.S and self.ghost_limit > 0:
            self.trim_ghosts(self.ghost_limit - 1)
            self.G.insert(0, self.page[frame])
            self.origin[frame] = "G"
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        if page in self.G:
            self.G.remove(page)
            (self.M if promotes(flags) else self.S).insert(0, frame)
        else:
            self.S.insert(0, frame)
        self.freq[frame] = 0

    def on_forget(self, frame: int) -> None:
        (self.S if frame in self.S else self.M).remove(frame)
        del self.freq[frame]

    def trim_ghosts(self, limit: int) -> None:
        while len(self.G) > limit:
            self.G.pop()

    def coldest(self) -> list[int]:
        """By the promotions and second chances that a page has yet to use up."""
        s, m = self.S[::-1], self.M[::-1]
        s0 = [frame for frame in s if self.freq[frame] <= 1]
        m0 = [frame for frame in m if self.freq[frame] == 0]
        order = s0 + m0 if len(self.S) >= self.target else m0 + s0
        order += [frame for frame in s if self.freq[frame] >= 2]
        for freq in (1, 2, 3):
            order += [frame for frame in m if self.freq[frame] == freq]
        return order

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        s = [frame for frame in self.S[::-1] if self.freq[frame] <= 1]
        m = [frame for frame in self.M[::-1] if self.freq[frame] == 0]
        return s[:victims] + m[:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "S": self.show_list(self.S, self.freq),
            "M": self.show_list(self.M, self.freq),
            "G": [self.show_page(page) for page in self.G],
            "target": str(self.target),
        }
