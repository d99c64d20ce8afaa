"""The table of what is on an SSD, as a clean stop leaves it: an own reader and writer.

The format is documented in src/backend/storage/ssdtier/saved.c.  golden/ssd_table_2.hex
has a table of it, so that a change of the format cannot go unnoticed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from server.crc32c import crc32c

MAGIC = b"TPSSDTB2"
# system, device, inode; control file, block size, counts; mark
_HEADER = struct.Struct("<8s3Q6IQ")
_RELATION = struct.Struct("<3I2B2x")  # choice, and whether it is its own
_PAGE = struct.Struct("<4I")
_EXTENT = struct.Struct("<2I2d32s8x")
_BUDGET = struct.Struct("<Q24I")


@dataclass(frozen=True)
class Extent:
    """An extent's temperatures: of which relation, by its place in the table, and which extent."""

    relation: int
    number: int
    saved: float
    recent: float
    counts: bytes


@dataclass(frozen=True)
class Table:
    """A table: relations by tablespace, database and file; pages by slot, relation, block, CRC.

    The mark is the number in the file beside the pages', 0 if there is none.
    Each relation has a choice: 2 auto, 3 keep, 4 none; and whether it is its own.
    Pages were written in this hour since 1970, and in the others by their number modulo 24.
    """

    system: int
    device: int
    inode: int
    control: int
    block_size: int
    slots: int
    relations: list[tuple[int, int, int]]
    choices: list[tuple[int, int]]
    pages: list[tuple[int, int, int, int]]
    extents: list[Extent]
    hour: int
    written: list[int]
    mark: int = 0

    @classmethod
    def read(cls, data: bytes) -> Table:
        """Parse a file; AssertionError if it is not one."""
        (crc,) = struct.unpack("<I", data[-4:])
        assert crc == crc32c(data[:-4])
        magic, *numbers, relation_count, page_count, extent_count, mark = _HEADER.unpack_from(data)
        assert magic == MAGIC
        system, device, inode, control, block_size, slots = numbers
        counts = (relation_count, page_count, extent_count)
        at = _HEADER.size
        sections: list[list[Any]] = []
        for form, count in zip((_RELATION, _PAGE, _EXTENT), counts, strict=True):
            sections.append([form.unpack_from(data, at + i * form.size) for i in range(count)])
            at += form.size * count
        hour, *written = _BUDGET.unpack_from(data, at)
        assert at + _BUDGET.size == len(data) - 4
        relations, pages, extents = sections
        return cls(
            *(system, device, inode, control, block_size, slots),
            [relation[:3] for relation in relations],
            [relation[3:] for relation in relations],
            pages,
            [Extent(*extent) for extent in extents],
            hour,
            written,
            mark,
        )

    def write(self) -> bytes:
        """Return the file."""
        parts = [
            _HEADER.pack(
                *(MAGIC, self.system, self.device, self.inode, self.control, self.block_size),
                *(self.slots, len(self.relations), len(self.pages), len(self.extents), self.mark),
            ),
            *(
                _RELATION.pack(*relation, *choice)
                for relation, choice in zip(self.relations, self.choices, strict=True)
            ),
            *(_PAGE.pack(*page) for page in self.pages),
            *(
                _EXTENT.pack(one.relation, one.number, one.saved, one.recent, one.counts)
                for one in self.extents
            ),
            _BUDGET.pack(self.hour, *self.written),
        ]
        data = b"".join(parts)
        return data + struct.pack("<I", crc32c(data))

    def without(self, pages: set[int]) -> Table:
        """Return the table without the pages in these slots."""
        return replace(self, pages=[page for page in self.pages if page[0] not in pages])


def golden() -> bytes:
    """The table that is kept with the tests."""
    text = Path(__file__).with_name("golden") / "ssd_table_2.hex"
    lines = (line.split("#")[0] for line in text.read_text().splitlines())
    return bytes.fromhex("".join(lines))


# what the golden table has
GOLDEN = Table(
    system=7_564_738_290_175_553_601,
    device=0xFD01,
    inode=131_074,
    control=0x89ABCDEF,
    block_size=8192,
    slots=64,
    relations=[(1663, 5, 16384), (1664, 0, 1262)],
    choices=[(3, 1), (2, 0)],
    pages=[(3, 0, 0, 0x01020304), (0, 0, 1_000_000, 0xFFFFFFFF), (63, 1, 7, 0)],
    extents=[
        Extent(0, 0, 24_788.0, 47.9, bytes(range(1, 33))),
        Extent(0, 31_250, 0.5, 0.0, bytes(32)),
        Extent(1, 0, 1e9, 1e-9, b"\xff" * 32),
    ],
    hour=498_765,
    written=[0, 1, 2, 0xFFFFFFFF, *range(1000, 1020)],
    mark=0x0123456789ABCDEF,
)
