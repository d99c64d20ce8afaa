"""What a server could run, and what it would have read then: replays over prepared recordings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from tidepool.advice.evidence import CLASSES, Counts, Prepared, counted, warm_chunks
from tidepool.advice.meeting import met
from tidepool.policies import PolicySpec
from tidepool.simulation.layout_replay import LayoutReplay
from tidepool.simulation.layouts import Layout, PoolSpec
from tidepool.simulation.options import Options
from tidepool.simulation.replay import Replay
from tidepool.traces.columns import take
from tidepool.traces.model import Chunk

ASKS_SCANS = ("pbm", "pbm_pq")  # large scans of tables in their pools have no ring

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Setup:
    """An algorithm for so many buffers; or pools, of which DEFAULT has the algorithm."""

    spec: PolicySpec
    frames: int
    pools: tuple[PoolSpec, ...] = ()

    def recording(self, prepared: Prepared) -> Prepared:
        """Return the recording as it would be under this setup: with scans that meet, or not."""
        if prepared.recorded.algorithm in ASKS_SCANS:
            return prepared  # they have met
        spec_of = {r: pool.spec for pool in self.pools for r in pool.relations}
        asking = frozenset(
            relation
            for relation in prepared.blocks
            if spec_of.get(relation, self.spec).policy.name in ASKS_SCANS
        )
        if not asking:
            return prepared
        return met(prepared, asking) if self.pools else met(prepared)

    def ringed(self, prepared: Prepared) -> frozenset[int]:
        """Return the relations whose scans go through a ring, whose pages no algorithm has."""
        spec_of = {r: pool.spec for pool in self.pools for r in pool.relations}
        return frozenset(
            relation
            for relation in prepared.is_ringed(self.frames)
            if spec_of.get(relation, self.spec).policy.name not in ASKS_SCANS
        )


@dataclass(frozen=True)
class Outcome:
    """Reads that a setup makes of the pages in the sample.

    ``reads`` is by recording and SHAPE, ``relations`` by relation and class.
    """

    setup: Setup
    reads: NDArray[np.int64]
    relations: Mapping[int, Counts]


def evaluate(
    recordings: Sequence[Prepared],
    setups: Sequence[Setup],
    progress: Progress | None = None,
    workers: int | None = None,
) -> list[Outcome]:
    """Replay all recordings under each setup, on all cores.

    ``progress`` is called, from any thread, with the rows done.
    """
    stopped = Event()

    def report(rows: int) -> None:
        if stopped.is_set():
            raise CancelledError
        if progress:
            progress(rows)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as threads:
        try:
            return list(threads.map(lambda setup: _outcome(recordings, setup, report), setups))
        except BaseException:
            stopped.set()
            raise


def _outcome(recordings: Sequence[Prepared], setup: Setup, report: Progress) -> Outcome:
    relations: dict[int, Counts] = {}
    reads = [_replayed(prepared, setup, relations, report) for prepared in recordings]
    return Outcome(setup, np.array(reads), relations)


def _replayed(
    prepared: Prepared, setup: Setup, relations: dict[int, Counts], report: Progress
) -> Counts:
    prepared = setup.recording(prepared)
    replay = _replay(prepared, setup)
    ringed = setup.ringed(prepared)
    reads = prepared.vacuum.copy()
    position = 0
    for chunk in warm_chunks(prepared):
        replay.feed(position, chunk)
        position += len(chunk)
    for each in prepared.slices:
        missed = np.zeros(len(each.chunk), np.bool_)
        around = each.through_rings(ringed)
        chunk = take(each.chunk, ~around) if around.any() else each.chunk
        replay.feed(position, chunk)
        position += len(chunk)
        missed[~around] = replay.missed()
        missed |= around
        missed &= each.read
        reads += counted(each.key[missed])
        _add_relations(relations, each.chunk.page[missed], each.key[missed] % CLASSES)
        report(len(each.chunk))
    return reads


def _replay(prepared: Prepared, setup: Setup) -> Replay | LayoutReplay:
    recorded, rate = prepared.recorded, prepared.rate
    options = Options(batch=recorded.batch if rate == 1 else 0, scans=recorded.scans)
    frames = max(1, round(setup.frames * rate))
    if not setup.pools:
        return Replay(setup.spec, frames, recorded.seed, options, per_event=True)
    pools = tuple(
        PoolSpec(pool.name, pool.spec, max(1, round(pool.frames * rate)), pool.relations)
        for pool in setup.pools
    )
    frames = max(frames, 1 + sum(pool.frames for pool in pools))
    layout = Layout(setup.spec, frames, pools)
    return LayoutReplay(layout, recorded.seed, options, per_event=True)


def _add_relations(
    relations: dict[int, Counts], pages: NDArray[np.uint64], classes: Counts
) -> None:
    pairs = (pages >> np.uint64(34) << np.uint64(1)) | classes.astype(np.uint64)
    found, counts = np.unique(pairs, return_counts=True)
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        sums = relations.setdefault(pair >> 1, np.zeros(CLASSES, np.int64))
        sums[pair & 1] += count


def sampled_chunks(prepared: Prepared) -> Iterator[Chunk]:
    """Yield what was resident when the recording began, and all of its events."""
    yield from warm_chunks(prepared)
    for each in prepared.slices:
        yield each.chunk
