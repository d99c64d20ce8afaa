"""Miss counts of whole replays: the simulator's equal those of the papers' own programs.

The programs (reference/papers.py, reference/paper_tinylfu.py) serve a
reference in one step, as the papers do; a policy splits it into victim,
eviction and admission.  They are run on generated traces and, where these are
at hand, on the traces that the authors of LIRS published.

Where a policy deviates from its paper by intent, the program has an argument
for that, named after the deviation; the last tests show what it is worth.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from reference import paper_tinylfu, papers
from reference.w_tinylfu import Sketch
from test_miss_counts import GENERATORS, references
from tidepool import InMemoryTrace, parse_policy
from tidepool.simulation import Cell, simulate

PUBLISHED = Path(
    os.environ.get("TIDEPOOL_TRACES", Path(__file__).parents[2] / "shared" / "data" / "traces")
)
LENGTH = 7000  # references of a published trace

# pools of one frame up to nearly all of the pages that a trace has
SIZES = (1, 2, 3, 4, 5, 7, 10, 15, 25, 40, 67, 100, 140, 190, 300)
PUBLISHED_SIZES = (3, 20, 90, 400)

# ---- traces ----

GENERATED = [name for name in GENERATORS if name != "flagged"]
FILES = {path.name.partition(".")[0]: path for path in sorted(PUBLISHED.glob("*.txt.gz"))}


@cache
def pages_of(trace: str) -> list[int]:
    if trace in GENERATED:
        return [page for page, _ in references(trace)]
    with gzip.open(FILES[trace], "rt") as lines:
        return [int(line) for line in islice(lines, LENGTH)]


def simulated(policy: str, trace: str) -> dict[int, int]:
    """Misses by the number of frames."""
    pages = InMemoryTrace.from_arrays(trace, np.array(pages_of(trace), dtype=np.uint64))
    sizes = SIZES if trace in GENERATED else PUBLISHED_SIZES
    cells = [Cell(parse_policy(policy), frames) for frames in sizes]
    return {result.frames: result.misses for result in simulate([(pages, cells)], workers=1)}


# ---- the papers ----


class CountMin(Sketch):
    """The sketch that a pool of so many frames has."""

    def __init__(self, frames: int) -> None:
        super().__init__()
        self.frames = frames
        for joined in range(1, frames + 1):
            self.resize(joined)

    def add(self, page: int, frames: int | None = None) -> None:
        super().add(page, frames or self.frames)


def two_q(kin: float, kout: float) -> Callable[[list[int], int], int]:
    return lambda pages, c: papers.two_q(pages, c, max(1, int(kin * c)), max(1, int(kout * c)))


def s3_fifo(small: float, ghost: float) -> Callable[[list[int], int], int]:
    """The 10 % of the paper rounded down, to one page at least."""
    return lambda pages, c: papers.s3_fifo(
        pages, c, max(1, int(small * c)), int(ghost * c), each_step_asks_anew=True
    )


def lru_k(k: int = 2, crp: int = 0, history: float = 1) -> Callable[[list[int], int], int]:
    """Pages of finite distance that are not eligible are fewer than 32 (lru_k.c, 4), since
    no more than ``crp`` are.
    """
    return lambda pages, c: papers.lru_k(pages, c, k, crp, int(history * c))


def w_tinylfu_sizes(c: int, window: float = 0.01, protected: float = 0.8) -> tuple[int, int]:
    main = min(int((1 - window) * c), c - 1)
    return c - main, int(protected * main)


def w_tinylfu(**sizes: float) -> Callable[[list[int], int], int]:
    return lambda pages, c: paper_tinylfu.w_tinylfu(
        pages, c, *w_tinylfu_sizes(c, **sizes), CountMin(c), newcomer_recorded_last=True
    )


PAPERS: dict[str, Callable[[list[int], int], int]] = {
    "arc": papers.arc,
    "2q": two_q(0.25, 0.5),
    "2q:kin=0.5,kout=2": two_q(0.5, 2),
    "mq": lambda pages, c: papers.mq(pages, c, m=8, life_time=c, qout_size=4 * c),
    "mq:queues=3,lifetime=20,qout=1": lambda pages, c: papers.mq(
        pages, c, m=3, life_time=20, qout_size=c
    ),
    "car": papers.car,
    "sieve": papers.sieve,
    "s3fifo": s3_fifo(0.1, 0.9),
    "s3fifo:small=0.5,ghost=2": s3_fifo(0.5, 2),
    "lru_k": lru_k(),
    "lru_k:history=0": lru_k(history=0),
    "lru_k:crp=3": lru_k(crp=3),
    "lru_k:k=3,crp=2,history=0.5": lru_k(k=3, crp=2, history=0.5),
    "w_tinylfu": w_tinylfu(),
    "w_tinylfu:window=0.3,protected=0.5": w_tinylfu(window=0.3, protected=0.5),
}


@pytest.mark.parametrize("trace", [*GENERATED, *FILES])
@pytest.mark.parametrize("policy", PAPERS)
def test_as_published(policy: str, trace: str) -> None:
    ours = simulated(policy, trace)
    assert ours == {frames: PAPERS[policy](pages_of(trace), frames) for frames in ours}


# ---- what deviations are worth ----


@dataclass(frozen=True)
class Deviation:
    """A program without the policy's deviations, and how far its misses may be apart.

    ``most`` is the largest difference on the generated traces, of the
    program's misses, as it was measured.
    """

    policy: str
    program: Callable[[list[int], int], int]
    most: float
    least_frames: int = 1


def s3_fifo_to_the_letter(pages: list[int], c: int) -> int:
    return papers.s3_fifo(pages, c, 0.1 * c, int(0.9 * c))


def s3_fifo_that_evicts_twice(pages: list[int], c: int) -> int:
    return papers.s3_fifo(pages, c, max(1, int(0.1 * c)), int(0.9 * c))


def w_tinylfu_that_records_first(pages: list[int], c: int) -> int:
    return paper_tinylfu.w_tinylfu(pages, c, *w_tinylfu_sizes(c), CountMin(c))


def w_tinylfu_without_a_sketch(pages: list[int], c: int) -> int:
    counts = paper_tinylfu.ExactCounts(w=10 * c, limit=15, at_limit=False)
    return paper_tinylfu.w_tinylfu(pages, c, *w_tinylfu_sizes(c), counts)


DEVIATIONS = {
    # a page more in S where 10 % of the frames is no whole number
    "10 % of S not rounded": Deviation("s3fifo", s3_fifo_to_the_letter, 0.0083),
    # a move to a full M evicts there, and S goes on until it has evicted as well
    "S and M evict": Deviation("s3fifo", s3_fifo_that_evicts_twice, 0.0029),
    # a newcomer may raise its rivals' counters, or halve them, before they are compared
    "newcomers recorded first": Deviation("w_tinylfu", w_tinylfu_that_records_first, 0.0154),
    # pages share counters; a pool of up to three frames has none, so that all are equal, and
    # one of a few frames has a group or two
    "exact counts": Deviation("w_tinylfu", w_tinylfu_without_a_sketch, 0.0977, least_frames=10),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_deviations_are_worth_what_was_measured(name: str) -> None:
    deviation = DEVIATIONS[name]
    found = [
        abs(misses / deviation.program(pages_of(trace), frames) - 1)
        for trace in GENERATED
        for frames, misses in simulated(deviation.policy, trace).items()
        if frames >= deviation.least_frames
    ]
    assert deviation.most - 1e-4 < max(found) <= deviation.most
