"""Page traces: the native format, readers and writers of others, generators."""

from tidepool.traces.model import (
    Chunk,
    Flag,
    Kind,
    Trace,
    block_of,
    fork_of,
    page_number,
    relation_of,
)

__all__ = [
    "Chunk",
    "Flag",
    "Kind",
    "Trace",
    "block_of",
    "fork_of",
    "page_number",
    "relation_of",
]
