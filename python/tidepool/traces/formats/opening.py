"""Opening a trace file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import BinaryIO

from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.detection import format_of_contents, format_of_name, format_of_table
from tidepool.traces.formats.fields import parse_columns
from tidepool.traces.formats.input_file import find_source
from tidepool.traces.formats.keys import check_keys
from tidepool.traces.formats.redset import is_redset
from tidepool.traces.formats.registry import FORMATS, Choices, Format, parse_format


def open_trace(
    path: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    keys: str | None = None,
) -> FileTrace:
    """Open a trace file; ``-`` is standard input; a file open for reading is read as a pipe.

    gzip, xz and zstd are decompressed.  Without ``format``, the contents
    determine the format, or else the name.  ``columns`` maps the fields of an
    event to columns of a CSV or Parquet file, given by name or by number from
    1: {"page": "lbn", "kind": "op", "time": "ts:s"}.  ``keys``, "hash" or
    "number", makes pages from keys that are not page numbers, as described in
    docs/trace-format.md.

    Only the beginning of the file is read (of a Redset file, all queries);
    each call of the trace's chunks() reads the events.  A pipe is copied to a
    temporary file, which lives as long as the trace.

    Raises TraceError if the file cannot be read, its format is unclear, or the
    format has no such choice.
    """
    if isinstance(path, (str, os.PathLike)):
        path = os.fspath(path)
    wanted = options = None
    if format is not None:
        wanted, options = parse_format(format)
    check_keys(keys)
    choices = Choices(parse_columns(columns) if columns is not None else None, keys, options)
    if wanted is not None:
        _check(wanted, choices)
    source, head = find_source(path)
    if wanted is None:
        named = format_of_name(source.path)
        if columns is not None or keys is not None:
            wanted = format_of_table(head, named, columns is not None)
        else:
            wanted = format_of_contents(head, named) or named
        if wanted is None:
            raise TraceError(
                f"{source.path}: cannot tell the format of the trace",
                f"Name it: one of {', '.join(FORMATS)}.  Lines of keys need --keys.",
            )
        if wanted.name == "native" and is_redset(source):
            wanted = FORMATS["redset"]
    return wanted.open(source, head, choices)


def _check(format: Format, choices: Choices) -> None:
    """Raise TraceError if the format does not have these choices."""
    if choices.columns is not None and "columns" not in format.takes:
        raise TraceError(f"a trace of format {format.name} has no columns to choose from")
    if choices.keys is not None and "keys" not in format.takes:
        takers = ", ".join(f.name for f in FORMATS.values() if "keys" in f.takes)
        raise TraceError(
            f"the pages of a trace of format {format.name} are numbers",
            f"Leave out the choice of keys; it is for {takers}.",
        )
