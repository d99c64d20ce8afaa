"""Predictive buffer management by sampling."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

import numpy as np

from reference.base import Evicted, Model
from reference.sample import sample_frames, sample_members
from reference.sweep import Sweep

MOST = 256  # frames in a sample


def single(x: float) -> float:
    """Rounded to single precision."""
    return float(np.float32(x))


@dataclass
class History:
    """What is kept of a page."""

    last: int
    trail: int
    since: float
    interval: float = inf

    def idle(self, now: int) -> int:
        """Time since the last reference, which may be later than the last miss."""
        return max(0, now - self.last)

    def age(self, now: int) -> float:
        return self.since + self.idle(now)

    def is_newcomer(self) -> bool:
        """Has the page been referenced once by what counts?"""
        return self.since < inf and self.interval == inf


class BusyClock:
    """Time without most of the pauses in which the pool was not used."""

    def __init__(self) -> None:
        self.used: int | None = None  # last, in units of 1024 microseconds
        self.off = 0  # what pauses have taken off, in units of 32 such

    def look(self, now: int) -> int:
        """Return the time at this one, if the pool is used then."""
        return now - 32 * 1024 * (self.off + self.pause(now))

    def pause(self, now: int) -> int:
        behind = 0 if self.used is None else now // 1024 - self.used
        return max(0, behind - 64) // 32

    def use(self, now: int) -> int:
        self.off += self.pause(now)
        self.used = max(self.used or 0, now // 1024)
        return self.look(now)


class Newcomers:
    """When they return, and which references are one, by what was seen in windows."""

    def __init__(self) -> None:
        self.began = 0
        self.wait = self.growth = 0.0
        self.period = 64_512.0
        self.loads = self.untold = 0
        # looked at: of all pages, and ages of newcomers; told of, and not yet
        self.looked = self.looked_untold = 0
        self.ages: list[int] = []
        self.ages_untold: list[int] = []
        self.returned = 0

    def expected(self, age: float) -> float:
        return self.wait + age * self.growth if self.wait else inf

    def look(self, history: History | None, now: int) -> None:
        self.looked_untold += 1
        if history is not None and history.is_newcomer():
            self.ages_untold.append(int(history.age(now)))

    def load(self, frames: int, now: int) -> None:
        self.untold += 1
        window = frames // 8 + 1
        if self.untold < min(16, window):
            return
        windows, self.loads = self.loads // window, self.loads + self.untold
        self.looked += self.looked_untold
        self.ages += self.ages_untold
        self.untold = self.looked_untold = 0
        self.ages_untold = []
        if self.loads // window != windows:
            self.end_window(frames, now)
            self.began, self.looked, self.returned, self.ages = now, 0, 0, []

    def end_window(self, frames: int, now: int) -> None:
        if self.began == 0:
            return
        took = max(1, now - self.began)
        self.period = single(min(took / 8, 64_512))
        if sum(self.ages) > 0:
            count = len(self.ages)
            rate = (self.returned or 0.5) / took
            wait = 0.75 * (count / self.looked * frames) / rate
            self.wait = single(wait)
            self.growth = single(wait / (sum(self.ages) / count))


@dataclass
class Candidate:
    frame: int
    version: int
    wait: float
    last: int
    stale: bool
    verified: bool = False
    dirty: bool = False  # once it is verified


class Chain:
    """Frames in the order in which scans loaded them: each with those before and behind."""

    def __init__(self) -> None:
        self.links: dict[int, list[int | None]] = {}
        self.newest: dict[int, int | None] = {}  # by scan % 8

    def link(self, before: int | None, behind: int | None) -> None:
        if before is not None:
            self.links[before][1] = behind
        if behind is not None:
            self.links[behind][0] = before

    def add(self, frame: int, scan: int) -> None:
        """Behind the last one that the scan loaded; alone, if it was none."""
        before = self.newest.get(scan % 8) if scan else None
        behind = None if before is None else self.links[before][1]
        self.links[frame] = [None, None]
        self.link(before, frame)
        self.link(frame, behind)
        if scan:
            self.newest[scan % 8] = frame

    def remove(self, frame: int) -> None:
        before, behind = self.links.pop(frame)
        self.link(before, behind)
        for place, newest in self.newest.items():
            if newest == frame:
                self.newest[place] = before


class PBM(Model):
    policy = "pbm"
    per_frame = ("history",)

    def init(self) -> None:
        self.sweep = Sweep(int(self.params["samples"] + self.params["remember"]), 28, self.band)
        self.chain = Chain()
        self.neighbours: list[tuple[int, int]] = []  # of the last victim, as in list
        self.expected: dict[int, float] = {}  # of the frames in list, when estimated
        self.last: dict[int, int] = {}  # likewise, their pages' last
        self.history: dict[int, History] = {}
        self.left: dict[int, History] = {}  # of pages that have gone, by their frame
        self.newcomers = Newcomers()
        self.clock = BusyClock()
        self.version: dict[int, int] = {}  # of a frame: how often its page changed
        self.list: list[tuple[int, int]] = []  # frames, and their versions
        self.due = self.next = 0
        self.sampled_at = self.seen = self.seen_busy = 0

    def value(self, name: str) -> int:
        return int(self.params[name])

    def is_trail(self) -> bool:
        """Is the reference through an index scan that others may trail?"""
        return bool(self.scan & 1 << 31)

    def counts(self) -> bool:
        return self.scan == 0 or self.is_trail() or self.value("frequency") == 1

    def is_auto(self) -> bool:
        return self.value("frequency") == 0

    # ---- estimates ----

    def estimate(self, frame: int, now: int, busy: int) -> float:
        waits = [inf]
        history = self.history[frame]
        if self.scans is not None:
            ask = (
                self.scans.expected_access if self.value("scan_history") else self.scans.next_access
            )
            waits.append(ask(self.page[frame], now))
        if self.scans is not None and self.value("index_scans") and history.trail:
            delay = self.scans.trails.delay(history.trail)
            expected = delay - history.age(busy)
            if delay < inf and (expected >= 0 or expected > -delay):
                waits.append(max(0.0, expected))
        if self.is_auto() and history.is_newcomer():
            waits.append(self.newcomers.expected(history.age(busy)))
        elif self.value("frequency") != 2:
            waits.append(max(history.interval, history.age(busy)))
        return min(waits)

    def candidate(self, frame: int) -> Candidate:
        wait, last = (
            self.estimate(frame, self.now, self.clock.look(self.now)),
            self.history[frame].last,
        )
        return Candidate(frame, self.version[frame], wait, last, stale=False)

    def further(self, a: Candidate, b: Candidate) -> bool:
        if a.wait != b.wait or a.dirty != b.dirty:
            return (a.wait, b.dirty) > (b.wait, a.dirty)
        return bool(self.value("lru_fallback")) and a.last < b.last

    def consider(self, ranked: list[Candidate], frame: int) -> None:
        # of a vacant frame, what is left of the page that was there
        is_resident = frame in self.page
        known = (self.history if is_resident else self.left).get(frame)
        self.newcomers.look(known, self.clock.look(self.now))
        if not is_resident:
            return
        new = self.candidate(frame)
        most = self.value("victims") + self.value("remember")
        if len(ranked) == most and not self.further(new, ranked[-1]):
            return
        for old in ranked:
            if old.frame == frame:
                if old.version == self.version[frame]:
                    return
                ranked.remove(old)
                break
        self.put(ranked, new)

    def put(self, ranked: list[Candidate], new: Candidate) -> None:
        """Behind the last that is as far or further; at most so many remain."""
        place = 0
        for i, old in enumerate(ranked):
            if not self.further(new, old):
                place = i + 1
        ranked.insert(place, new)
        del ranked[self.value("victims") + self.value("remember") :]

    # ---- operations ----

    def use_for_miss(self) -> int:
        """Return the pool's time; keep both times, for bands."""
        self.seen, self.seen_busy = self.now, self.clock.use(self.now)
        return self.seen_busy

    def on_hit(self, frame: int, flags: int) -> None:
        history = self.history[frame]
        busy = self.clock.use(self.now)
        gap = single(history.age(busy))
        since = gap if self.counts() else single(history.idle(busy))
        if history.last == busy or (self.is_auto() and since < self.newcomers.period):
            return
        history.last = busy
        if not self.counts():
            history.since = gap
            return
        self.newcomers.returned += history.is_newcomer()
        if history.interval < inf:
            step = np.float32(0.25) * (np.float32(gap) - np.float32(history.interval))
            gap = float(np.float32(history.interval) + step)
        history.interval = gap
        history.since = 0.0
        history.trail = self.scan if self.is_trail() else 0

    def choose(self, page: int, unusable: Collection[int], flags: int) -> int | None:
        busy = self.use_for_miss()

        def fits(entry: tuple[int, int]) -> bool:
            frame, version = entry
            return self.version[frame] == version and frame not in unusable

        while self.next < self.due:
            frame, _ = entry = self.list[self.next]
            if fits(entry) and self.history[frame].last <= self.sampled_at:
                return frame
            self.next += 1
        victims = self.value("victims")
        ranked: list[Candidate] = []
        for frame, version in self.list[victims:]:
            wait = max(0.0, self.expected[frame] - busy)
            self.put(ranked, Candidate(frame, version, wait, self.last[frame], stale=True))
        near = [frame for frame, version in self.neighbours if self.version[frame] == version]
        want = min(MOST, victims * self.value("samples"))
        for frame in near * self.value("neighbours") + sample_members(self, want):
            self.consider(ranked, frame)
        while unverified := [old for old in ranked[:victims] if not old.verified]:
            again = unverified[0]
            ranked.remove(again)
            if fits((again.frame, again.version)):
                again = self.candidate(again.frame) if again.stale else again
                again.verified = True
                again.dirty = again.frame in self.dirty
                self.put(ranked, again)
        if not ranked:
            for frame in sample_frames(self, self.value("samples"), unusable):
                self.consider(ranked, frame)
        self.list = [(old.frame, old.version) for old in ranked]
        self.expected = {old.frame: busy + old.wait for old in ranked}
        self.last = {old.frame: old.last for old in ranked}
        self.due = min(victims, len(ranked))
        self.next = 1
        self.sampled_at = busy
        return ranked[0].frame if ranked else None

    def on_evict(self, frame: int, flags: int) -> None:
        near = [other for other in self.chain.links[frame] if other is not None]
        self.neighbours = [(other, self.version[other]) for other in near]
        self.on_forget(frame)

    def on_admit(self, frame: int, page: int, flags: int) -> None:
        busy = self.use_for_miss()
        if self.is_auto():
            self.newcomers.load(len(self.members), busy)
        self.version[frame] = self.version.get(frame, 0) + 1
        self.history[frame] = History(
            busy,
            trail=self.scan if self.is_trail() else 0,
            since=0.0 if self.counts() else inf,
        )
        self.chain.add(frame, 0 if self.is_trail() else self.scan % 2**32)

    def on_restore(self, frame: int, evicted: Evicted) -> None:
        super().on_restore(frame, evicted)
        self.version[frame] += 1
        self.chain.add(frame, 0)

    def on_join(self, frame: int) -> None:
        self.left.pop(frame, None)

    def on_forget(self, frame: int) -> None:
        self.version[frame] += 1
        self.chain.remove(frame)
        self.left[frame] = self.history.pop(frame)

    # ---- what is shown ----

    def band(self, frame: int) -> int:
        wait = self.estimate(frame, self.seen, self.seen_busy)
        if wait == inf:
            idle = self.history[frame].idle(self.seen_busy)
            return next((band for band in range(15) if idle >= 2 ** (32 - band)), 15)
        return next((band for band in range(16, 27) if wait >= 4.0 ** (16 - band) * 2**31), 27)

    def resident(self) -> list[int]:
        return [frame for frame in self.members if frame in self.page]

    def coldest(self) -> list[int]:
        return sorted(self.resident(), key=self.band)  # which is stable

    def upcoming(self, victims: int, unwanted: Collection[int]) -> list[int]:
        return self.sweep.round(self, victims, unwanted)

    def state(self) -> dict[str, list[str] | str]:
        return {
            "frames": [self.show(frame) for frame in self.resident()],
            "listed": str(len(self.list)),
            "due": str(self.due),
            "next": str(self.next),
        }
