"""The records of a server's recording, and the texts that some of them have."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidepool.traces.columns import OF_CHOICES
from tidepool.traces.model import Flag, Kind

MAGIC = b"TPRECORD"
# 2 has no pools, 3 no scans, 4 no physical reads and writes, 5 no places and numbers of the SSD,
# 6 no reports of what was queued, 7 only those of idle processes
VERSIONS = (2, 3, 4, 5, 6, 7, 8)

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("text_size", "<u4"),  # of the description that follows, padded to whole records
        ("origin", "<u8"),  # of the records' times
        ("page_size", "<u4"),
        ("reserved", "<u4"),
    ]
)
RECORD = np.dtype(
    [
        ("time", "<u8"),  # nanoseconds
        ("tablespace", "<u4"),
        ("database", "<u4"),
        ("file", "<u4"),
        ("block", "<u4"),  # of the end, bytes of the text that follows
        ("process", "<u4"),  # as algorithms are told; pool, or blocks << POOL_SHIFT
        ("flags", "<u2"),
        ("fork", "u1"),
        ("kind", "u1"),
    ]
)
SCAN = np.dtype(  # the text of a scan's beginning; of a bitmap scan, count bytes follow
    [("scan", "<u8"), ("count", "<u4"), ("size", "<u4")]
)
POOL_SHIFT = 24
READS_FOR = 253  # the kind of records that name it
TEXT = 254  # the kind of records that hold text, in place of a page
END = 255  # the kind of the record that no record follows
KINDS = (*Kind, READS_FOR, TEXT)
WITH_TEXT = (Kind.POOL, Kind.SCAN_BEGIN, Kind.SSD)
WITH_BLOCKS = (Kind.PHYSICAL_READ, Kind.PHYSICAL_WRITE, Kind.SSD_LOST)  # in place of a pool
OF_PLACES = (Kind.MOVED, Kind.SSD_BUSY, Kind.SSD_FREED)
OF_NUMBERS = (*OF_PLACES, Kind.SSD_RELATION, Kind.PROCESS)  # a number in place of a block
LONGEST_TEXT = 65536  # bytes of an event's
WITHOUT_PAGE = (
    *(Kind.POOL, Kind.SCAN_ADVANCE, Kind.SCAN_END, Kind.SSD, Kind.REPORTED, Kind.PROCESS),
    *OF_PLACES,
)

Records = NDArray[np.void]


def without_page(records: Records) -> NDArray[np.bool_]:
    """Return which rows name no page: of these kinds, or a choice for a new block."""
    found: NDArray[np.bool_] = np.isin(records["kind"], WITHOUT_PAGE)
    found |= np.isin(records["kind"], OF_CHOICES) & (records["file"] == 0)
    return found


@dataclass
class _Text:
    """A text whose records are being read."""

    event: np.void  # that it belongs to
    missing: int  # bytes
    parts: bytearray = field(default_factory=bytearray)


class Texts:
    """Puts texts together, whose records those of other processes may part.

    They belong to definitions of pools, to scans that begin, and to states of an
    SSD tier.  Such an event counts as happening at its last record.  One that lacks
    a record, because the server had no room for it, is left out.
    """

    def __init__(self) -> None:
        self._begun: dict[int, _Text] = {}  # by process

    def taken(self, records: Records) -> tuple[Records, dict[int, bytes]]:
        """Return the records of events, and their texts by row.

        Raises:
            ValueError: a text is longer than any that a server writes.
        """
        special = np.flatnonzero(np.isin(records["kind"], (*WITH_TEXT, TEXT)))
        if len(special) == 0:
            return records, {}
        found: dict[int, _Text] = {}  # by row before
        for row in special.tolist():
            record = records[row]
            process = int(record["process"])
            if record["kind"] != TEXT:
                scan = record["kind"] == Kind.SCAN_BEGIN
                size = SCAN.itemsize if scan else _checked(int(record["block"]))
                self._begun[process] = _Text(record, size)
            elif (text := self._add(process, record.tobytes())) is not None:
                found[row] = text
        kept = np.ones(len(records), np.bool_)
        kept[special] = False
        kept[list(found)] = True
        changed = records.copy()
        for row, text in found.items():
            changed[row] = text.event
        rows = np.cumsum(kept) - 1
        return changed[kept], {int(rows[row]): bytes(text.parts) for row, text in found.items()}

    def _add(self, process: int, record: bytes) -> _Text | None:
        """Add a record's text; return the whole one if it is complete."""
        text = self._begun.get(process)
        if text is None:
            return None
        part = record[8:24][: text.missing]
        text.parts += part
        text.missing -= len(part)
        if text.missing == 0 and len(text.parts) == SCAN.itemsize and has_bitmap(text.event):
            text.missing = _checked(int(np.frombuffer(text.parts, SCAN)[0]["count"]))
        if text.missing > 0:
            return None
        del self._begun[process]
        return text


def _checked(size: int) -> int:
    if size > LONGEST_TEXT:
        raise ValueError(f"a text of {size:,} bytes")
    return size


def has_bitmap(event: np.void) -> bool:
    """Whether the event is the beginning of a scan with a bitmap."""
    return bool(event["kind"] == Kind.SCAN_BEGIN and event["flags"] & Flag.BITMAP)


def places(records: Records) -> NDArray[np.uint64]:
    """Return tablespace and database as one number."""
    found: NDArray[np.uint64] = records["tablespace"].astype(np.uint64)
    found = found << np.uint64(32) | records["database"]
    return found
