"""Every policy against its naive model: random operations, equal states throughout.

The operations are references (some writes, some correlated, some VACUUM's),
pins, forgets, proposals not carried out, evictions not followed by an
admission, frames that join and leave, and moves of the state in memory.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import MODELS
from reference.base import CORRELATED, VACUUM, WRITE, Model
from tidepool import Pool, parse_policy, policies

CAPACITY = 12
PAGES = 20

# Parameters beside the defaults that the models are run with.
VARIANTS: dict[str, list[str]] = {
    "clock": ["max_usage=1", "max_usage=2,initial=0"],
    "lru_k": ["k=1", "k=3", "crp=3", "k=2,crp=2,history=0.5", "k=3,crp=1,history=2", "history=0"],
    "lirs": ["hir=0.3,ghosts=1", "hir=0.1,ghosts=0.5", "ghosts=0"],
    "lirs2": ["hir=0.3,ghosts=1", "hir=0.5,ghosts=4"],
}

SPECS = [
    f"{policy.name}:{variant}" if variant else policy.name
    for policy in policies()
    for variant in ["", *VARIANTS.get(policy.name, [])]
]

page = st.integers(0, PAGES - 1) | st.integers(0, 4)  # a few pages are hot
flags = st.sampled_from([0, 0, 0, 0, WRITE, WRITE, CORRELATED, VACUUM])
operation = st.one_of(
    st.tuples(st.just("reference"), page, flags),
    st.tuples(st.just("reference"), page, flags),
    st.tuples(st.just("reference"), page, flags),
    st.tuples(st.just("scan"), st.integers(0, PAGES - 1), st.integers(1, PAGES)),
    st.tuples(st.just("pin"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("unpin"), st.just(0)),
    st.tuples(st.just("forget"), page),
    st.tuples(st.just("propose"), page),
    st.tuples(st.just("evict"), page),
    st.tuples(st.just("join"), st.just(0)),
    st.tuples(st.just("leave"), st.just(0)),
    st.tuples(st.just("move"), st.just(0)),
)


class Pair:
    """A pool and its model, driven together."""

    def __init__(self, spec: str, frames: int, seed: int) -> None:
        parsed = parse_policy(spec)
        self.pool = Pool(parsed, frames=frames, capacity=CAPACITY, seed=seed)
        per_frame = (
            parsed.policy.ghosts_per_frame if not parsed.values else ghosts_per_frame(parsed)
        )
        self.model: Model = MODELS[parsed.policy.name](parsed.params(), seed, per_frame)
        for frame in range(frames):
            self.model.join(frame)
        self.pinned: set[int] = set()

    def victim(self, page: int, flags: int) -> int | None:
        ours = self.pool.victim(page, self.pinned, flags)
        theirs = self.model.victim(page, self.pinned, flags)
        assert ours == theirs, (
            f"victim {ours}, model {theirs}, pool {self.pool}, model {self.model.describe()}"
        )
        return ours

    def evict(self, frame: int, flags: int) -> None:
        self.pool.evict(frame, flags)
        self.model.evict(frame, flags)

    def reference(self, page: int, flags: int = 0) -> None:
        self.pool.now += 1
        frame = self.pool.find(page)
        if frame is not None:
            self.pool.hit(frame, flags)
            self.model.hit(frame, flags)
            return
        frame = self.victim(page, flags)
        if frame is None:
            return
        if not self.pool.is_free(frame):
            self.evict(frame, flags)
        self.pool.admit(frame, page, flags)
        self.model.admit(frame, page, flags)

    def scan(self, first: int, count: int) -> None:
        for i in range(count):
            self.reference((first + i) % PAGES)
            self.compare()

    def pin(self, frame: int) -> None:
        self.pinned.add(frame)

    def unpin(self, _: int) -> None:
        self.pinned.clear()

    def forget(self, page: int) -> None:
        frame = self.pool.find(page)
        if frame is not None:
            self.pool.forget(frame)
            self.model.forget(frame)

    def propose(self, page: int) -> None:
        if self.pool.find(page) is None:
            self.victim(page, 0)

    def evict_only(self, page: int) -> None:
        if self.pool.find(page) is None:
            frame = self.victim(page, 0)
            if frame is not None and not self.pool.is_free(frame):
                self.evict(frame, 0)

    def join(self, _: int) -> None:
        absent = set(range(CAPACITY)) - set(self.model.members)
        if absent:
            self.pool.join(min(absent))
            self.model.join(min(absent))

    def leave(self, _: int) -> None:
        if self.model.c == 0:
            return
        frame = self.victim(2**34, 0)
        if frame is None:
            return
        if not self.pool.is_free(frame):
            self.evict(frame, 0)
        self.pool.leave(frame)
        self.model.leave(frame)

    def move(self, _: int) -> None:
        self.pool.move()

    def compare(self) -> None:
        assert self.pool.check() == []
        assert str(self.pool) == self.model.describe()

    def run(self, operations: list[tuple[Any, ...]]) -> None:
        for name, *args in operations:
            getattr(self, "evict_only" if name == "evict" else name)(*args)
            self.compare()
        assert self.pool.coldest() == self.model.coldest()


def ghosts_per_frame(spec: Any) -> int:
    from tidepool._sim import lib

    return int(lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array()))


def test_every_policy_has_a_model() -> None:
    assert {policy.name for policy in policies()} == set(MODELS)


@pytest.mark.parametrize("spec", SPECS)
@given(
    frames=st.integers(1, CAPACITY),
    seed=st.integers(0, 2**64 - 1),
    operations=st.lists(operation, max_size=80),
)
def test_equals_model(spec: str, frames: int, seed: int, operations: list[tuple[Any, ...]]) -> None:
    Pair(spec, frames, seed).run(operations)
