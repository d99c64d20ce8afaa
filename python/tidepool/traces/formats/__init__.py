"""Trace files: the formats, how a file's format is found, reading and writing.

- ``registry``: the table of formats; opening a file, whose format its contents tell;
- ``writing``: writing a trace, with an account of what the format cannot hold;
- one module for each format or family: ``native``, ``csv``, ``recording``, ``redset``,
  ``c_parser`` (text, LIRS, ARC, oracleGeneral and vSCSI, parsed in C), ``writers``;
- ``base``: what traces in files share;
- ``input_file``, ``output_file``, ``parquet_file``: the bytes.
"""

from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.registry import FORMATS, WRITABLE, Format, open_trace, parse_format
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
