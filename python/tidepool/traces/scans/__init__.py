"""Scans as they are planned, where they begin, and the events they make.

- ``planned``: ``PlannedScan``, and streams of scans as events;
- ``queries``: queries of known size, as scans somewhere in their tables;
- ``meeting``: scans that begin where a running one is;
- ``reading_ahead``: a trace of scans with the pins of reading ahead.
"""

from tidepool.traces.scans.meeting import meet
from tidepool.traces.scans.planned import (
    GROUP,
    PlannedScan,
    bitmap_scan,
    closed_loop,
    count_events,
    range_groups,
    scan_events,
    stream_events,
)
from tidepool.traces.scans.queries import Query, scans_of
from tidepool.traces.scans.reading_ahead import read_ahead

__all__ = [
    "GROUP",
    "PlannedScan",
    "Query",
    "bitmap_scan",
    "closed_loop",
    "count_events",
    "meet",
    "range_groups",
    "read_ahead",
    "scan_events",
    "scans_of",
    "stream_events",
]
