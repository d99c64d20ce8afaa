"""A number for every page of a trace, in 16 bytes a page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class PageTable:
    """A map from pages to numbers, used with many pages at a time.

    Two sorted arrays: 16 bytes a page, where a dictionary takes about 150.
    Entering a batch of new pages merges it with all the old ones, which is
    fast enough as long as the batches are chunks.
    """

    def __init__(self) -> None:
        self.pages: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.values: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.pages)

    def get(self, pages: NDArray[np.uint64], missing: int) -> NDArray[np.int64]:
        """Return the pages' numbers, ``missing`` for those that have none."""
        if len(self.pages) == 0:
            return np.full(len(pages), missing, np.int64)
        at = np.minimum(np.searchsorted(self.pages, pages), len(self.pages) - 1)
        return np.where(self.pages[at] == pages, self.values[at], np.int64(missing))

    def put(self, pages: NDArray[np.uint64], values: NDArray[np.int64]) -> None:
        """Set the numbers of pages, which are sorted and each there once."""
        at = np.searchsorted(self.pages, pages)
        known = np.zeros(len(pages), np.bool_)
        inside = at < len(self.pages)
        known[inside] = self.pages[at[inside]] == pages[inside]
        self.values[at[known]] = values[known]
        new = ~known
        if new.any():
            self.pages = np.insert(self.pages, at[new], pages[new])
            self.values = np.insert(self.values, at[new], values[new])

    def add(self, pages: NDArray[np.uint64], values: NDArray[np.int64]) -> None:
        """Add to the numbers of pages, sorted and each there once; new ones begin at 0."""
        self.put(pages, self.get(pages, 0) + values)
