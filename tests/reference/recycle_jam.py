"""The pools for bulk reads and for TOAST: clocks that forget fast."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import VACUUM, WRITE, Model


class FastClock(Model):
    """A clock whose sweep lowers usage counts by ``lowered``."""

    counts_all = True
    per_frame = ("usage",)

    def init(self) -> None:
        self.hand = 0  # index in members of the frame that a sweep looks at next
        self.usage: dict[int, int] = {}  # of resident frames

    def max_usage(self) -> int:
        raise NotImplementedError

    def lowered(self, usage: int) -> int:
        raise NotImplementedError

    def on_leave(self, frame: int, slot: int) -> None:
        if self.hand >= self.c:
            self.hand = 0

    def on_hit(self, frame: int, flags: int) -> None:
        limit = 1 if flags & VACUUM else self.max_usage()
        if self.usage[frame] < limit:
            self.usage[frame] += 1

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        if all(frame in unusable for frame in self.page):
            return None
        while True:
            frame = self.members[self.hand]
            self.hand = (self.hand + 1) % self.c
            if frame in self.page and frame not in unusable:
                if self.usage[frame] == 0:
                    return frame
                self.usage[frame] = self.lowered(self.usage[frame])

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.usage[frame] = 1

    def on_forget(self, frame: int) -> None:
        del self.usage[frame]

    def round(self) -> list[int]:
        """The resident frames in the order in which the hand comes to them."""
        turn = self.members[self.hand :] + self.members[: self.hand]
        return [frame for frame in turn if frame in self.page]

    def rounds_left(self, frame: int) -> int:
        """Rounds of the hand until the page's count is 0, if it is left alone."""
        usage, rounds = self.usage[frame], 0
        while usage > 0:
            usage, rounds = self.lowered(usage), rounds + 1
        return rounds

    def coldest(self) -> list[int]:
        return sorted(self.round(), key=self.rounds_left)

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return [frame for frame in self.round() if self.usage[frame] == 0][:victims]

    def mark(self, frame: int) -> int:
        """The mark that tp_describe shows."""
        return 0

    def state(self) -> dict[str, list[str] | str]:
        ring = [frame for frame in self.members if frame in self.page]
        return {
            "ring": [self.show(frame, self.usage[frame], self.mark(frame)) for frame in ring],
            "hand": str(self.hand),
        }


class Recycle(FastClock):
    policy = "recycle"

    def max_usage(self) -> int:
        return 1

    def lowered(self, usage: int) -> int:
        return 0


class Jam(FastClock):
    policy = "jam"
    per_frame = ("usage", "written")

    def init(self) -> None:
        super().init()
        self.written: dict[int, bool] = {}  # since the page came in

    def max_usage(self) -> int:
        return int(self.params["max_usage"])

    def lowered(self, usage: int) -> int:
        return usage // 2

    def on_hit(self, frame: int, flags: int) -> None:
        super().on_hit(frame, flags)
        if flags & WRITE:
            self.written[frame] = True

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        super().on_admit(frame, page, flags)
        self.written[frame] = bool(flags & WRITE)

    def on_forget(self, frame: int) -> None:
        super().on_forget(frame)
        del self.written[frame]

    def coldest(self) -> list[int]:
        """Of the pages at 0 those that were written first."""
        return sorted(
            super().coldest(),
            key=lambda frame: self.usage[frame] > 0 or not self.written[frame],
        )

    def mark(self, frame: int) -> int:
        return int(self.written[frame])
