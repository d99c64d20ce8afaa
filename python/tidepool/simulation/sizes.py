"""Sizes of a cache as users write them: frames, a share of the pages, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.notation import binary, number, percentage
from tidepool.simulation.events import Events, positioned
from tidepool.traces.model import Trace

if TYPE_CHECKING:
    from tidepool._sim import CData

PAGE_BYTES = 8192
MAX_FRAMES = 2**31 - 1


@dataclass(frozen=True)
class Size:
    """A number of frames, or a share of a trace's distinct pages."""

    frames: int | None = None
    share: float | None = None

    def resolve(self, pages: int | None) -> int:
        """Return the number of frames; ``pages`` is the trace's distinct pages.

        A share is rounded to the nearest whole frame, at least 1.
        """
        if self.frames is not None:
            return self.frames
        assert self.share is not None and pages is not None
        return max(1, round(self.share * pages))


def parse_size(text: str) -> Size:
    """Return the size that is written: frames, P% of the pages, or bytes (pages of 8 KiB).

    1000, 1_000, 1e3; 5%; 64MB, 64M, 1.5GB, 64MiB.
    """
    if (share := percentage(text)) is not None:
        if not 0 < share <= 1:
            raise TidepoolError(
                f'size "{text}" is out of range', "Use a share above 0% and up to 100%."
            )
        return Size(share=share)
    hint = "Use a whole number of frames (1000), a share of the pages (10%) or bytes (64MB)."
    return Size(frames=_absolute(text, hint))


def parse_memory(text: str) -> int:
    """Return the buffers of 8 KiB that are written: their number, or bytes.

    1000, 1_000, 1e3; 64MB, 64M, 1.5GB, 64MiB.
    """
    hint = "Use buffers (16384) or bytes (128MB)."
    if percentage(text) is not None:
        raise TidepoolError(f'a share is not an amount of memory: "{text}"', hint)
    return _absolute(text, hint)


def _absolute(text: str, hint: str) -> int:
    """Return the frames that are written as their number or as bytes; ``hint`` is for neither."""
    if text.strip().lower().endswith("k"):
        # people mean a thousand frames by it as often as a kilobyte
        raise TidepoolError(f'invalid size "{text}"', "Use frames (10000) or bytes (80MB, 64kB).")
    size = binary(text)
    frames = number(text) if size is None else size / PAGE_BYTES
    if frames is None or (size is None and not frames.is_integer()):
        raise TidepoolError(f'invalid size "{text}"', hint)
    return _in_range(text, frames)


def size_of(value: float) -> Size:
    """Return the size of so many frames; raise TidepoolError if there can be none."""
    if isinstance(value, bool) or not float(value).is_integer():
        raise TidepoolError(
            f"{value!r} is not a number of frames",
            'Use a whole number (1000), or text: "5%" of the pages, "64MB".',
        )
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return Size(frames=_in_range(text, float(value)))


def _in_range(text: str, frames: float) -> int:
    if not 1 <= frames <= MAX_FRAMES:
        raise TidepoolError(
            f'size "{text}" is out of range', f"Use 1 to {MAX_FRAMES} frames of 8 kB."
        )
    return int(frames)


def count_pages(trace: Trace) -> int:
    """Return the number of distinct pages that a trace references, in one pass over it."""
    future = ffi.gc(_checked(lib.tps_future_new()), lib.tps_future_free)
    for position, chunk in positioned(trace):
        if not lib.tps_future_feed(future, Events(chunk, position).pointer, ffi.NULL):
            raise MemoryError("no memory to count the pages")
    return int(lib.tps_future_distinct(future))


def _checked(pointer: CData) -> CData:
    if pointer == ffi.NULL:
        raise MemoryError("no memory to count the pages")
    return pointer
