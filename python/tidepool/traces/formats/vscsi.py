"""VMware's vSCSI records; sim/src/readers/vscsi.c has the layouts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np

from tidepool._sim import lib
from tidepool.traces.columns import column
from tidepool.traces.formats.base import check_pages
from tidepool.traces.formats.c_parser import ParsedTrace
from tidepool.traces.model import PAGE_SIZE, Chunk, Kind, Trace

BLOCK_BYTES = 512
RECORD = np.dtype(  # of version 1, which is written
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
READ, WRITE = 0x28, 0x2A
VERSION = 1 << 8


class VscsiTrace(ParsedTrace):
    """A reference to the first block for every request, as libCacheSim counts."""

    format = "vscsi"
    parser = lib.TPS_VSCSI
    columns = ("page", "time", "kind")
    unit = "byte"


class VscsiPagesTrace(VscsiTrace):
    """A reference to every page of 8 KiB that a request touches."""

    format = "vscsi-8k"
    page_bytes = PAGE_SIZE


def write_vscsi(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a request for every reference; the page's number is its first block."""
    _write_vscsi(trace, chunks, out, 1)


def write_vscsi_pages(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a request for the 16 blocks of 512 bytes of every page."""
    _write_vscsi(trace, chunks, out, PAGE_SIZE // BLOCK_BYTES)


def _write_vscsi(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes], blocks: int) -> None:
    position = 0
    for chunk in chunks:
        check_pages(chunk, (2**64 - 1) // blocks)
        records = np.zeros(len(chunk), RECORD)
        records["serial"] = np.arange(position, position + len(chunk), dtype=np.uint64).astype(
            np.uint32
        )
        records["bytes"] = PAGE_SIZE
        records["pieces"] = 1
        records["command"] = np.where(column(chunk, "kind", 0) == Kind.WRITE, WRITE, READ)
        records["version"] = VERSION
        records["block"] = chunk.page * np.uint64(blocks)
        records["time"] = column(chunk, "time", position)
        out.write(records.tobytes())
        position += len(chunk)
