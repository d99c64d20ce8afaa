"""LIRS with the paper's stack S and queue Q (SIGMETRICS 2002, section 3.3)."""

from __future__ import annotations

from collections.abc import Collection

from reference.base import Evicted, Model, Passed, promotes, put_back


class LIRS(Model):
    """S holds the last references to LIR, resident HIR and non-resident HIR pages.

    A page is in S at most ``depth`` times, once in LIRS; its older references
    are taken out.  Pruning keeps a LIR page at the bottom.  A HIR page that
    was in S ``depth`` times becomes LIR when it is referenced.
    """

    policy = "lirs"

    depth = 1

    def init(self) -> None:
        self.stack: list[int] = []  # S: pages
        self.lir: set[int] = set()  # pages
        self.queue: list[int] = []  # Q: pages
        # Non-resident HIR pages, most recently evicted first.  Pruning takes
        # a page out of S at once, out of here only when it comes to the tail.
        self.ghosts: list[int] = []
        self.previous: int | None = None  # page of the previous reference
        self.passed = {"LIR": Passed(), "Q": Passed()}  # pages
        self.taken = 0  # frames that Q has taken from the LIR set

    @property
    def lir_share(self) -> int:
        """What Lhirs leaves of the frames."""
        return self.c - min(max(int(self.params["hir"] * self.c), 2), self.c)

    @property
    def lir_size(self) -> int:
        """Llirs."""
        return self.lir_share - self.taken

    @property
    def most_ghosts(self) -> int:
        return int(self.params["ghosts"] * self.c)

    # ---- the lists that are searched ----

    def pages_on(self, name: str) -> list[int]:
        return self.queue if name == "Q" else self.lir_pages()

    def leave_list(self, page: int) -> None:
        """The page is about to leave the list that it is on."""
        name = "LIR" if page in self.lir else "Q"
        self.passed[name].leave(self.pages_on(name), page)

    # ---- stack S ----

    def push(self, page: int) -> None:
        self.stack.insert(0, page)
        if self.stack.count(page) > self.depth:
            self.remove_oldest(page)

    def remove_oldest(self, page: int) -> None:
        oldest = max(i for i, other in enumerate(self.stack) if other == page)
        del self.stack[oldest]

    def remove_all(self, page: int) -> None:
        self.stack = [other for other in self.stack if other != page]

    def prune(self) -> None:
        while self.stack and self.stack[-1] not in self.lir:
            self.stack.pop()

    def demote_and_prune(self) -> None:
        """LIR pages in excess of Llirs become HIR; ghosts that have left S are forgotten."""
        self.prune()
        while len(self.lir) > self.lir_size:
            page = self.stack[-1]
            self.leave_list(page)
            self.stack.pop()
            self.lir.remove(page)
            self.queue.insert(0, page)
            self.prune()
        while self.ghosts and self.ghosts[-1] not in self.stack:
            self.ghosts.pop()

    def trim_ghosts(self, limit: int) -> None:
        while len(self.ghosts) > limit:
            self.remove_all(self.ghosts.pop())

    # ---- the operations ----

    def on_hit(self, frame: int, flags: int) -> None:
        page = self.page[frame]
        if page == self.previous:
            return
        self.previous = page
        due = self.stack.count(page) == self.depth
        at_head = page == self.pages_on("LIR" if page in self.lir else "Q")[0]
        if not at_head or (due and page not in self.lir):
            self.leave_list(page)
        self.push(page)
        if page not in self.lir:
            self.queue.remove(page)
            if due:
                self.grow()
                self.lir.add(page)
            else:
                self.queue.insert(0, page)
        self.demote_and_prune()

    def shrink(self) -> None:
        """Llirs shrinks by one, down to half, as a LIR page is evicted."""
        self.taken = min(self.taken + 1, self.lir_share // 2)

    def grow(self) -> None:
        """Llirs grows again by one, as a page is promoted."""
        self.taken = max(self.taken - 1, 0)

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        frames = {page: frame for frame, page in self.page.items()}
        pinned = {page for page, frame in frames.items() if frame in unusable}
        for name in ("Q", "LIR"):
            found = self.passed[name].search(self.pages_on(name), pinned)
            if found is not None:
                return frames[found]
        return next((frame for frame in self.coldest() if frame not in unusable), None)

    def take_out(self, page: int) -> None:
        """Of the LIR pages or of Q, not of S."""
        self.leave_list(page)
        if page in self.lir:
            self.lir.remove(page)
        else:
            self.queue.remove(page)
        self.prune()

    def on_evict(self, frame: int, flags: int) -> None:
        page = self.page[frame]
        if page in self.lir:
            self.shrink()
        self.take_out(page)
        if self.ghosts_per_frame == 0:
            self.remove_all(page)
        if page in self.stack:
            self.trim_ghosts(self.c * self.ghosts_per_frame)  # there is one slot more
            self.ghosts.insert(0, page)
            self.origin[frame] = "HIR"
        self.demote_and_prune()

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        self.previous = page
        if not promotes(flags):
            self.remove_all(page)
        due = self.stack.count(page) == self.depth
        self.push(page)
        if page in self.ghosts:
            self.ghosts.remove(page)
        if due:
            self.grow()
        if due or len(self.lir) < self.lir_size:
            self.lir.add(page)
        else:
            self.queue.insert(0, page)
        self.trim_ghosts(self.most_ghosts)
        self.demote_and_prune()

    def on_forget(self, frame: int) -> None:
        page = self.page[frame]
        self.take_out(page)
        self.remove_all(page)
        self.demote_and_prune()

    def frame_lists(self) -> list[list[int]]:
        """Q."""
        frames = {page: frame for frame, page in self.page.items()}
        return [[frames[page] for page in self.queue]]

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        """Its references are lost, unless it was remembered as non-resident."""
        page = evicted.page
        if page in self.ghosts:
            self.ghosts.remove(page)
        else:
            self.remove_all(page)
            if page == self.previous:
                self.previous = None
        (order,) = self.frame_lists()
        if evicted.place is None:
            order.append(frame)
        else:
            put_back(order, frame, *evicted.place[1:])
        self.queue = [self.page[other] for other in order]
        self.passed["Q"].join(self.queue, page)

    def on_leave(self, frame: int, slot: int) -> None:
        self.taken = min(self.taken, self.lir_share // 2)
        self.trim_ghosts(self.most_ghosts)
        self.demote_and_prune()

    # ---- what is shown ----

    def lir_pages(self) -> list[int]:
        """The LIR pages by their last reference, most recent first."""
        return [page for page in dict.fromkeys(self.stack) if page in self.lir]

    def coldest(self) -> list[int]:
        frames = {page: frame for frame, page in self.page.items()}
        return [frames[page] for page in self.queue[::-1] + self.lir_pages()[::-1]]

    def show_pages(self, name: str) -> list[str]:
        pages, passed = self.pages_on(name), self.passed[name]
        return [self.show_page(page) + passed.marks(pages, page) for page in pages]

    def state(self) -> dict[str, list[str] | str]:
        return {
            "LIR": self.show_pages("LIR"),
            "Q": self.show_pages("Q"),
            "HIR": [self.show_page(page) for page in self.ghosts],
            "Llirs": str(self.lir_size),
        }
