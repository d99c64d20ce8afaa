"""References with a Zipf distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidepool.generators.base import BATCH
from tidepool.generators.ranked import RankedPages
from tidepool.traces.draws import Integers, Random, ZipfRanks
from tidepool.traces.parameters import parameter


@dataclass(frozen=True, kw_only=True)
class Zipf(RankedPages):
    """Independent references with a Zipf distribution; uniform with alpha 0.

    The page of rank r (from 1) is referenced with probability proportional
    to 1 / r**alpha.
    """

    command = "zipf"

    alpha: float = parameter(0.9, "exponent of the distribution; 0 is uniform", low=0)

    def _ranks(self, rng: Random) -> Iterator[Integers]:
        zipf = ZipfRanks(self.pages, self.alpha)
        while True:
            yield zipf.draw(rng, BATCH)
