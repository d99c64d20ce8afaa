"""Page traces: what a trace is, and work on traces, whatever they come from.

- ``model``: events, chunks of them as columns, ``Trace``;
- ``memory``: traces in memory; ``derived``: a sample, or renumbered pages, of another trace;
- ``provenance``: what the server ran that recorded a trace; ``info``: what is in a trace;
- ``wrapped``: another trace, watched or renamed;
- ``columns``, ``page_table``, ``streams``, ``draws``, ``parameters``: what the others use;
- ``formats/``: trace files; ``scans/``: scans as they are planned, and their events.

Generated traces are in ``tidepool.generators``.
"""

from tidepool.traces.derived import RenumberedTrace, in_sample, sample_trace
from tidepool.traces.formats import FORMATS, Format, Written, open_trace, write_trace
from tidepool.traces.info import RelationInfo, ScanInfo, TraceInfo, trace_info
from tidepool.traces.memory import InMemoryTrace, load
from tidepool.traces.model import (
    CHUNK_ROWS,
    PAGE_SIZE,
    Chunk,
    Flag,
    Kind,
    Trace,
    block_of,
    fork_of,
    page_number,
    relation_of,
)
from tidepool.traces.provenance import Recorded, RecordedPool, parse_recorded_pool

__all__ = [
    "CHUNK_ROWS",
    "FORMATS",
    "PAGE_SIZE",
    "Chunk",
    "Flag",
    "Format",
    "InMemoryTrace",
    "Kind",
    "Recorded",
    "RecordedPool",
    "RelationInfo",
    "RenumberedTrace",
    "ScanInfo",
    "Trace",
    "TraceInfo",
    "Written",
    "block_of",
    "fork_of",
    "in_sample",
    "load",
    "open_trace",
    "page_number",
    "parse_recorded_pool",
    "relation_of",
    "sample_trace",
    "trace_info",
    "write_trace",
]
