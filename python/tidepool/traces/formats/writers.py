"""Writers of the formats that others read: text, CSV, and binary records.

A writer gets references only, unless its format holds other events too
(see formats.py), and leaves the file open.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from tidepool.traces.columns import column
from tidepool.traces.formats.csv import FIELDS, WattTrace
from tidepool.traces.formats.output_file import NotHeldError
from tidepool.traces.model import PAGE_SIZE, Chunk, Kind, Trace
from tidepool.traces.page_table import PageTable

BLOCK_BYTES = 512  # of vSCSI traces
WATT_MAX_PAGE = 2**31 - 1  # the authors' simulator reads an int


def _check_pages(chunk: Chunk, largest: int) -> None:
    wrong = chunk.page > np.uint64(largest)
    if wrong.any():
        raise NotHeldError(
            f"page {chunk.page[wrong.argmax()]} is above the format's largest, {largest}",
            "Renumber the pages (--renumber).",
        )


# ---- lines ----


def _words(words: list[str], indexes: NDArray[Any]) -> Any:
    return pa.array(words, pa.string()).take(pa.array(indexes))


def _write_lines(out: IO[bytes], columns: list[Any], delimiter: str = ",") -> None:
    options = pacsv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    pacsv.write_csv(pa.table(columns, [str(i) for i in range(len(columns))]), out, options)


def write_text(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a page number a line."""
    for chunk in chunks:
        _write_lines(out, [chunk.page])


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
        _write_lines(out, [page[starts], counts, np.zeros(len(starts), np.uint8), numbers], " ")
        number += len(starts)


def write_watt(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write the CSV of the WATT authors' simulator."""
    out.write(f"{WattTrace.HEADER}\n".encode())
    for chunk in chunks:
        _check_pages(chunk, WATT_MAX_PAGE)
        _write_lines(out, [chunk.page, _words(["False", "True"], column(chunk, "kind", 0))])


def write_csv(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write everything that an event has."""
    words = [kind.name.lower() for kind in Kind]
    fields = [field for field in FIELDS if field != "page"]
    out.write((",".join(fields) + "\n").encode())
    position = 0
    for chunk in chunks:
        special = {
            "relation": chunk.page >> np.uint64(34),
            "fork": chunk.page >> np.uint64(32) & np.uint64(3),
            "block": chunk.page & np.uint64(0xFFFFFFFF),
            "kind": _words(words, column(chunk, "kind", position)),
            "bitmap": _hexadecimal(chunk),
        }
        _write_lines(
            out, [special[f] if f in special else column(chunk, f, position) for f in fields]
        )
        position += len(chunk)


def _hexadecimal(chunk: Chunk) -> Any:
    if not chunk.bitmaps:
        return pa.nulls(len(chunk), pa.string())
    values = (chunk.bitmaps.get(row) for row in range(len(chunk)))
    return pa.array(
        [None if value is None else f"0x{value.hex()}" for value in values], pa.string()
    )


# ---- records ----

# The layouts are described in sim/src/readers/.
ORACLE_GENERAL = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
VSCSI = np.dtype(
    [
        ("serial", "<u4"),
        ("bytes", "<u4"),
        ("pieces", "<u4"),
        ("command", "<u2"),
        ("version", "<u2"),
        ("block", "<u8"),
        ("time", "<u8"),
    ]
)
VSCSI_READ, VSCSI_WRITE = 0x28, 0x2A
VSCSI_VERSION = 1 << 8


def write_vscsi(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a request for every reference; the page's number is its first block."""
    _write_vscsi(trace, chunks, out, 1)


def write_vscsi_pages(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a request for the 16 blocks of 512 bytes of every page."""
    _write_vscsi(trace, chunks, out, PAGE_SIZE // BLOCK_BYTES)


def _write_vscsi(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes], blocks: int) -> None:
    position = 0
    for chunk in chunks:
        _check_pages(chunk, (2**64 - 1) // blocks)
        records = np.zeros(len(chunk), VSCSI)
        records["serial"] = np.arange(position, position + len(chunk), dtype=np.uint64).astype(
            np.uint32
        )
        records["bytes"] = PAGE_SIZE
        records["pieces"] = 1
        records["command"] = np.where(
            column(chunk, "kind", 0) == Kind.WRITE, VSCSI_WRITE, VSCSI_READ
        )
        records["version"] = VSCSI_VERSION
        records["block"] = chunk.page * np.uint64(blocks)
        records["time"] = column(chunk, "time", position)
        out.write(records.tobytes())
        position += len(chunk)


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
            records = np.empty(len(chunk), ORACLE_GENERAL)
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
    records = np.memmap(spool, ORACLE_GENERAL, "r+", shape=(rows,))
    records["next"][earlier] = following
