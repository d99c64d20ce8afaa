"""The operational data store: its queries are what its manual says."""

from __future__ import annotations

import numpy as np
import pytest

from generators.generated import Columns, block, columns, is_near, relation
from tidepool.generators import Ods
from tidepool.generators.ods import DAYS, NUMBER, RANGES
from tidepool.traces.model import Flag, Kind

TRACE = Ods(scale=0.05, length=400_000, alpha=1.0, streams=4, lookups=40)


@pytest.fixture(scope="module")
def events() -> Columns:
    return columns(TRACE)


def pages(name: str, events: Columns) -> np.ndarray:
    return block(events["page"][relation(events["page"]) == NUMBER[name]])


def test_scans_are_of_lines_and_orders(events: Columns) -> None:
    sequential = (events["flags"] & Flag.SEQUENTIAL) != 0
    assert np.array_equal(sequential, events["scan"] > 0)
    index = (events["flags"] & Flag.INDEX) != 0
    assert np.array_equal(index, events["scan"] == 0)
    scanned = set(relation(events["page"][sequential]))
    assert scanned == {NUMBER["lineitem"], NUMBER["orders"]}
    begins = events["kind"] == Kind.SCAN_BEGIN
    of_orders = (relation(events["page"][begins]) == NUMBER["orders"]).mean()
    assert is_near(of_orders, 0.2 / 0.9, begins.sum())


def test_queries_are_about_recent_days(events: Columns) -> None:
    """The last block that a scan of lines covers tells the day it is about."""
    begins = (events["kind"] == Kind.SCAN_BEGIN) & (relation(events["page"]) == NUMBER["lineitem"])
    last = block(events["page"][begins]) + events["count"][begins] - 1
    blocks = pages("lineitem", events).max() + 1
    days_back = (blocks - 1 - last) * DAYS // blocks
    harmonic = np.cumsum(1 / np.arange(1, DAYS + 1))
    for days in (10, 100, 1000):
        expected = harmonic[days - 1] / harmonic[-1]
        assert abs((days_back < days).mean() - expected) < 0.1
    # a week, a month or three of about 2.1 blocks, from a block group on
    per_day = blocks / DAYS
    lengths = events["count"][begins]
    for length in RANGES:
        near = (lengths >= length * per_day - 1) & (lengths <= length * per_day + 129)
        assert near.mean() > 0.2


def test_lookups_are_anywhere_or_in_their_days(events: Columns) -> None:
    for name in ("part", "customer", "partsupp"):
        hits = np.bincount(pages(name, events))
        assert (hits[:-1] > 0).mean() > 0.9
    lines = (events["scan"] == 0) & (relation(events["page"]) == NUMBER["lineitem"])
    looked_up = block(events["page"][lines])
    recent = looked_up > 0.9 * pages("lineitem", events).max()
    assert recent.mean() > 0.5


def test_a_lookup_goes_down_to_its_row(events: Columns) -> None:
    """In each stream, a part's page follows its leaf, which follows the inner pages."""
    mine = (events["backend"] == 1) & (events["scan"] == 0)
    sequence = relation(events["page"][mine])
    rows = np.flatnonzero(sequence == NUMBER["part"])
    assert len(rows) > 100
    assert (sequence[rows - 1] == NUMBER["part_pkey"]).all()


def test_without_lookups_there_are_scans_alone() -> None:
    events = columns(Ods(scale=0.01, length=20_000, lookups=0))
    assert (events["scan"] > 0).all()
