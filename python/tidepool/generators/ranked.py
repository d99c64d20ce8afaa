"""What generators share whose references are independent and whose pages have ranks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tidepool.generators.base import BATCH, MAX_BLOCKS, GeneratedTrace, length_parameter
from tidepool.generators.storage import pages_of
from tidepool.traces.draws import Integers, Random, scattered, sources
from tidepool.traces.model import Chunk, Kind
from tidepool.traces.parameters import fraction_parameter, parameter, seed_parameter
from tidepool.traces.streams import cut

TABLE = 0  # the relation: its pages' numbers are their block numbers


@dataclass(frozen=True, kw_only=True)
class RankedPages(GeneratedTrace):
    """References to the pages of a table, drawn by rank."""

    relations = MappingProxyType({TABLE: "table"})

    pages: int = parameter(1_000_000, "pages of the table", low=1, high=MAX_BLOCKS)
    length: int = length_parameter(10_000_000)
    write_fraction: float = fraction_parameter(0.0, "fraction of references that write")
    scatter: bool = parameter(
        True, "give the ranks to pages at random; otherwise page 0 has rank 0, page 1 rank 1 …"
    )
    seed: int = seed_parameter()

    @abstractmethod
    def _ranks(self, rng: Random) -> Iterator[Integers]:
        """Yield the ranks of the references, 0 … pages - 1, BATCH at a time without end."""

    def _events(self) -> Iterator[Chunk]:
        return cut(self._endless(), self.length)

    def _endless(self) -> Iterator[Chunk]:
        for_ranks, for_writes, for_places = sources(self.seed, 3)
        page_of_rank = scattered(for_places, self.pages) if self.scatter else None
        for ranks in self._ranks(for_ranks):
            page = pages_of(TABLE, ranks if page_of_rank is None else page_of_rank[ranks])
            kind = None
            if self.write_fraction > 0:
                writes = for_writes.random(BATCH) < self.write_fraction
                kind = np.where(writes, Kind.WRITE, Kind.READ).astype(np.uint8)
            yield Chunk(page=page, kind=kind)
