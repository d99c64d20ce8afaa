"""The scan registry against a naive model: random scans, equal estimates throughout."""

from __future__ import annotations

from random import Random

import pytest

from reference.scans import GROUP, ScanModel
from tidepool import Scans

SIZE = 1000  # blocks of a relation
RELATIONS = 4
CAPACITY, BITMAPS = 3, 2
OWNERS = 3


class Pair:
    """A registry and its model, driven together."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.scans = Scans(CAPACITY, BITMAPS)
        self.model = ScanModel(CAPACITY, BITMAPS)
        self.handles = [0]

    # ---- what scans read ----

    def range(self) -> tuple[int, int, int, bool, list[int]]:
        """First block, count, size, direction; and the blocks in order."""
        r = self.random
        first, backward = r.randrange(SIZE), r.random() < 0.3
        step = -1 if backward else 1
        if r.random() < 0.5:
            count = r.randint(1, SIZE)
            return first, count, SIZE, backward, [(first + step * i) % SIZE for i in range(count)]
        count = r.randint(1, first + 1 if backward else SIZE - first)
        return first, count, 0, backward, [first + step * i for i in range(count)]

    def bitmap(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Ranges, and all blocks of the block groups that they touch."""
        r = self.random
        ranges = [(r.randrange(SIZE), r.randint(1, 50)) for _ in range(r.randint(1, 4))]
        groups = {
            block // GROUP for first, count in ranges for block in range(first, first + count)
        }
        if len(self.model.with_bitmap) == BITMAPS:  # all are taken: a range serves
            groups = set(range(min(groups), max(groups) + 1))
        return ranges, [group * GROUP + i for group in sorted(groups) for i in range(GROUP)]

    # ---- the operations ----

    def begin(self) -> None:
        r = self.random
        relation, owner = r.randrange(RELATIONS), r.randrange(OWNERS)
        speed = r.choice([0, 50, 1e4, 1e6])
        has_room = self.model.has_room(relation, self.scans.now)
        if r.random() < 0.3:
            ranges, blocks = self.bitmap()
            shared = len(self.model.with_bitmap) < BITMAPS
            handle = self.scans.begin(
                relation << 32, size=SIZE, ranges=ranges, speed=speed, owner=owner
            )
            if has_room and shared:
                self.model.with_bitmap.add(handle)
        else:
            first, count, size, backward, blocks = self.range()
            page = relation << 32 | first
            handle = self.scans.begin(
                page, count, size, backward=backward, speed=speed, owner=owner
            )
        assert (handle != 0) == has_room
        if has_room:
            self.handles.append(handle)
            self.model.begin(handle, relation, blocks, speed, owner, self.scans.now)

    def advance(self) -> None:
        """A few blocks on, mostly."""
        r = self.random
        handle = r.choice(self.handles[-12:])
        scan = self.model.scans.get(handle)
        block = r.randrange(SIZE)
        if scan is not None and r.random() < 0.9:
            step = r.choice([1, 3, 40])
            block = scan.blocks[min(scan.done + step, len(scan.blocks)) - 1]
        relation = scan.relation if scan else 0
        self.scans.advance(handle, relation << 32 | block)
        self.model.advance(handle, block, self.scans.now)

    def end(self) -> None:
        handle = self.random.choice(self.handles[-12:])
        self.scans.end(handle)
        self.model.end(handle)

    def end_owner(self) -> None:
        owner = self.random.randrange(OWNERS)
        assert self.scans.end_owner(owner) == self.model.end_owner(owner)

    def wait(self) -> None:
        self.scans.now += self.random.choice([1, 100, 10**4, 10**6, 10**7])

    def move(self) -> None:
        self.scans.move()

    def compare(self) -> None:
        assert self.scans.check() == []
        assert self.scans.running == len(self.model.scans)
        for _ in range(10):
            relation, block = self.random.randrange(RELATIONS), self.random.randrange(SIZE + 50)
            ours = self.scans.next_access(relation << 32 | block)
            assert ours == self.model.next_access(relation, block, self.scans.now)


OPERATIONS = {"begin": 20, "advance": 60, "end": 6, "end_owner": 1, "wait": 10, "move": 1}


@pytest.mark.parametrize("seed", range(20))
def test_equals_model(seed: int) -> None:
    random = Random(seed)
    pair = Pair(random)
    for name in random.choices(list(OPERATIONS), list(OPERATIONS.values()), k=600):
        getattr(pair, name)()
        pair.compare()


def test_estimates_are_finite_often_enough() -> None:
    """So that the test above compares more than nothing with nothing."""
    pair = Pair(Random(1))
    finite = 0
    for name in pair.random.choices(["begin", "advance"], [1, 5], k=200):
        getattr(pair, name)()
        finite += pair.scans.next_access(500) < float("inf")
    assert finite > 50
