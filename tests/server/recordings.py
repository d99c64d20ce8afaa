"""The records of a recording, as they are in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tidepool.traces.formats.recording_records import END, HEADER, RECORD, Records


def records(path: Path) -> Records:
    """Those before the end, or before the last whole one if the end is missing."""
    contents = path.read_bytes()
    text_size = int(np.frombuffer(contents, HEADER, 1)[0]["text_size"])
    begin = -(-(HEADER.itemsize + text_size) // RECORD.itemsize) * RECORD.itemsize
    found = np.frombuffer(contents, RECORD, (len(contents) - begin) // RECORD.itemsize, begin)
    ends = np.flatnonzero(found["kind"] == END)
    return found[: ends[0]] if len(ends) else found
