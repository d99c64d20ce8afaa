"""Where rows and index entries are: heaps and B-trees in 8 KiB pages.

The sizes are PostgreSQL's.  Trees are as CREATE INDEX leaves them; no page
ever splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.draws import Integers
from tidepool.traces.model import page_number

Pages = NDArray[np.uint64]


def _aligned(size: int) -> int:
    return (size + 7) // 8 * 8


def rows_per_page(width: int) -> int:
    """Return how many rows of ``width`` bytes a heap page holds.

    A page has a header of 24 bytes; a row has a header of 24 bytes, is
    aligned to 8, and has a line pointer of 4.
    """
    return (8192 - 24) // (_aligned(24 + width) + 4)


def entries_per_page(key_width: int) -> int:
    """Return how many entries with a key of ``key_width`` bytes a B-tree page holds.

    A page has 24 bytes of header and 16 at its end, and is filled to 90 %;
    an entry has a header of 8 bytes, is aligned to 8, and has a line pointer
    of 4.
    """
    return int((8192 - 24 - 16) * 0.9) // (_aligned(8 + key_width) + 4)


def pages_of(relation: int, blocks: NDArray[np.integer[Any]]) -> Pages:
    """Return the numbers of blocks of a relation's main fork."""
    return blocks.astype(np.uint64) + np.uint64(page_number(relation, 0))


@dataclass(frozen=True)
class Heap:
    """A table whose rows are numbered from 0 in the order of their places."""

    relation: int
    per_page: int

    def page(self, row: Integers) -> Pages:
        """Return the pages of these rows."""
        return pages_of(self.relation, row // self.per_page)


@dataclass(frozen=True)
class Btree:
    """A B-tree over ``entries`` entries, numbered from 0 in the order of their keys.

    Block 0 is the metapage, which a backend reads once and keeps.  Then come
    the root, the inner levels and the leaves; leaves added later follow.
    """

    relation: int
    entries: int
    per_page: int

    @cached_property
    def levels(self) -> Sequence[int]:
        """The number of pages of each level, leaves first."""
        levels = [-(-self.entries // self.per_page)]
        while levels[-1] > 1:
            levels.append(-(-levels[-1] // self.per_page))
        return levels

    def leaf(self, entry: Integers) -> Integers:
        """Return the leaves, numbered from 0, of these entries."""
        return entry // self.per_page

    def path(self, leaf: Integers, under: Integers | None = None) -> list[Pages]:
        """Return the pages from the root down to the leaves.

        ``under``: the initial leaves next to which leaves added later hang.
        """
        near = leaf if under is None else under
        path = []
        block = 1
        for level in range(len(self.levels) - 1, 0, -1):
            path.append(pages_of(self.relation, block + near // self.per_page**level))
            block += self.levels[level]
        path.append(pages_of(self.relation, block + leaf))
        return path
