"""W-TinyLFU as its paper has it, one step per reference.

Einziger, Friedman and Manes: TinyLFU: A highly efficient cache admission
policy.  ACM Transactions on Storage 13(4), 2017.

The paper settles:

1. A page that misses enters the window, an LRU list of 1 % of the cache.
2. Main is SLRU: a hit in probation moves the page to protected, 80 % of main,
   whose LRU page then goes back to the MRU end of probation.  Main's victim is
   the LRU page of probation.
3. The window's LRU page enters main if main has room, or if its estimated
   frequency is above that of main's victim, which then leaves; otherwise it
   leaves itself.
4. Every reference is recorded.  When W references have been, all counters and
   the number recorded are halved.  A counter needs to count to W / C only.

It leaves open how sizes are rounded, W itself, who wins a tie (here the page
that is in main), whether a reference that finds its counters at their limit
counts towards W, and whether a newcomer's reference is recorded before or
after it has displaced a page.  All these are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Frequencies(Protocol):
    def add(self, page: int) -> None: ...

    def estimate(self, page: int) -> int: ...


class ExactCounts:
    """A counter for each page: what a sketch without collisions would estimate.

    ``w``: the paper's W.  ``limit``: the highest count.  ``at_limit``: whether
    a reference counts towards W if the page's counter is at the limit.
    """

    def __init__(self, w: int, limit: int, at_limit: bool) -> None:
        self.w, self.limit, self.at_limit = w, limit, at_limit
        self.counts: dict[int, int] = {}
        self.recorded = 0

    def add(self, page: int) -> None:
        count = self.counts.get(page, 0)
        if count < self.limit:
            self.counts[page] = count + 1
        if count < self.limit or self.at_limit:
            self.recorded += 1
        if self.recorded >= self.w:
            self.recorded //= 2
            self.counts = {page: count // 2 for page, count in self.counts.items()}

    def estimate(self, page: int) -> int:
        return self.counts.get(page, 0)


def w_tinylfu(
    pages: Iterable[int],
    c: int,
    max_window: int,
    max_protected: int,
    frequencies: Frequencies,
    newcomer_recorded_last: bool = False,
) -> int:
    """Return the misses; lists are MRU first.

    ``newcomer_recorded_last`` (w_tinylfu.c, 3): what misses is recorded when it
    has come in.
    """
    window: list[int] = []
    probation: list[int] = []
    protected: list[int] = []
    misses = 0

    def admit(candidate: int) -> None:
        """Into main, if it is worth it."""
        if len(probation) + len(protected) == c - max_window:
            if not probation:
                return
            victim = probation[-1]
            if frequencies.estimate(candidate) <= frequencies.estimate(victim):
                return
            probation.pop()
        probation.insert(0, candidate)

    for x in pages:
        hit = x in window or x in probation or x in protected
        if hit or not newcomer_recorded_last:
            frequencies.add(x)
        if x in window:
            window.remove(x)
            window.insert(0, x)
        elif x in protected:
            protected.remove(x)
            protected.insert(0, x)
        elif x in probation:
            probation.remove(x)
            protected.insert(0, x)
            if len(protected) > max_protected:
                probation.insert(0, protected.pop())
        else:
            misses += 1
            window.insert(0, x)
            if len(window) > max_window:
                admit(window.pop())
            if newcomer_recorded_last:
                frequencies.add(x)
    return misses
