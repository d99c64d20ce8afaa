"""Write-aware timestamp tracking."""

from __future__ import annotations

from collections.abc import Collection
from math import floor

from reference.base import VACUUM, WRITE, Model, promotes
from reference.sample import sample_least
from reference.sweep import Sweep

GHOST_ACCESSES, GHOST_WRITES = 4, 1  # stamps that a ghost has room for

STAMPS = 2**16

Log = list[int]  # epochs modulo STAMPS, newest first


class Watt(Model):
    policy = "watt"
    counts_all = True
    ghost_lists = ("history",)
    per_frame = ("accesses", "writes")

    def init(self) -> None:
        self.sweep = Sweep(int(self.params["sample"]), 16, self.band)
        self.accesses: dict[int, Log] = {}
        self.writes: dict[int, Log] = {}
        self.history: list[int] = []
        self.remembered: dict[int, tuple[Log, Log]] = {}  # of ghosts: accesses, writes
        self.epoch = 0
        self.evictions = 0

    # ---- logs ----

    def log(self, log: Log, limit: float) -> None:
        stamp = self.epoch % STAMPS
        if not log or log[0] != stamp:
            log.insert(0, stamp)
        del log[int(limit) :]

    def log_access(self, frame: int) -> None:
        self.log(self.accesses[frame], self.params["k_read"])

    def log_write(self, frame: int, flags: int) -> None:
        if flags & WRITE and not flags & VACUUM:
            self.log(self.writes[frame], self.params["k_write"])

    def frequency(self, log: Log) -> float:
        subfrequencies = [
            (self.params["dampening"] if i == 1 else float(i)) / ((self.epoch - stamp) % STAMPS + 1)
            for i, stamp in enumerate(log, start=1)
        ]
        assert all(f <= 1 for f in subfrequencies)  # so the simulator's limit is not missed
        return max(subfrequencies, default=0.0)

    def value(self, frame: int) -> float:
        return self.frequency(self.accesses[frame]) + self.params["write_cost"] * self.frequency(
            self.writes[frame]
        )

    # ---- ghosts ----

    @property
    def limit(self) -> int:
        return floor(self.params["history"] * self.c)

    def trim_ghosts(self, limit: int) -> None:
        while len(self.history) > limit:
            del self.remembered[self.history.pop()]

    def drop_ghost(self, page: int) -> None:
        super().drop_ghost(page)
        self.remembered.pop(page, None)

    def leave_ghost(self, frame: int) -> None:
        page = self.page[frame]
        self.trim_ghosts(self.limit - 1)
        self.history.insert(0, page)
        self.remembered[page] = (
            self.accesses[frame][:GHOST_ACCESSES],
            self.writes[frame][:GHOST_WRITES],
        )
        self.origin[frame] = "history"

    # ---- operations ----

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_ghosts(self.limit)

    def on_hit(self, frame: int, flags: int) -> None:
        if promotes(flags):
            self.log_access(frame)
        self.log_write(frame, flags)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        return sample_least(self, int(self.params["sample"]), unusable, self.value)

    def on_evict(self, frame: int, flags: int) -> None:
        if self.limit > 0:
            self.leave_ghost(frame)
        self.evictions += 1
        if self.evictions >= floor(self.c / self.params["epoch"]):
            self.evictions = 0
            self.epoch += 1

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.accesses[frame], self.writes[frame] = [], []
        if page in self.history:
            self.history.remove(page)
            accesses, writes = self.remembered.pop(page)
            if promotes(flags):
                self.accesses[frame] = accesses[: int(self.params["k_read"])]
                self.writes[frame] = writes[: int(self.params["k_write"])]
        self.log_access(frame)
        self.log_write(frame, flags)

    def on_forget(self, frame: int) -> None: ...

    def band(self, frame: int) -> int:
        """0: below 2^-15; 1: below 2^-14; ... 14: below 1/2; 15: all above."""
        return sum(self.value(frame) >= 2.0 ** (i - 16) for i in range(1, 16))

    def resident(self) -> list[int]:
        return [frame for frame in self.members if frame in self.page]

    def coldest(self) -> list[int]:
        return sorted(self.resident(), key=self.band)  # which is stable

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.sweep.round(self, victims, unwanted)

    def state(self) -> dict[str, list[str] | str]:
        return {
            "frames": [
                self.show(frame, len(self.accesses[frame]), len(self.writes[frame]))
                for frame in self.resident()
            ],
            "history": [self.show_page(page) for page in self.history],
            "epoch": str(self.epoch),
            "evictions": str(self.evictions),
        }
