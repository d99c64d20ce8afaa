"""Temperatures of a disk's extents, as a server with an SSD tier shows them.

``pg_ssd_tier_extents`` has a row for each extent of 32 pages that was read lately:
its temperature, which is the time that its pages on the SSD would have saved, halved
as time passes, and how many of them are there.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.errors import TidepoolError
from tidepool.simulation.sizes import PAGE_BYTES

PAGES = 32  # of an extent
COLUMNS = ("reldatabase", "relfilenode", "relation", "relblocknumber", "temperature", "cached")
QUERY = "COPY (SELECT * FROM pg_ssd_tier_extents) TO STDOUT CSV HEADER"
_HINT = f'Give what psql -c "{QUERY}" prints.'


@dataclass(frozen=True)
class Warmth:
    """What is known of a relation's extents, in the order of its blocks.

    Attributes:
        relation: its name, or the number of its file if it is in another database.
        extents: their numbers in the relation, ascending, int64.
        temperatures: microseconds, float64, one for each.
        cached: pages on the SSD, int64, one for each.
    """

    relation: str
    extents: NDArray[np.int64]
    temperatures: NDArray[np.float64]
    cached: NDArray[np.int64]

    @cached_property
    def heat(self) -> float:
        """Microseconds: the sum of the temperatures."""
        return float(self.temperatures.sum())

    @cached_property
    def covered(self) -> float:
        """Microseconds of the heat that are of pages on the SSD, those of an extent being alike."""
        return float((self.temperatures * self.cached).sum()) / PAGES

    @property
    def pages(self) -> int:
        """Pages on the SSD."""
        return int(self.cached.sum())

    @property
    def blocks(self) -> int:
        """Blocks of the relation up to the last extent that is known."""
        return PAGES * (int(self.extents[-1]) + 1)


@dataclass(frozen=True)
class Summary:
    """What the SSD has of the heat of all relations; relations by heat, the warmest first."""

    relations: tuple[Warmth, ...]

    @cached_property
    def heat(self) -> float:
        """Microseconds."""
        return math.fsum(relation.heat for relation in self.relations)

    @cached_property
    def pages(self) -> int:
        """Pages on the SSD."""
        return sum(relation.pages for relation in self.relations)

    @property
    def covered(self) -> float:
        """Share of the heat that is of pages on the SSD; 0 if there is no heat."""
        if not self.heat:
            return 0.0
        return math.fsum(relation.covered for relation in self.relations) / self.heat

    @cached_property
    def hottest(self) -> NDArray[np.float64]:
        """[n]: the share of the heat that the n warmest extents have; from 0 to 1."""
        temperatures = np.concatenate([relation.temperatures for relation in self.relations])
        sums = np.concatenate([[0.0], np.cumsum(np.sort(temperatures)[::-1])])
        return sums / sums[-1] if sums[-1] else sums

    def bytes_for(self, share: float) -> int:
        """Bytes of the warmest extents that have this share of the heat, at least."""
        return int(np.searchsorted(self.hottest, share - 1e-12)) * PAGES * PAGE_BYTES

    def to_json(self) -> dict[str, Any]:
        """Return the numbers of all and of each relation."""
        return {
            "heat": self.heat,
            "covered": self.covered,
            "pages": self.pages,
            "relations": [
                {
                    "relation": relation.relation,
                    "extents": len(relation.extents),
                    "heat": relation.heat,
                    "covered": relation.covered / relation.heat if relation.heat else 0.0,
                    "pages": relation.pages,
                }
                for relation in self.relations
            ],
        }


def read_extents(lines: Iterable[str]) -> Summary:
    """Read the CSV of ``pg_ssd_tier_extents``, with a line of its columns' names.

    Raises TidepoolError if it is not that, or has no rows.
    """
    found: dict[str, list[tuple[int, float, int]]] = {}
    for number, row in _rows(lines):
        relation, extent = _extent(number, row)
        found.setdefault(relation, []).append(extent)
    if not found:
        raise TidepoolError(
            "there are no extents", "The server has no SSD tier, or nothing was read from the disk."
        )
    relations = [_warmth(name, extents) for name, extents in found.items()]
    relations.sort(key=lambda relation: (-relation.heat, relation.relation))
    return Summary(tuple(relations))


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.DictReader(lines)
    try:
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise TidepoolError(f"there is no column {missing[0]}", _HINT)
        for row in reader:
            yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise TidepoolError(f"this is not CSV: {error}", _HINT) from None


def _extent(number: int, row: dict[str, str]) -> tuple[str, tuple[int, float, int]]:
    """Return a row's relation, and its extent: number, temperature, pages cached."""
    try:
        block, temperature = int(row["relblocknumber"]), float(row["temperature"])
        cached, database = int(row["cached"]), int(row["reldatabase"])
        file = int(row["relfilenode"])
        sound = 0 <= block < 1 << 32 and 0 <= temperature < math.inf and 0 <= cached <= PAGES
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise TidepoolError(f"line {number} is not a row of pg_ssd_tier_extents", _HINT)
    name = row["relation"] or f"file {file} of database {database}"
    return name, (block // PAGES, temperature, cached)


def _warmth(name: str, extents: Sequence[tuple[int, float, int]]) -> Warmth:
    numbers, temperatures, cached = zip(*sorted(extents), strict=True)
    return Warmth(
        name, np.array(numbers, np.int64), np.array(temperatures), np.array(cached, np.int64)
    )
