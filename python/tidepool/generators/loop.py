"""References in a loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType

import numpy as np

from tidepool.generators.base import BATCH, MAX_BLOCKS, GeneratedTrace, length_parameter
from tidepool.generators.ranked import TABLE
from tidepool.generators.storage import pages_of
from tidepool.traces.model import Chunk
from tidepool.traces.parameters import parameter
from tidepool.traces.streams import cut


@dataclass(frozen=True, kw_only=True)
class Loop(GeneratedTrace):
    """The pages 0, 1, 2 … in turn, over and over.

    Nothing is announced and nothing is random; see ``scan`` for scans that a
    policy is told of.
    """

    command = "loop"
    relations = MappingProxyType({TABLE: "table"})

    pages: int = parameter(100_000, "pages of the loop", low=1, high=MAX_BLOCKS)
    length: int = length_parameter(1_000_000)

    def _events(self) -> Iterator[Chunk]:
        turns = (
            Chunk(page=pages_of(TABLE, np.arange(first, first + BATCH) % self.pages))
            for first in count(0, BATCH)
        )
        return cut(turns, self.length)
