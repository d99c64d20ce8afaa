"""Multi-queue: Zhou, Philbin and Li's names, with head and tail exchanged as in all models."""

from __future__ import annotations

from collections.abc import Collection
from math import floor, log2

from reference.base import Evicted, Frames, Model, neighbours, promotes, search


class MQ(Model):
    policy = "mq"
    per_frame = ("frequency", "expire_time")

    def init(self) -> None:
        self.m = int(self.params["queues"])
        self.queues = [Frames() for _ in range(self.m)]
        self.frequency: dict[int, int] = {}  # of resident frames
        self.expire_time: dict[int, int] = {}  # of resident frames, less the lifetime
        self.Qout: list[tuple[int, int]] = []  # page and frequency
        self.current_time = 0

    @property
    def life_time(self) -> int:
        return int(self.params["lifetime"]) or self.c

    @property
    def qout_limit(self) -> int:
        return floor(self.params["qout"] * self.c)

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.qout_limit)

    def insert(self, k: int, frame: int) -> None:
        if frame in self.queues[k]:
            self.queues[k].to_head(frame)
        else:
            self.remove(frame)
            self.queues[k].insert(0, frame)
        self.expire_time[frame] = self.current_time

    def remove(self, frame: int) -> None:
        for queue in self.queues:
            if frame in queue:
                queue.remove(frame)

    def reference(self, frame: int) -> None:
        self.frequency[frame] = min(self.frequency[frame] + 1, 2 ** (self.m - 1))
        self.insert(floor(log2(self.frequency[frame])), frame)
        self.adjust()

    def adjust(self) -> None:
        self.current_time += 1
        for k in range(1, self.m):
            if not self.queues[k]:
                continue
            frame = self.queues[k][-1]
            if self.expire_time[frame] + self.life_time < self.current_time:
                self.insert(k - 1, frame)

    def on_hit(self, frame: int, flags: int) -> None:
        self.reference(frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return search(self.queues, unusable)

    def on_evict(self, frame: int, flags: int) -> None:
        self.remove(frame)
        if self.qout_limit > 0:
            self.trim_ghosts(self.qout_limit - 1)
            self.Qout.insert(0, (self.page[frame], self.frequency[frame]))
            self.origin[frame] = "Qout"

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        remembered = dict(self.Qout).get(page, 0)
        self.Qout = [(ghost, f) for ghost, f in self.Qout if ghost != page]
        if promotes(flags):
            self.frequency[frame] = remembered
            self.reference(frame)
        else:
            self.frequency[frame] = 1
            self.insert(0, frame)

    def on_forget(self, frame: int) -> None:
        self.remove(frame)

    def frame_lists(self) -> list[list[int]]:
        return [*self.queues]

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        """It entered no later than the page before it, and no earlier than the next."""
        super().on_restore(frame, evicted)
        queue = next(queue for queue in self.queues if frame in queue)
        before, behind = neighbours(queue, frame)
        time = self.expire_time[frame]
        if before is not None:
            time = min(time, self.expire_time[before])
        if behind is not None:
            time = max(time, self.expire_time[behind])
        self.expire_time[frame] = time

    def drop_ghost(self, page: int) -> None:
        self.Qout = [(ghost, f) for ghost, f in self.Qout if ghost != page]

    def trim_ghosts(self, limit: int) -> None:
        del self.Qout[limit:]

    def coldest(self) -> list[int]:
        return [frame for queue in self.queues for frame in reversed(queue)]

    def state(self) -> dict[str, list[str] | str]:
        shown: dict[str, list[str] | str] = {f"Q{k}": [] for k in range(8)}
        for k, queue in enumerate(self.queues):
            shown[f"Q{k}"] = self.show_list(queue, self.frequency)
        shown["Qout"] = [self.show_page(page) for page, _ in self.Qout]
        shown["time"] = str(self.current_time)
        shown["lifetime"] = str(self.life_time)
        return shown
