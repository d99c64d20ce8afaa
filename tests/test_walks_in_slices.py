"""Walks over a pool that pause: on one that stays as it is, and on one that changes meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from lockstep.pair import CAPACITY, PAGES, Operation, Pair
from lockstep.variants import SPECS
from lockstep.walks import OFTEN, walk
from tidepool.pool import Lookahead, Walk

# no policy has more lists or bands, and each of them costs a look at every frame at most
MOST_LOOKS = 64 * CAPACITY


def changed(spec: str, seed: int, length: int) -> Pair:
    """A pool that has been in use."""
    random = Random(seed)
    frames = random.randint(1, 13)
    pair = Pair(spec, frames, random.randint(frames + 2, PAGES), random.getrandbits(64))
    pair.run(walk(random, OFTEN, length))
    return pair


def finish(pair: Pair, walker: Walk | Lookahead, looks: int, changes: list[list[Operation]]) -> int:
    """Walk to the end, with changes after each slice as long as there are some."""
    found = slices = 0
    while not walker.over:
        frames = walker.slice(looks)
        for frame in frames:
            assert frame in pair.model.members
            assert not pair.pool.is_free(frame)
        found += len(frames)
        slices += 1
        assert slices <= MOST_LOOKS
        if changes:
            pair.run(changes.pop())
    assert walker.slice(looks) == []
    return found


@pytest.mark.parametrize("spec", SPECS)
def test_slices_make_the_whole_walk(spec: str) -> None:
    for seed in range(20):
        pair = changed(spec, seed, 40)
        for looks in (1, 2, 5, 100):
            walker = pair.pool.walk()
            found: list[int] = []
            while not walker.over:
                found += walker.slice(looks)
            assert pair.model.may_be_coldest(found)


@pytest.mark.parametrize("spec", SPECS)
def test_a_walk_survives_any_change(spec: str) -> None:
    found = 0
    for seed in range(40):
        pair = changed(spec, seed, 40)
        random = Random(seed)
        ahead = pair.pool.lookahead()
        for looks in (1, 2, 3):
            changes = [walk(random, OFTEN, random.randint(0, 3)) for _ in range(20)]
            found += finish(pair, pair.pool.walk(), looks, changes)
            ahead.begin(random.randint(1, CAPACITY))
            changes = [walk(random, OFTEN, random.randint(0, 3)) for _ in range(20)]
            finish(pair, ahead, looks, changes)
    assert found > 40 * 3  # most walks find something
