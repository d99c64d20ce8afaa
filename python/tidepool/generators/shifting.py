"""References to a working set that moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from tidepool.errors import TraceError
from tidepool.generators.base import BATCH
from tidepool.generators.ranked import RankedPages
from tidepool.traces.draws import Integers, Random
from tidepool.traces.parameters import fraction_parameter, parameter


@dataclass(frozen=True, kw_only=True)
class Shifting(RankedPages):
    """Most references to a working set that moves over the table as time passes.

    The working set is a window over the ranks.  After every ``phase``
    references ``turnover`` of its pages leave it and as many others come in;
    it comes round to its first pages when it has been through all.
    """

    command = "shifting"

    working_set: int = parameter(100_000, "pages in the working set", low=1)
    hot_references: float = fraction_parameter(
        0.9, "fraction of the references that go to the working set"
    )
    phase: int = parameter(200_000, "references from one move to the next", low=1)
    turnover: float = fraction_parameter(
        0.1, "fraction of the working set that is replaced in a move"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.working_set >= self.pages:
            raise TraceError(
                f"a working set of {self.working_set} pages leaves none of {self.pages} outside",
                "Make working_set smaller than pages.",
            )

    def _ranks(self, rng: Random) -> Iterator[Integers]:
        step = round(self.working_set * self.turnover)
        for first in count(0, BATCH):
            moves = np.arange(first, first + BATCH) // self.phase
            is_hot = rng.random(BATCH) < self.hot_references
            low = np.where(is_hot, 0, self.working_set)
            size = np.where(is_hot, self.working_set, self.pages - self.working_set)
            place = low + (rng.random(BATCH) * size).astype(np.int64)
            yield (moves * step + place) % self.pages
