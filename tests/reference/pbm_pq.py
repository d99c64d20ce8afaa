"""Predictive buffer management with a priority queue of block groups."""

from __future__ import annotations

from collections.abc import Collection
from math import inf

from reference.base import Evicted, Model, PassedList, last_usable, promotes

BLOCK_GROUP = 128
LOOKS = 16  # at pages of a block group, for a clean one

Group = tuple[int, int]  # relation and number


class PbmPq(Model):
    policy = "pbm_pq"

    def init(self) -> None:
        self.slice = int(self.params["bucket"] * 1000 + 0.5)
        self.m = int(self.params["buckets_per_group"])
        self.n = int(self.params["groups"])
        self.buckets: list[list[Group]] = [[] for _ in range(self.m * self.n)]
        self.not_requested: list[Group] = []
        self.overdue: list[Group] = []
        self.rows: dict[Group, list[int]] = {}  # frames
        self.span: dict[Group, tuple[int, int]] = {}  # lowest and highest block
        self.due: dict[Group, float] = {}  # time of the next access
        self.passed = PassedList()  # frames, whose pages are in no row
        self.position = 0
        self.proposals = 0

    # ---- the timeline ----

    def stages(self) -> list[list[Group]]:
        return [self.not_requested, *reversed(self.buckets), self.overdue]

    def end_of_bucket(self, i: int) -> int:
        """The slice that is behind it."""
        width = 2 ** (i // self.m)
        begin_of_group = self.position // width * width + self.m * (width - 1)
        return begin_of_group + (i % self.m + 1) * width

    def list_for(self, time: float) -> list[Group]:
        if time == inf:
            return self.not_requested
        for i, bucket in enumerate(self.buckets):
            if time // self.slice < self.end_of_bucket(i):
                return bucket
        return self.buckets[-1]

    def shift(self) -> None:
        if self.now // self.slice - self.position > 2 * self.m * 2**self.n:
            self.overdue = [group for i in reversed(self.buckets) for group in i] + self.overdue
            self.buckets = [[] for _ in self.buckets]
            self.position = self.now // self.slice
        while self.position < self.now // self.slice:
            self.position += 1
            for k in range(self.n):
                if self.position % 2**k == 0:
                    first, last = k * self.m, (k + 1) * self.m - 1
                    leaving = self.buckets[first]
                    self.buckets[first:last] = self.buckets[first + 1 : last + 1]
                    self.buckets[last] = []
                    if k == 0:
                        self.overdue = leaving + self.overdue
                    else:
                        assert self.buckets[first - 1] == []
                        self.buckets[first - 1] = leaving

    def estimate(self, group: Group) -> None:
        relation, _ = group
        wait = min(self.next_access(relation << 32 | block) for block in self.span[group])
        self.due[group] = inf if wait == inf else self.now + int(wait)

    def remove(self, group: Group) -> None:
        for groups in self.stages():
            if group in groups:
                groups.remove(group)

    def place_group(self, group: Group) -> None:
        self.remove(group)
        self.list_for(self.due[group]).insert(0, group)

    def look(self) -> None:
        self.shift()
        corrections = int(self.params["corrections"])
        for _ in range(corrections):
            if self.overdue:
                group = self.overdue[-1]
                self.estimate(group)
                self.place_group(group)
        for _ in range(corrections):
            stages = self.stages()
            if not any(stages):
                break
            stage = min(i for i, groups in enumerate(stages) if groups)
            group = stages[stage][-1]
            self.estimate(group)
            belongs = next(
                i for i, groups in enumerate(stages) if groups is self.list_for(self.due[group])
            )
            if belongs == stage:
                break
            self.place_group(group)

    # ---- operations ----

    def group_of(self, frame: int) -> Group:
        page = self.page[frame]
        return page >> 32, (page & 0xFFFFFFFF) // BLOCK_GROUP

    def reference(self, frame: int) -> None:
        group = self.group_of(frame)
        at_boundary = self.page[frame] % BLOCK_GROUP in (0, BLOCK_GROUP - 1)
        if at_boundary or self.due[group] + self.slice <= self.now:
            self.estimate(group)
            self.place_group(group)
        elif self.due[group] == inf:
            self.place_group(group)

    def on_hit(self, frame: int, flags: int) -> None:
        if frame not in self.passed:
            self.reference(frame)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        for frame in self.passed.look_again(unusable):
            self.passed.remove(frame)
            self.enter(frame)
        if self.proposals == 0:
            self.look()
            self.proposals = int(self.params["victims"])
        self.proposals -= 1
        while self.rows:
            frame = self.in_groups()[0]
            if frame not in unusable:
                row = self.rows[self.group_of(frame)]
                clean = (
                    f for f in [*row[1:], row[0]][:LOOKS] if not {f} & {*self.dirty, *unusable}
                )
                return next(clean, frame)
            self.on_forget(frame)
            self.passed.insert(0, frame)
        return last_usable(self.passed, unusable)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        if self.enter(frame) and promotes(flags):
            self.reference(frame)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        self.enter(frame)

    def enter(self, frame: int) -> bool:
        """Into its block group.  Whether there was that already."""
        group = self.group_of(frame)
        block = self.page[frame] & 0xFFFFFFFF
        if group not in self.rows:
            self.rows[group] = [frame]
            self.span[group] = (block, block)
            self.estimate(group)
            self.place_group(group)
            return False
        self.rows[group].insert(1, frame)
        lowest, highest = self.span[group]
        self.span[group] = (min(lowest, block), max(highest, block))
        return True

    def on_forget(self, frame: int) -> None:
        if frame in self.passed:
            self.passed.remove(frame)
            return
        group = self.group_of(frame)
        self.rows[group].remove(frame)
        if not self.rows[group]:
            self.remove(group)
            del self.rows[group], self.span[group], self.due[group]

    def on_evict(self, frame: int, flags: int) -> None:
        self.on_forget(frame)

    def in_groups(self) -> list[int]:
        return [
            frame
            for groups in self.stages()
            for group in reversed(groups)
            for frame in [*self.rows[group][1:], self.rows[group][0]]
        ]

    def coldest(self) -> list[int]:
        return self.in_groups() + self.passed[::-1]

    def state(self) -> dict[str, list[str] | str]:
        hosts = [row[0] for row in self.rows.values()]
        shown: dict[str, list[str] | str] = {
            "frames": [
                self.show(frame, mark=int(frame in hosts))
                for frame in self.members
                if frame in self.page and frame not in self.passed
            ],
            "passed": [self.show(frame) for frame in self.passed],
            "not requested": self.show_groups(self.not_requested),
        }
        for i, bucket in reversed(list(enumerate(self.buckets))):
            if bucket:
                shown[str(i)] = self.show_groups(bucket)
        shown["overdue"] = self.show_groups(self.overdue)
        shown["position"] = str(self.position)
        shown["proposals"] = str(self.proposals)
        return shown

    def show_groups(self, groups: list[Group]) -> list[str]:
        return [
            f"{self.show_page(relation << 32 | number)}*{len(self.rows[relation, number])}"
            for relation, number in groups
        ]
