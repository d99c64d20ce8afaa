"""LRU-K with every page's whole history (SIGMOD 1993, Figure 2.1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from reference.base import Evicted, Model, Passed, PassedList, neighbours, promotes, put_back


class LRUK(Model):
    """A page's history is the times of its uncorrelated references, newest first."""

    policy = "lru_k"
    heap = "finite"

    LOOKS = 32  # at pages of finite K-distance, for one that is eligible

    def init(self) -> None:
        self.k = int(self.params["k"])
        self.crp = int(self.params["crp"])
        self.clock = 0
        self.recent: list[int] = []  # resident pages by their last reference, newest first
        self.last: dict[int, int] = {}  # LAST
        self.history: dict[int, list[int]] = {}  # HIST, ghosts' too
        self.passed_infinite = Passed()  # pages
        self.passed = PassedList()  # frames
        self.ghosts: list[int] = []  # pages, most recently evicted first

    def known(self, page: int) -> int:
        return min(len(self.history[page]), self.k)

    @property
    def infinite(self) -> list[int]:
        return [page for page in self.recent if self.known(page) < self.k]

    @property
    def all_finite(self) -> list[int]:
        """Those passed, too."""
        return [page for page in self.page.values() if self.known(page) == self.k]

    @property
    def finite(self) -> list[int]:
        passed = [self.page[frame] for frame in self.passed]
        return [page for page in self.all_finite if page not in passed]

    def leave_infinite(self, page: int) -> None:
        if page in self.infinite:
            self.passed_infinite.leave(self.infinite, page)

    def trim_ghosts(self, limit: int) -> None:
        while len(self.ghosts) > limit:
            del self.history[self.ghosts.pop()]

    def trim_to_bound(self) -> None:
        self.trim_ghosts(int(self.params["history"] * self.c))

    # ---- the operations ----

    def referenced(self, page: int) -> None:
        self.last[page] = self.clock
        if page in self.recent:
            self.recent.remove(page)
        self.recent.insert(0, page)

    def on_hit(self, frame: int, flags: int) -> None:
        page = self.page[frame]
        self.leave_infinite(page)
        self.clock += 1
        if self.clock - self.last[page] > self.crp:
            # a correlated period counts as one moment: what was before it moves up
            period = self.last[page] - self.history[page][0]
            before = [time + period for time in self.history[page]]
            self.history[page] = [self.clock, *before]
        self.referenced(page)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        frames = {page: frame for frame, page in self.page.items()}
        pinned = {page for page in frames if frames[page] in unusable}

        def eligible(page: int) -> bool:
            return self.clock + 1 - self.last[page] > self.crp

        first = self.passed_infinite.search(self.infinite, pinned)
        if first is not None and eligible(first):
            return frames[first]
        for _ in self.passed.look_again(unusable):
            self.passed.pop()
        finite: list[int] = []  # usable ones, to the first that is eligible
        for page in sorted(
            self.finite, key=lambda page: (self.history[page][self.k - 1], self.last[page])
        ):
            if page in pinned:
                self.passed.insert(0, frames[page])
                continue
            finite.append(page)
            if eligible(page) or len(finite) == self.LOOKS:
                break
        candidates = finite if first is None else [first, *finite]
        for victim in [*filter(eligible, candidates), *candidates]:
            return frames[victim]
        rest = [frames[page] for page in self.infinite[::-1]] + self.passed[::-1]
        return next((frame for frame in rest if frame not in unusable), None)

    def forget_page(self, frame: int) -> None:
        page = self.page[frame]
        self.leave_infinite(page)
        if frame in self.passed:
            self.passed.remove(frame)
        self.recent.remove(page)
        del self.last[page]

    def on_evict(self, frame: int, flags: int) -> None:
        page = self.page[frame]
        self.forget_page(frame)
        if self.k == 1 or self.ghosts_per_frame == 0:
            del self.history[page]
            return
        self.trim_ghosts(self.c * self.ghosts_per_frame)  # there is one slot more
        self.ghosts.insert(0, page)
        self.origin[frame] = "history"

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.clock += 1
        before = self.history.get(page, []) if promotes(flags) else []
        self.history[page] = [self.clock, *before]
        if page in self.ghosts:
            self.ghosts.remove(page)
        self.referenced(page)
        self.trim_to_bound()

    def on_forget(self, frame: int) -> None:
        self.forget_page(frame)
        del self.history[self.page[frame]]

    def frame_lists(self) -> list[list[int]]:
        frames = {page: frame for frame, page in self.page.items()}
        return [[frames[page] for page in self.infinite]]

    def what_is_known(self, frame: int) -> dict[str, object]:
        page = self.page[frame]
        return {"history": list(self.history[page]), "last": self.last[page]}

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        """Only infinite pages have an order."""
        page = evicted.page
        if page in self.ghosts:
            self.ghosts.remove(page)
        behind = None
        if evicted.place is not None:
            (order,) = self.frame_lists()
            put_back(order, frame, *evicted.place[1:])
            behind = neighbours(order, frame)[1]
        at = len(self.recent) if behind is None else self.recent.index(self.page[behind])
        self.recent.insert(at, page)
        self.history[page] = cast(list[int], evicted.known["history"])
        self.last[page] = cast(int, evicted.known["last"])
        if page in self.infinite:
            self.passed_infinite.join(self.infinite, page)

    def on_leave(self, frame: int, slot: int) -> None:
        self.trim_to_bound()

    # ---- what is shown ----

    def coldest(self) -> list[int]:
        frames = {page: frame for frame, page in self.page.items()}
        finite = sorted(self.all_finite, key=self.digits, reverse=True)
        return [frames[page] for page in [*self.infinite[::-1], *finite]]

    def digits(self, page: int) -> int:
        return (self.clock - self.history[page][self.k - 1]).bit_length()

    def may_be_coldest(self, found: list[int]) -> bool:
        """Pages of finite distance with as many digits come in any order."""
        coldest = self.coldest()
        first = len(self.infinite)
        return (
            found[:first] == coldest[:first]
            and sorted(found) == sorted(coldest)
            and [self.digits(self.page[frame]) for frame in found[first:]]
            == [self.digits(self.page[frame]) for frame in coldest[first:]]
        )

    def may_find(self, found: list[int], victims: int, unwanted: Collection[int]) -> bool:
        """Behind those of infinite, any of finite: heaps have cells, models do not."""
        frames = {page: frame for frame, page in self.page.items()}
        infinite = [frames[page] for page in self.infinite[::-1]][:victims]
        first = [frame for frame in infinite if frame not in unwanted]
        rest = found[len(first) :]
        return (
            found[: len(first)] == first
            and len(infinite) + len(rest) <= victims
            and len(rest) == len(set(rest))
            and set(rest) <= {frames[page] for page in self.finite} - set(unwanted)
        )

    def show_pages(self, pages: list[int]) -> list[str]:
        return [f"{self.show_page(page)}*{self.known(page)}" for page in pages]

    def state(self) -> dict[str, list[str] | str]:
        infinite = self.infinite
        shown = zip(infinite, self.show_pages(infinite), strict=True)
        return {
            "infinite": [text + self.passed_infinite.marks(infinite, page) for page, text in shown],
            "finite": self.show_pages(self.finite),
            "passed": self.show_pages([self.page[frame] for frame in self.passed]),
            "history": [self.show_page(page) for page in self.ghosts],
        }
