"""One-stage insert clock: pages cool before they go."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Model


class OSIC(Model):
    policy = "osic"
    per_frame = ("hot",)

    def init(self) -> None:
        self.hot: dict[int, int] = {}  # of resident frames
        self.hands = [0] * 16  # indexes in members, one per partition
        self.places = list(range(16))  # partitions, one per backend modulo their number

    @property
    def partitions(self) -> int:
        if self.c == 0:
            return 1
        asked = int(self.params["partitions"])
        if asked == 0:
            asked = 1
            for size, count in ((256, 2), (1024, 4), (4096, 8), (16384, 16)):
                if self.c >= size:
                    asked = count
        return min(asked, self.c)

    def partition(self, i: int) -> range:
        """The indexes in members that partition i has."""

        def begin(i: int) -> int:
            return i * (self.c // self.partitions) + min(i, self.c % self.partitions)

        return range(begin(i), begin(i + 1))

    def place_hands(self) -> None:
        for i in range(len(self.hands)):
            if i >= self.partitions:
                self.hands[i] = 0
            elif self.hands[i] not in self.partition(i):
                self.hands[i] = self.partition(i).start
            if i >= self.partitions or self.places[i] >= self.partitions:
                self.places[i] = i

    def on_join(self, frame: int) -> None:
        self.place_hands()

    def on_leave(self, frame: int, slot: int) -> None:
        self.place_hands()

    def on_hit(self, frame: int, flags: int) -> None:
        self.hot[frame] = 1

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        place = self.backend % self.partitions
        for i in range(self.partitions):
            partition = (self.places[place] + i) % self.partitions
            frame = self.sweep(partition, unusable)
            if frame is not None:
                if self.hands[partition] == self.partition(partition).start:
                    partition = (partition + 1) % self.partitions
                self.places[place] = partition
                return frame
        return None

    def sweep(self, i: int, unusable: Collection[int]) -> int | None:
        """Cool hot pages of a partition until a cool one is found."""
        own = self.partition(i)
        usable = [
            index
            for index in own
            if self.members[index] in self.page and self.members[index] not in unusable
        ]
        if not usable:
            return None
        while True:
            index = self.hands[i]
            self.hands[i] = index + 1 if index + 1 in own else own.start
            if index in usable:
                frame = self.members[index]
                if not self.hot[frame]:
                    return frame
                self.hot[frame] = 0

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.hot[frame] = 1

    def on_forget(self, frame: int) -> None:
        del self.hot[frame]

    def round(self, i: int) -> list[int]:
        """The frames of a partition in the order in which its hand comes to them."""
        own = list(self.partition(i))
        turn = self.hands[i] - own[0] if own else 0
        return [self.members[index] for index in own[turn:] + own[:turn]]

    def coldest(self) -> list[int]:
        order = [frame for i in range(self.partitions) for frame in self.round(i)]
        return sorted(
            (frame for frame in order if frame in self.page), key=lambda frame: self.hot[frame]
        )

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        ahead = [frame for i in range(self.partitions) for frame in self.round(i)[:victims]]
        return [frame for frame in ahead if frame in self.page and not self.hot[frame]]

    def state(self) -> dict[str, list[str] | str]:
        ring = [frame for frame in self.members if frame in self.page]
        return {
            "ring": [self.show(frame, self.hot[frame]) for frame in ring],
            "partitions": str(self.partitions),
            "hand": str(self.hands[0]),
        }
