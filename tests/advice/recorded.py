"""Recordings as a server under some algorithm would have made them, for the tests of advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tidepool import parse_policy
from tidepool.simulation import Options
from tidepool.simulation.layout_replay import LayoutReplay
from tidepool.simulation.layouts import Layout, PoolSpec
from tidepool.simulation.replay import Replay
from tidepool.traces import Flag, InMemoryTrace
from tidepool.traces.columns import select
from tidepool.traces.derived import in_sample
from tidepool.traces.model import Chunk
from tidepool.traces.provenance import Recorded, RecordedPool

Pages = NDArray[np.uint64]


def page(relation: int, block: NDArray[np.int64]) -> Pages:
    return np.uint64(relation << 34) | block.astype(np.uint64)


def interleaved(streams: Sequence[tuple[int, Pages]]) -> tuple[Pages, NDArray[np.uint32]]:
    """Mix streams, each in its order, of (process, pages), evenly."""
    at = np.concatenate([(np.arange(len(p)) + 0.5) / len(p) for _, p in streams])
    order = np.argsort(at, kind="stable")
    pages = np.concatenate([p for _, p in streams])
    backends = np.concatenate([np.full(len(p), b, np.uint32) for b, p in streams])
    return pages[order], backends[order]


def zipf(relation: int, blocks: int, length: int, seed: int = 0) -> Pages:
    """References to blocks, some far more often than others, strewn over the relation."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, blocks + 1)
    ranks = draw.choice(blocks, length, p=weights / weights.sum())
    return page(relation, draw.permutation(blocks)[ranks])


def uniform(relation: int, blocks: int, length: int, seed: int = 0) -> Pages:
    return page(relation, np.random.default_rng(seed).integers(blocks, size=length))


def loop(relation: int, blocks: int, length: int) -> Pages:
    return page(relation, np.arange(length) % blocks)


def recording(
    pages: Pages,
    backend: NDArray[np.unsignedinteger] | int = 1,
    frames: int = 500,
    algorithm: str = "clock",
    relations: Mapping[int, str] | None = None,
    name: str = "monday",
    flags: NDArray[np.uint16] | None = None,
    pools: Sequence[RecordedPool] = (),
    members: Mapping[int, int] | None = None,
    **recorded: object,
) -> InMemoryTrace:
    """Record references of a server that begins with empty buffers.

    The server's hits are a replay's, so that replay and server agree.  With
    ``pools``, DEFAULT the first of them, ``members`` has the pool of each
    relation that has one.
    """
    given = np.zeros(len(pages), np.uint16) if flags is None else flags
    backends = np.broadcast_to(np.asarray(backend, np.uint32), len(pages)).copy()
    columns = {"flags": given, "backend": backends}
    replay: Replay | LayoutReplay
    if pools:
        layout = _layout(pools, members or {})
        frames = layout.frames
        replay = LayoutReplay(layout, 1, Options(batch=1), per_event=True)
        recorded["pools"] = tuple(pools)
    else:
        replay = Replay(parse_policy(algorithm), frames, 1, Options(batch=1), per_event=True)
    time = np.arange(len(pages), dtype=np.uint64) * np.uint64(100)
    replay.feed(0, Chunk(page=pages, time=time, **columns))
    hits = ~replay.missed()
    chunk = Chunk(
        page=pages,
        kind=np.zeros(len(pages), np.uint8),
        flags=(given | np.where(hits, Flag.HIT, 0)).astype(np.uint16),
        time=time,
        backend=backends,
        pool=_pool_of(pages, members or {}) if pools else None,
    )
    known = {
        "server_version": "18.6",
        "algorithm": algorithm.partition(":")[0],
        "parameters": algorithm.partition(":")[2],
        "seed": 1,
        "buffers": frames,
        "batch_size": 1,
        "batch_threshold": 1,
        "sample_rate": 1.0,
        "dropped": 0,
        **recorded,
    }
    names = {1: "public.oltp", 2: "public.report"} if relations is None else dict(relations)
    return InMemoryTrace(name, [chunk], names, recorded=Recorded(**known))  # type: ignore[arg-type]


def sampled(trace: InMemoryTrace, rate: float, seed: int = 7) -> InMemoryTrace:
    """Return the recording that the server would have made of this share of the pages."""
    assert trace.recorded is not None
    (chunk,) = trace.chunks()
    kept = select(chunk, in_sample(chunk.page, rate, seed), 0)
    recorded = replace(trace.recorded, sample_rate=rate)
    return InMemoryTrace(trace.name, [kept], trace.relations, recorded=recorded)


def _layout(pools: Sequence[RecordedPool], members: Mapping[int, int]) -> Layout:
    default, *named = pools
    return Layout(
        parse_policy(default.policy_of_default),
        sum(pool.buffers for pool in pools),
        tuple(
            PoolSpec(
                pool.name,
                parse_policy(pool.policy),
                pool.buffers,
                tuple(relation for relation, number in members.items() if number == pool.number),
            )
            for pool in named
        ),
    )


def _pool_of(pages: Pages, members: Mapping[int, int]) -> NDArray[np.uint8]:
    pool_of = np.zeros(int(pages.max() >> np.uint64(34)) + 1, np.uint8)
    for relation, number in members.items():
        pool_of[relation] = number
    return pool_of[(pages >> np.uint64(34)).astype(np.int64)]
