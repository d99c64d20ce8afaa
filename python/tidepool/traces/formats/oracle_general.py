"""libCacheSim's records with the next access; sim/src/readers/oracle_general.c has the layout."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import lib
from tidepool.traces.columns import column
from tidepool.traces.formats.base import NotHeldError
from tidepool.traces.formats.c_parser import ParsedTrace
from tidepool.traces.formats.input_file import Source
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.page_table import PageTable

RECORD = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])


class OracleGeneralTrace(ParsedTrace):
    """libCacheSim's records with the next access."""

    format = "oracleGeneral"
    parser = lib.TPS_ORACLE_GENERAL
    columns = ("page", "time")
    unit = "byte"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        if not source.layers:
            self.length = source.size() // RECORD.itemsize


def write_oracle_general(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write libCacheSim's records.

    A record holds when its page is referenced next, which is known only
    later: the records are kept in a temporary file meanwhile, and the
    position of every page's latest reference in memory.
    """
    latest = PageTable()
    with tempfile.TemporaryFile() as spool:
        position = 0
        for chunk in chunks:
            records = np.empty(len(chunk), RECORD)
            records["time"] = _seconds(column(chunk, "time", position))
            records["object"] = chunk.page
            records["size"] = trace.page_size
            records["next"] = -1
            earlier, later = _link(latest, chunk.page, position)
            within = earlier >= position
            records["next"][earlier[within] - position] = later[within] + 1
            spool.write(records.tobytes())
            _patch(spool, position, earlier[~within], later[~within] + 1)
            position += len(chunk)
        spool.seek(0)
        while block := spool.read(1 << 20):
            out.write(block)


def _seconds(times: NDArray[Any]) -> NDArray[np.uint64]:
    seconds: NDArray[np.uint64] = times // np.uint64(1_000_000)
    if len(seconds) and int(seconds[-1]) >= 2**32:
        raise NotHeldError(
            f"time {times[-1]} is 2^32 seconds or more, which the format does not hold"
        )
    return seconds


def _link(
    latest: PageTable, pages: NDArray[np.uint64], position: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which references are followed by which to the same page, the latter in this chunk."""
    order = np.argsort(pages, kind="stable")
    at = order + position
    repeats = pages[order[1:]] == pages[order[:-1]]
    first = np.concatenate([[True], ~repeats])
    last = np.concatenate([~repeats, [True]])
    distinct = pages[order[first]]
    before = latest.get(distinct, -1)
    known = before >= 0
    latest.put(distinct, at[last])
    return (
        np.concatenate([before[known], at[:-1][repeats]]),
        np.concatenate([at[first][known], at[1:][repeats]]),
    )


def _patch(
    spool: IO[bytes], rows: int, earlier: NDArray[np.int64], following: NDArray[np.int64]
) -> None:
    """Enter the next accesses of records that are in the file already, the first ``rows`` of it."""
    if len(earlier) == 0:
        return
    spool.flush()
    records = np.memmap(spool, RECORD, "r+", shape=(rows,))
    records["next"][earlier] = following
