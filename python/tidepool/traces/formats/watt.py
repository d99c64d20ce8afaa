"""The CSV of the WATT authors' simulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from tidepool.errors import TraceError
from tidepool.traces.columns import column
from tidepool.traces.formats.base import check_pages
from tidepool.traces.formats.csv import CsvTrace, first_line
from tidepool.traces.formats.fields import Column
from tidepool.traces.formats.input_file import Source
from tidepool.traces.formats.lines import words, write_lines
from tidepool.traces.model import Chunk, Trace

LARGEST_PAGE = 2**31 - 1  # the authors' simulator reads an int


class WattTrace(CsvTrace):
    """The CSV of the WATT authors' simulator: a page, and True if it is written."""

    format = "watt"
    HEADER = "pages,is_write"

    def __init__(self, source: Source, head: bytes) -> None:
        if first_line(head)[0].strip() != self.HEADER:
            raise TraceError(f'{source.path}: the first line is not "{self.HEADER}"')
        super().__init__(source, head, {"page": Column("pages"), "kind": Column("is_write")})


def write_watt(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write the CSV of the WATT authors' simulator."""
    out.write(f"{WattTrace.HEADER}\n".encode())
    for chunk in chunks:
        check_pages(chunk, LARGEST_PAGE)
        write_lines(out, [chunk.page, words(["False", "True"], column(chunk, "kind", 0))])
