"""A replacement policy in Python: the class to derive from."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import ClassVar, Final, NamedTuple, Protocol, SupportsIndex

from tidepool._sim import lib
from tidepool.errors import PolicyError


class Refused:
    """The type of REFUSED."""

    def __repr__(self) -> str:
        return "REFUSED"


REFUSED: Final = Refused()
"""In place of a victim: the incoming page is not to be cached."""


class Access(NamedTuple):
    """The circumstances of a reference."""

    now: int  # microseconds; in a trace without times, the event's number
    backend: int
    flags: int  # as in tidepool.traces.Flag; the lowest bit, a write

    @property
    def write(self) -> bool:
        """Whether the page is written."""
        return bool(self.flags & lib.TP_WRITE)

    @property
    def vacuum(self) -> bool:
        """Whether VACUUM made it."""
        return bool(self.flags & lib.TP_VACUUM)

    @property
    def correlated(self) -> bool:
        """Whether it repeats the backend's previous reference."""
        return bool(self.flags & lib.TP_CORRELATED)

    @property
    def sequential(self) -> bool:
        """Whether it came through a sequential scan."""
        return bool(self.flags & lib.TP_SEQUENTIAL)


class Surroundings(Protocol):
    """What a policy may ask of the replay that it is in."""

    random: random.Random

    def usable(self, page: int) -> bool:
        """Whether a resident page can be evicted now."""


class PythonPolicy(ABC):
    """A replacement policy.  A replay makes an object of its own for each cell.

    Define hit, victim, evict and admit, and forget if pages of the trace cease
    to exist.  The parameters of ``__init__`` are the policy's parameters; it
    finds ``frames``, the size of the pool, already set.  Decisions may depend
    on nothing but what the policy is told and, if it is ``randomized``, on
    ``random``; so a replay gives the same counts each time.
    """

    randomized: ClassVar[bool] = False  # it draws from self.random
    counts_all: ClassVar[bool] = False  # hit also learns of VACUUM's and correlated references

    frames: int
    surroundings: Surroundings

    @abstractmethod
    def hit(self, page: int, access: Access) -> None:
        """A resident page was referenced."""

    @abstractmethod
    def victim(self, page: int | None, access: Access) -> SupportsIndex | Refused | None:
        """Return the resident page to evict for an incoming one, if there is no free frame.

        It must be usable; None if none is.  REFUSED: the incoming page is not to
        be cached.  Evict nothing yet: that is what evict is for.  ``page`` is
        None when the pool shrinks.
        """

    @abstractmethod
    def evict(self, page: int, access: Access) -> None:
        """The page leaves the pool."""

    @abstractmethod
    def admit(self, page: int, access: Access) -> None:
        """The page, which was not resident, is now."""

    def forget(self, page: int) -> None:
        """The page ceased to exist: as evict, but learn nothing of it."""
        raise PolicyError(
            f"{type(self).__name__} does not say what to do when a page ceases to exist",
            "Define forget(self, page): as evict, but keep no memory of the page.",
        )

    def resized(self) -> None:  # noqa: B027
        """The pool has ``frames`` frames now: keep within what follows from that."""

    def usable(self, page: int) -> bool:
        """Whether a resident page can be evicted now: not if it is pinned.  Ask in victim only."""
        return self.surroundings.usable(page)

    @property
    def random(self) -> random.Random:
        """Random numbers that depend on the replay's seed and on nothing else."""
        if not self.randomized:
            raise PolicyError(
                f"{type(self).__name__} draws random numbers but does not say so",
                "Set randomized = True in the class.",
            )
        return self.surroundings.random
