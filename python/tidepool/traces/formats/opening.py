"""Opening a trace file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.csv import CsvTrace
from tidepool.traces.formats.detection import format_of_contents, format_of_name
from tidepool.traces.formats.fields import parse_columns
from tidepool.traces.formats.input_file import find_source
from tidepool.traces.formats.redset import is_redset
from tidepool.traces.formats.registry import FORMATS, parse_format


def open_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> FileTrace:
    """Open a trace file.

    gzip, xz and zstd are undone.  Without ``format``, the contents tell the
    format, and where they do not, the name.  ``columns`` says where in a CSV
    file the fields of an event are, by the columns' names or by their
    numbers from 1: {"page": "lbn", "kind": "op", "time": "ts:s"}.

    Nothing more is read than to know what the file is (of a file of Redset,
    all queries); the events are read by the trace's chunks(), as often as
    that is called.

    Raises TraceError if the file cannot be read or its format not told.
    """
    path = os.fspath(path)
    if columns is not None and format not in (None, "csv"):
        raise TraceError(f"a trace of format {format} has no columns to choose from")
    source, head = find_source(path)
    if columns is not None:
        return CsvTrace(source, head, parse_columns(columns))
    if format is not None:
        wanted, options = parse_format(format)
        return wanted.open(source, head, *([] if options is None else [options]))
    named = format_of_name(path)
    found = format_of_contents(head, named) or named
    if found is None:
        raise TraceError(
            f"{path}: cannot tell the format of the trace", f"Name it: one of {', '.join(FORMATS)}."
        )
    if found.name == "native" and is_redset(source):
        found = FORMATS["redset"]
    return found.open(source, head)
