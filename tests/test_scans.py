"""The scan registry against a naive model: random scans, equal estimates throughout."""

from __future__ import annotations

from collections import Counter
from math import inf
from random import Random

import pytest

from reference.registries import Registries, Shape

SIZE = 1000  # blocks of a relation
RELATIONS = 6  # more than there is room for scans of, or for the history of
CAPACITY, BITMAPS = 4, 2
OWNERS = 3
INDEXES = 2


def is_trail(handle: int) -> bool:
    return handle & 1 << 31 != 0


class Walk:
    """Random operations on both registries."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.registries = Registries(CAPACITY, BITMAPS)

    def handle(self) -> int:
        return self.random.choice(self.registries.handles[-12:])

    # ---- the operations ----

    def begin(self) -> None:
        """Some scans are of ranges that they cannot read: these are not registered."""
        r = self.random
        relation = min(r.randrange(RELATIONS) for _ in range(r.choice([1, 2])))
        block, backward = r.randrange(SIZE), r.random() < 0.4
        count = r.randint(0, SIZE)
        low = r.randrange(SIZE // 4)
        ranges: list[tuple[int, int]] = []
        match r.randrange(4):
            case 0:  # to the relation's end
                shape = Shape(backward=backward)
                count = r.randint(0, block + 1 if backward else SIZE - block)
            case 1:
                shape = Shape(SIZE, backward=backward)
            case 2:
                shape = Shape(r.randint(1, SIZE - low), low, backward)
                count = r.randint(0, shape.size)
            case _:
                shape = Shape(SIZE, backward=backward, bitmap=True)
                ranges = [(r.randrange(SIZE), r.randint(1, 50)) for _ in range(r.randint(1, 4))]
        self.registries.begin(
            relation << 32 | block,
            count,
            shape,
            ranges=ranges,
            speed=r.choice([0, 50, 1e4, 1e6]),
            owner=r.randrange(OWNERS),
        )

    def advance(self) -> None:
        """A few blocks on, mostly."""
        r, handle = self.random, self.handle()
        scan = self.registries.model.scans.get(handle)
        block = r.randrange(SIZE)
        if scan is not None and r.random() < 0.9:
            step = r.choice([1, 3, 40])
            block = scan.blocks[min(scan.done + step, len(scan.blocks)) - 1]
        relation = scan.relation if scan else 0
        self.registries.advance(handle, relation << 32 | block)

    def begin_index_scan(self) -> None:
        r = self.random
        self.registries.begin_index_scan(r.randrange(INDEXES), r.randrange(OWNERS))

    def tuples(self) -> None:
        """Few tuples, so that index scans find each other's marks, and their own."""
        r = self.random
        index_scans = [handle for handle in self.registries.handles if is_trail(handle)]
        handle = r.choice(index_scans[-6:]) if index_scans and r.random() < 0.9 else self.handle()
        first = r.randrange(100)
        for tuple_ in range(first, first + 60):
            self.registries.tuple(handle, tuple_)

    def end(self) -> None:
        self.registries.end(self.handle())

    def end_owner(self) -> None:
        self.registries.end_owner(self.random.randrange(OWNERS))

    def wait(self) -> None:
        """Also backwards: clocks of several processors may disagree."""
        step = self.random.choice([-5, 1, 100, 10**4, 10**6, 10**7])
        self.registries.now = max(0, self.registries.now + step)

    def move(self) -> None:
        self.registries.move()

    # ---- all of them ----

    def pages(self) -> list[int]:
        r = self.random
        return [r.randrange(RELATIONS) << 32 | r.randrange(SIZE + 50) for _ in range(10)]

    def run(self, length: int) -> None:
        for name in self.random.choices(list(OPERATIONS), list(OPERATIONS.values()), k=length):
            getattr(self, name)()
            self.registries.compare(self.pages())


OPERATIONS = {
    "begin": 20,
    "advance": 60,
    "begin_index_scan": 6,
    "tuples": 12,
    "end": 6,
    "end_owner": 1,
    "wait": 10,
    "move": 1,
}


@pytest.mark.parametrize("seed", range(20))
def test_equals_model(seed: int) -> None:
    Walk(Random(seed)).run(600)


def test_walks_get_everywhere() -> None:
    """So that the test above compares more than nothing with nothing."""
    seen: Counter[str] = Counter()
    for seed in range(3):
        walk = Walk(Random(seed))
        for _ in range(600):
            walk.run(1)
            model, now = walk.registries.model, walk.registries.now
            for page in walk.pages():
                seen["running"] += model.next_access(page, now) < inf
                seen["history"] += (
                    model.next_access(page, now) == inf > model.expected_access(page, now)
                )
                seen["both"] += (
                    model.expected_access(page, now) < model.next_access(page, now) < inf
                )
            seen["bitmap"] += any(scan.has_bitmap for scan in model.scans.values())
            seen["short"] += len(model.lanes) == CAPACITY
            seen["full"] += None not in model.history.places
            seen["gone"] += any(scan.is_gone(now) for scan in model.scans.values())
            seen["trails"] += any(trail.follower for trail in model.trails.in_place())
            seen["no trail free"] += not model.trails.free
    kinds = ("running", "history", "both", "bitmap", "short", "full", "gone", "trails")
    assert all(seen[kind] > 100 for kind in (*kinds, "no trail free")), seen
