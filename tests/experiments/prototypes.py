"""Policies in Python for the tests: each as its paper has it, nothing of the C code in them."""

from __future__ import annotations

from collections import OrderedDict

from tidepool import REFUSED, Access, PythonPolicy
from tidepool.prototypes import Refused


class PyLru(PythonPolicy):
    """Least recently used."""

    def __init__(self) -> None:
        self.order: OrderedDict[int, None] = OrderedDict()  # the oldest first

    def hit(self, page: int, access: Access) -> None:
        self.order.move_to_end(page)

    def victim(self, page: int | None, access: Access) -> int | None:
        return next((old for old in self.order if self.usable(old)), None)

    def evict(self, page: int, access: Access) -> None:
        del self.order[page]

    def admit(self, page: int, access: Access) -> None:
        self.order[page] = None

    def forget(self, page: int) -> None:
        del self.order[page]


class PySieve(PythonPolicy):
    """SIEVE, Algorithm 1: a queue whose hand moves from the tail towards the head."""

    def __init__(self) -> None:
        self.queue: list[int] = []  # the head, where pages come in, first
        self.visited: dict[int, bool] = {}
        self.hand: int | None = None  # a page; None: the tail

    def hit(self, page: int, access: Access) -> None:
        self.visited[page] = True

    def victim(self, page: int | None, access: Access) -> int | None:
        at = len(self.queue) - 1 if self.hand is None else self.queue.index(self.hand)
        for _ in range(2 * len(self.queue)):
            candidate = self.queue[at]
            if self.usable(candidate):
                if not self.visited[candidate]:
                    self.hand = candidate
                    return candidate
                self.visited[candidate] = False
            at = at - 1 if at > 0 else len(self.queue) - 1
        return None

    def evict(self, page: int, access: Access) -> None:
        self.forget(page)

    def admit(self, page: int, access: Access) -> None:
        self.queue.insert(0, page)
        self.visited[page] = False

    def forget(self, page: int) -> None:
        if self.hand == page:
            at = self.queue.index(page)
            self.hand = self.queue[at - 1] if at > 0 else None
        self.queue.remove(page)
        del self.visited[page]


class PyKeep(PyLru):
    """Never evicts."""

    def victim(self, page: int | None, access: Access) -> Refused:  # type: ignore[override]
        return REFUSED


class PyRandom(PyLru):
    """Evicts a random page; with ``share`` of the pool it spares the newest."""

    randomized = True

    def __init__(self, share: float = 1.0) -> None:
        super().__init__()
        self.share = share

    def victim(self, page: int | None, access: Access) -> int | None:
        pages = [old for old in self.order if self.usable(old)]
        return self.random.choice(pages[: max(1, round(self.share * len(pages)))])
