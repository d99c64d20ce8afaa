"""Trace files: the formats, how a file's format is found, reading and writing.

- ``opening``: ``open_trace``; ``writing``: ``write_trace``, with an account of what is lost;
- ``registry``: the table of formats; ``detection``: which of them a file is in;
- a module for each format: ``native``, ``parquet`` (of others), ``csv``, ``watt``, ``text``
  (LIRS, too), ``arc``, ``vscsi``, ``oracle_general``, ``recording`` (a server's), ``redset``;
- ``base``, ``c_parser``, ``fields``, ``keys``, ``lines``: what formats share;
- ``input_file``, ``output_file``, ``parquet_file``: the bytes.
"""

from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.opening import open_trace
from tidepool.traces.formats.registry import FORMATS, WRITABLE, Format, parse_format
from tidepool.traces.formats.writing import Written, write_trace

__all__ = [
    "FORMATS",
    "WRITABLE",
    "FileTrace",
    "Format",
    "Written",
    "open_trace",
    "parse_format",
    "write_trace",
]
