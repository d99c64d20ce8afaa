"""Text: a page number a line; and the LIRS authors' traces, which are text with breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from tidepool._sim import lib
from tidepool.traces.formats.c_parser import ParsedTrace
from tidepool.traces.formats.lines import write_lines
from tidepool.traces.model import Chunk, Trace


class TextTrace(ParsedTrace):
    """A page number a line; comments and the breakpoints of LIRS traces are skipped."""

    format = "text"
    parser = lib.TPS_TEXT
    columns = ("page",)
    unit = "line"


class LirsTrace(TextTrace):
    """The same, under the name by which the LIRS authors' traces are known."""

    format = "lirs"


def write_text(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a page number a line."""
    for chunk in chunks:
        write_lines(out, [chunk.page])
