"""Caches for naive replays under the naive models of the policies (tests/reference)."""

from __future__ import annotations

from reference import MODELS
from reference.base import CORRELATED, REFUSED, VACUUM, WRITE
from simulation.generated import Event
from simulation.naive import Cache
from tidepool import parse_policy
from tidepool._sim import lib
from tidepool.traces import Kind


class Modelled(Cache):
    """A pool under a policy's model, in which pages are pinned.

    A pinned page goes only if all pages are.
    """

    counts_all = True  # the model knows what counts

    def __init__(self, policy: str, frames: int, seed: int = 0) -> None:
        super().__init__(frames)
        spec = parse_policy(policy)
        ghosts = lib.tp_policy_ghosts_per_frame(spec.policy.handle, spec.array())
        self.model = MODELS[spec.policy.name](spec.params(), seed, ghosts, frames)
        self.model.knows_dirty = True
        for frame in range(frames):
            self.model.join(frame)
        self.frame: dict[int, int] = {}  # of resident pages
        self.pinned: set[int] = set()  # frames

    def __contains__(self, page: int) -> bool:
        return page in self.frame

    def flags(self, event: Event) -> int:
        return event.flags & (CORRELATED | VACUUM) | (WRITE if event.kind == Kind.WRITE else 0)

    def hit(self, page: int, event: Event) -> None:
        self.model.now = self.time
        self.model.hit(self.frame[page], self.flags(event), event.backend)

    def load(self, page: int, event: Event) -> list[int]:
        flags = self.flags(event)
        self.model.now = self.time
        self.model.read(page)
        victim = self.model.victim(page, self.pinned, flags, event.backend)
        if victim is None:
            victim = self.model.victim(page, (), flags, event.backend)
        if victim is None or victim == REFUSED:
            return [page]
        gone = []
        if victim in self.model.page:
            gone = [self.model.page[victim]]
            del self.frame[gone[0]]
            self.pinned.discard(victim)
            self.model.evict(victim, flags, event.backend)
        self.model.admit(victim, page, flags, event.backend)
        self.frame[page] = victim
        return gone

    def forget(self, page: int) -> None:
        frame = self.frame.pop(page)
        self.pinned.discard(frame)
        self.model.forget(frame)

    def frame_of(self, page: int) -> int:
        return self.frame[page]

    def pin(self, page: int) -> None:
        self.pinned.add(self.frame[page])

    def unpin(self, page: int) -> None:
        self.pinned.discard(self.frame[page])
