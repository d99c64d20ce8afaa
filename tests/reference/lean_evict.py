"""LeanEvict: pages picked at random cool down in a queue, which nobody keeps."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import ceil, floor

from reference.base import MASK, Model, mix64

DRAWS = 64  # for a victim, at most
EPOCHS = 16  # of a queue, at most


class LeanEvict(Model):
    policy = "lean_evict"
    per_frame = ("referenced",)

    def init(self) -> None:
        self.seed = self.random_state
        self.draws = 0
        self.epoch = 0
        self.referenced: dict[int, int] = {}  # in which epoch, last

    @property
    def queue(self) -> int:
        """Its length in draws."""
        return max(1, floor(self.params["cooling"] * self.c))

    @property
    def epoch_draws(self) -> int:
        return ceil(self.queue / EPOCHS)

    @property
    def length(self) -> int:
        """The queue's, in epochs."""
        return ceil(self.queue / self.epoch_draws)

    def drawn(self, number: int) -> int:
        random = mix64((self.seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK)
        return self.members[(random >> 32) * self.c >> 32]

    def idle(self, frame: int) -> int:
        return self.epoch - self.referenced[frame]

    def has_cooled(self, frame: int) -> bool:
        return self.idle(frame) >= self.length

    def on_hit(self, frame: int, flags: int) -> None:
        self.referenced[frame] = self.epoch

    def candidates(self) -> Iterator[int]:
        for _ in range(DRAWS):
            frame = self.drawn(self.draws)
            self.draws += 1
            if self.draws % self.epoch_draws == 0:
                self.epoch += 1
            yield frame

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        best = None
        for frame in self.candidates():
            if frame not in self.page:
                continue
            if not self.has_cooled(frame):
                if best is None or self.idle(frame) > self.idle(best):
                    best = frame
            elif frame not in unusable:
                return frame
        if best is not None and best not in unusable:
            return best
        start = self.members.index(frame)
        others = self.members[start:] + self.members[:start]
        return next((f for f in others if f in self.page and f not in unusable), None)

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.on_hit(frame, flags)

    def on_forget(self, frame: int) -> None:
        del self.referenced[frame]

    def resident(self) -> list[int]:
        return [frame for frame in self.members if frame in self.page]

    def coldest(self) -> list[int]:
        """Those that have cooled, then others by how long they have been idle."""
        return sorted(self.resident(), key=lambda frame: -min(self.idle(frame), self.length))

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        drawn = [self.drawn(self.draws + i) for i in range(self.c)]
        return [f for f in drawn if f in self.page and self.has_cooled(f)][:victims]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "frames": [self.show(frame) for frame in self.resident()],
            "draws": str(self.draws),
            "epoch": str(self.epoch),
        }
