"""SIEVE: Zhang, Yang, Yue, Vigfusson and Rashmi's Algorithm 1."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Model


class Sieve(Model):
    policy = "sieve"
    linked = ("queue",)
    per_frame = ("visited",)

    def init(self) -> None:
        self.queue: list[int] = []
        self.visited: dict[int, int] = {}  # of resident frames
        self.hand: int | None = None  # a frame; None: a search begins at the tail

    def on_hit(self, frame: int, flags: int) -> None:
        self.visited[frame] = 1

    def towards_head(self, frame: int) -> int | None:
        """The frame before this one in the queue, None if it is the head."""
        i = self.queue.index(frame)
        return self.queue[i - 1] if i > 0 else None

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        if all(frame in unusable for frame in self.queue):
            return None
        for _ in range(2 * len(self.queue)):
            if self.hand is None:
                self.hand = self.queue[-1]
            if self.hand not in unusable:
                if self.visited[self.hand] == 0:
                    return self.hand
                self.visited[self.hand] = 0
            self.hand = self.towards_head(self.hand)
        raise AssertionError("more than 2n looks")

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.queue.insert(0, frame)
        self.visited[frame] = 0

    def on_forget(self, frame: int) -> None:
        if self.hand == frame:
            self.hand = self.towards_head(frame)
        self.queue.remove(frame)
        del self.visited[frame]

    def coldest(self) -> list[int]:
        order = self.queue[::-1]
        if self.hand is not None:
            i = order.index(self.hand)
            order = order[i:] + order[:i]
        return sorted(order, key=lambda frame: self.visited[frame])

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return [frame for frame in self.coldest() if not self.visited[frame]][:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "queue": [
                self.show(frame, self.visited[frame], int(frame == self.hand))
                for frame in self.queue
            ]
        }
