"""References to a hot and a cold part of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tidepool.errors import TraceError
from tidepool.generators.base import BATCH
from tidepool.generators.ranked import RankedPages
from tidepool.traces.draws import Integers, Random
from tidepool.traces.parameters import fraction_parameter


@dataclass(frozen=True, kw_only=True)
class HotCold(RankedPages):
    """Most references to few pages: 80 % to 20 % unless told otherwise.

    Within the hot pages and within the cold ones all are equally likely.
    """

    command = "hot_cold"

    hot_pages: float = fraction_parameter(0.2, "fraction of the pages that are hot")
    hot_references: float = fraction_parameter(
        0.8, "fraction of the references that go to hot pages"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self._hot() < self.pages:
            raise TraceError(
                f'with "hot_pages" {self.hot_pages}, {self._hot()} of {self.pages} pages are hot',
                "At least one page must be hot and one cold: change hot_pages or pages.",
            )

    def _hot(self) -> int:
        return round(self.pages * self.hot_pages)

    def _ranks(self, rng: Random) -> Iterator[Integers]:
        hot = self._hot()
        while True:
            is_hot = rng.random(BATCH) < self.hot_references
            first = np.where(is_hot, 0, hot)
            count = np.where(is_hot, hot, self.pages - hot)
            yield first + (rng.random(BATCH) * count).astype(np.int64)
