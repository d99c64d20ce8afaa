"""What the tests of the generators share: events as columns, and statistics."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.generators import GeneratedTrace
from tidepool.traces.columns import DTYPES
from tidepool.traces.model import Chunk

Columns = dict[str, NDArray[Any]]


def columns(trace: GeneratedTrace) -> Columns:
    """Return all events, with the defaults of columns filled in (but not times)."""
    return all_columns(list(trace.chunks()))


def all_columns(chunks: list[Chunk]) -> Columns:
    parts = defaultdict(list)
    for chunk in chunks:
        for name, dtype in {"page": np.uint64, **DTYPES}.items():
            column = getattr(chunk, name)
            if column is not None:
                assert column.dtype == dtype, name
                assert len(column) == len(chunk), name
            elif name == "time":
                continue
            parts[name].append(np.zeros(len(chunk), dtype) if column is None else column)
    return {name: np.concatenate(part) for name, part in parts.items()}


def same(a: Columns, b: Columns) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def digest(events: Columns) -> str:
    """Return a digest of the columns that say something."""
    sha = hashlib.sha256()
    for name in sorted(events):
        if events[name].any():
            sha.update(name.encode() + events[name].tobytes())
    return sha.hexdigest()[:16]


def block(page: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (page & np.uint64(0xFFFFFFFF)).astype(np.int64)


def relation(page: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (page >> np.uint64(34)).astype(np.int64)


def is_near(share: float, expected: float, count: int) -> bool:
    """Whether a share of ``count`` independent draws is within five standard deviations."""
    return abs(share - expected) <= 5 * math.sqrt(expected * (1 - expected) / count)


def fits(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> bool:
    """Chi-square test of counts, five standard deviations; rare outcomes are pooled."""
    expected = probabilities / probabilities.sum() * counts.sum()
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    statistic = ((observed - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    return abs(statistic - freedom) < 5 * math.sqrt(2 * freedom)
