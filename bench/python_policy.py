#!/usr/bin/env python3
"""How fast a policy in Python is replayed, next to the same one in C.

LRU on a generated Zipf trace, at three sizes, one thread.  The counts are the
same; the speed is references a second of the replay itself.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict

from common import count, report

import tidepool as tp
from tidepool.generators import Zipf

PAGES = 100_000
FRAMES = ("1%", "10%", "50%")


class OrderedLru(tp.PythonPolicy):
    """Least recently used."""

    def __init__(self) -> None:
        self.order: OrderedDict[int, None] = OrderedDict()  # the oldest first

    def hit(self, page: int, access: tp.Access) -> None:
        self.order.move_to_end(page)

    def victim(self, page: int | None, access: tp.Access) -> int | None:
        return next((old for old in self.order if self.usable(old)), None)

    def evict(self, page: int, access: tp.Access) -> None:
        del self.order[page]

    def admit(self, page: int, access: tp.Access) -> None:
        self.order[page] = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=count, default=1_000_000, help="references")
    options = parser.parse_args()
    trace = Zipf(pages=PAGES, length=options.length)
    results = tp.simulate(trace, [OrderedLru, "lru"], FRAMES, workers=1)
    rows = []
    for mine, its in zip(results[: len(FRAMES)], results[len(FRAMES) :], strict=True):
        assert mine.misses == its.misses
        speeds = [result.requests / result.seconds / 1e6 for result in (mine, its)]
        rows.append((f"{mine.frames:,}", 100 * mine.hit_ratio, *speeds, speeds[1] / speeds[0]))
    columns = ("frames", "hit ratio (%)", "Python (M/s)", "C (M/s)", "C / Python")
    report("python_policy", "LRU in Python and in C, references a second", columns, rows)


if __name__ == "__main__":
    main()
