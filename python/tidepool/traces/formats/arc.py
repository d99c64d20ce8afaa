"""The ARC authors' traces: a run of blocks a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np

from tidepool._sim import lib
from tidepool.traces.formats.c_parser import ParsedTrace
from tidepool.traces.formats.lines import write_lines
from tidepool.traces.model import Chunk, Trace


class ArcTrace(ParsedTrace):
    """Runs of blocks, as the ARC authors published them."""

    format = "arc"
    parser = lib.TPS_ARC
    columns = ("page",)
    unit = "line"


def write_arc(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a line for every run of consecutive pages within a chunk."""
    number = 0
    for chunk in chunks:
        page = chunk.page
        starts = np.flatnonzero(
            np.concatenate([[True], (page[1:] != page[:-1] + np.uint64(1)) | (page[1:] == 0)])
        )
        counts = np.diff(np.append(starts, len(page)))
        numbers = np.arange(number, number + len(starts))
        write_lines(out, [page[starts], counts, np.zeros(len(starts), np.uint8), numbers], " ")
        number += len(starts)
