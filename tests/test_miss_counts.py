"""Miss counts of whole replays: the simulator's equal those of slow independent programs.

Those are the models of tests/reference, for every policy, and for the classical
algorithms a few lines below.  Programs written from the papers: test_papers.py.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from random import Random

import numpy as np
import pytest

from reference import MODELS
from reference.base import CORRELATED, REFUSED, VACUUM, WRITE
from tidepool import parse_policy
from tidepool.simulation import Cell, Result, simulate
from tidepool.traces.model import Chunk, Kind, Trace

SIZES = (1, 10, 67, 190)
LENGTH = 3000

Reference = tuple[int, int]  # page, flags

# ---- traces ----


def zipf(random: Random) -> Iterator[Reference]:
    pages = range(700)
    weights = [1 / (rank + 1) ** 0.9 for rank in pages]
    for page in random.choices(pages, weights, k=LENGTH):
        yield page, 0


def loop(random: Random) -> Iterator[Reference]:
    """Over somewhat more pages than the third of SIZES, and fewer than the fourth."""
    while True:
        for page in range(80):
            yield page, 0


def scans_and_hot_set(random: Random) -> Iterator[Reference]:
    while True:
        first = random.randrange(100, 1000)
        for page in range(first, first + random.randrange(300)):
            yield page, 0
            if random.random() < 0.6:
                yield random.randrange(50), 0


def shifting_hot_set(random: Random) -> Iterator[Reference]:
    for i in range(LENGTH):
        first = i // 700 * 40
        yield first + int(150 * random.random() ** 2), 0


def flagged(random: Random) -> Iterator[Reference]:
    """Zipf with writes and repetitions, and VACUUM passing through now and then."""
    for page, _ in zipf(random):
        yield page, WRITE if random.random() < 0.3 else 0
        for _ in range(random.choice([0, 0, 1, 2])):
            yield page, CORRELATED
        if random.random() < 0.005:
            first = random.randrange(600)
            for page in range(first, first + 100):
                yield page, VACUUM


GENERATORS: dict[str, Callable[[Random], Iterator[Reference]]] = {
    generator.__name__: generator
    for generator in (zipf, loop, scans_and_hot_set, shifting_hot_set, flagged)
}


@cache
def references(name: str) -> list[Reference]:
    return list(islice(GENERATORS[name](Random(name)), LENGTH))


class InMemory(Trace):
    """References as a trace, in chunks of different lengths."""

    def __init__(self, name: str) -> None:
        self.name = name

    def chunks(self) -> Iterator[Chunk]:
        pages, flags = (np.array(column) for column in zip(*references(self.name), strict=True))
        for part in (slice(0, 1), slice(1, 2000), slice(2000, LENGTH)):
            yield Chunk(
                page=pages[part].astype(np.uint64),
                kind=np.where(flags[part] & WRITE, Kind.WRITE, Kind.READ).astype(np.uint8),
                flags=(flags[part] & ~WRITE).astype(np.uint16),
            )


def simulated(policy: str, trace: str) -> list[Result]:
    """With each of the sizes, which is also the seed."""
    cells = [Cell(parse_policy(policy), frames, seed=frames) for frames in SIZES]
    return simulate([(InMemory(trace), cells)], workers=1)


# ---- the models ----


def model_misses(policy: str, trace: str, frames: int) -> tuple[int, int]:
    """Misses, and those of them that the policy refused to admit."""
    spec = parse_policy(policy)
    model = MODELS[policy](spec.params(), frames, spec.policy.ghosts_per_frame, frames)
    model.knows_dirty = True
    for frame in range(frames):
        model.join(frame)
    frame_of: dict[int, int] = {}
    misses = refused = 0
    for model.now, (page, flags) in enumerate(references(trace)):
        if page in frame_of:
            model.hit(frame_of[page], flags)
            continue
        misses += 1
        model.read(page)
        victim = model.victim(page, (), flags)
        if victim is None or victim == REFUSED:
            refused += 1
            continue
        if victim in model.page:
            del frame_of[model.page[victim]]
            model.evict(victim, flags)
        model.admit(victim, page, flags)
        frame_of[page] = victim
    return misses, refused


@pytest.mark.parametrize("trace", GENERATORS)
@pytest.mark.parametrize("policy", MODELS)
def test_as_the_model(policy: str, trace: str) -> None:
    for result in simulated(policy, trace):
        assert result.requests == LENGTH
        assert (result.misses, result.refused) == model_misses(policy, trace, result.frames)


# ---- the classics ----


def fifo(pages: list[int], frames: int) -> int:
    queue: deque[int] = deque(maxlen=frames)
    misses = 0
    for page in pages:
        if page not in queue:
            misses += 1
            queue.append(page)  # the oldest drops out at the other end
    return misses


def lru(pages: list[int], frames: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for page in pages:
        if page not in cache:
            misses += 1
            if len(cache) == frames:
                cache.popitem(last=False)
        cache[page] = None
        cache.move_to_end(page)
    return misses


def clock(pages: list[int], frames: int) -> int:
    """One reference bit; a page comes in with it set."""
    ring: deque[int] = deque()  # the hand points at the left end
    referenced: dict[int, bool] = {}
    misses = 0
    for page in pages:
        if page not in referenced:
            misses += 1
            if len(ring) == frames:
                while referenced[ring[0]]:
                    referenced[ring[0]] = False
                    ring.rotate(-1)
                del referenced[ring.popleft()]
            ring.append(page)
        referenced[page] = True
    return misses


def opt(pages: list[int], frames: int, bypass: bool = False) -> int:
    """Farthest next use goes; with bypass, the newcomer too may be what goes."""
    next_use = [LENGTH] * len(pages)
    seen: dict[int, int] = {}
    for i in reversed(range(len(pages))):
        next_use[i] = seen.get(pages[i], LENGTH)
        seen[pages[i]] = i
    cache: dict[int, int] = {}  # page to next use
    misses = 0
    for page, use in zip(pages, next_use, strict=True):
        if page not in cache:
            misses += 1
            if len(cache) == frames:
                farthest = max(cache, key=lambda resident: cache[resident])
                if bypass and use >= cache[farthest]:
                    continue
                del cache[farthest]
        cache[page] = use
    return misses


CLASSICS: dict[str, Callable[[list[int], int], int]] = {
    "fifo": fifo,
    "lru": lru,
    "clock:max_usage=1": clock,
    "opt": opt,
    "opt:bypass=on": lambda pages, frames: opt(pages, frames, bypass=True),
}


@pytest.mark.parametrize("trace", [name for name in GENERATORS if name != "flagged"])
@pytest.mark.parametrize("policy", CLASSICS)
def test_as_published(policy: str, trace: str) -> None:
    pages = [page for page, _ in references(trace)]
    for result in simulated(policy, trace):
        assert result.misses == CLASSICS[policy](pages, result.frames)
