"""Sizes of a cache as users write them: frames, a share of the pages, bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidepool._sim import ffi, lib
from tidepool.errors import TidepoolError
from tidepool.simulation.events import Events, positioned
from tidepool.traces.model import Trace

PAGE_BYTES = 8192
MAX_FRAMES = 2**31 - 1
_UNITS = {"kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


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
    """Return the size that ``N``, ``P%`` or ``SIZE`` (``64MB``; 8 KiB pages) stands for."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%|[kKmMgGtT][bB])?\s*", text)
    if not match:
        raise TidepoolError(
            f'invalid size "{text}"',
            "Use a number of frames (1000), a share of the pages (10%) or bytes (64MB).",
        )
    number, unit = float(match[1]), (match[2] or "").lower()
    if unit == "%":
        if not 0 < number <= 100:
            raise TidepoolError(
                f'size "{text}" is out of range', "Use a share above 0% and up to 100%."
            )
        return Size(share=number / 100)
    frames = number * _UNITS[unit] / PAGE_BYTES if unit else number
    if not unit and not number.is_integer():
        raise TidepoolError(f'invalid size "{text}"', "Use a whole number of frames.")
    if not 1 <= frames <= MAX_FRAMES:
        raise TidepoolError(
            f'size "{text}" is out of range', f"Use 1 to {MAX_FRAMES} frames of 8 kB."
        )
    return Size(frames=int(frames))


def count_pages(trace: Trace) -> int:
    """Return the number of distinct pages that a trace references, in one pass over it."""
    future = ffi.gc(_checked(lib.tps_future_new()), lib.tps_future_free)
    for position, chunk in positioned(trace):
        if not lib.tps_future_feed(future, Events(chunk, position).pointer, ffi.NULL):
            raise MemoryError("no memory to count the pages")
    return int(lib.tps_future_distinct(future))


def _checked(pointer: object) -> object:
    if pointer == ffi.NULL:
        raise MemoryError("no memory to count the pages")
    return pointer
