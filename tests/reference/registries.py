"""A scan registry and its model, driven together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from reference.scans import ScanModel
from tidepool import Scans


class Shape(NamedTuple):
    """How a scan goes through its relation."""

    size: int = 0  # goes round in so many blocks ...
    low: int = 0  # ... from this one on
    backward: bool = False
    bitmap: bool = False


@dataclass
class Registries:
    capacity: int
    bitmaps: int
    handles: list[int] = field(default_factory=lambda: [0])  # of all scans that began

    def __post_init__(self) -> None:
        self.scans = Scans(self.capacity, self.bitmaps)
        self.model = ScanModel(self.capacity, self.bitmaps)

    @property
    def now(self) -> int:
        return self.scans.now

    @now.setter
    def now(self, now: int) -> None:
        self.scans.now = self.model.now = now

    def begin(
        self,
        first: int,
        count: int,
        shape: Shape,
        *,
        ranges: Sequence[tuple[int, int]] = (),
        speed: float = 0,
        owner: int = 0,
    ) -> None:
        """Of ``ranges``, or of the ``count`` blocks from ``first`` on, if it is a bitmap scan."""
        blocks = ranges or [(first & 0xFFFFFFFF, count)]
        arguments: dict[str, Any] = {
            "low": shape.low,
            "backward": shape.backward,
            "ranges": blocks if shape.bitmap else None,
            "speed": speed,
            "owner": owner,
        }
        handle = self.scans.begin(first, count, shape.size, **arguments)
        registered = self.model.begin(handle, first, count, shape.size, **arguments)
        assert (handle != 0) == registered
        self.handles.append(handle)

    def advance(self, handle: int, page: int) -> None:
        self.scans.advance(handle, page)
        self.model.advance(handle, page)

    def begin_index_scan(self, index: int, owner: int = 0) -> None:
        handle = self.scans.begin_index_scan(index, owner)
        assert (handle != 0) == self.model.trails.begin(handle, index, owner, self.now)
        self.handles.append(handle)

    def tuple(self, handle: int, tuple_: int) -> None:
        self.scans.tuple(handle, tuple_)
        self.model.trails.tuple(handle, tuple_, self.now)

    def end(self, handle: int) -> None:
        """A scan of either kind."""
        self.scans.end(handle)
        self.scans.end_index_scan(handle)
        self.model.end(handle)
        self.model.trails.end(handle)

    def end_owner(self, owner: int) -> None:
        assert self.scans.end_owner(owner) == self.model.end_owner(owner)

    def move(self) -> None:
        self.scans.move()

    def compare(self, pages: Iterable[int] = ()) -> None:
        """Estimates for these pages, and the delays of the last scans."""
        assert self.scans.check() == []
        assert self.scans.running == self.model.running
        for page in pages:
            assert self.scans.next_access(page) == self.model.next_access(page, self.now)
            assert self.scans.expected_access(page) == self.model.expected_access(page, self.now)
        for handle in self.handles[-20:]:
            assert self.scans.delay(handle) == self.model.trails.delay(handle)
