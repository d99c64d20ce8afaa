"""Page traces: the native format, readers and writers of others, generators."""

from tidepool.traces.derived import RenumberedTrace, in_sample, sample_trace
from tidepool.traces.formats import FORMATS, Format, open_trace
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
from tidepool.traces.recorded import Recorded
from tidepool.traces.write import Written, write_trace

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
    "relation_of",
    "sample_trace",
    "trace_info",
    "write_trace",
]
