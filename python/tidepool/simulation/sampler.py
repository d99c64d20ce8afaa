"""The events of a sample, each with its place in the whole trace."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidepool._sim import ffi, lib
from tidepool.simulation.events import Events, references
from tidepool.simulation.options import Sampling
from tidepool.simulation.repetitions import Repetitions
from tidepool.traces.columns import take
from tidepool.traces.model import Chunk


@dataclass(frozen=True)
class SampledChunk:
    """The sampled events of a chunk.

    ``before`` is the number of references in the whole trace before each event.
    Times are explicit, since positions in a sample are not times.
    """

    chunk: Chunk
    before: NDArray[np.uint64]


class Sampler:
    """Samples a trace's chunks in order (SHARDS, fixed rate).

    A page is in the sample if its hash under ``sampling.seed`` is below
    ``sampling.rate`` of the range.  Events other than references are kept.
    With a ``correlation_window`` (microseconds), repetitions are flagged before
    sampling: in a sample without B, A, B, A would look like a repetition.
    """

    def __init__(self, sampling: Sampling, correlation_window: int = 0) -> None:
        self._seed = sampling.seed
        self._threshold = min(int(sampling.rate * 2.0**64), 2**64 - 1)
        self._position = 0  # events so far
        self._references = 0  # of them
        self._repetitions = Repetitions(correlation_window)

    def take(self, whole: Chunk) -> SampledChunk:
        """Return the sampled events of the trace's next chunk."""
        chunk = self._repetitions.flagged(whole, self._position)
        events = Events(whole, self._position)
        chosen = np.empty(len(whole), dtype=np.uint32)
        plain = whole.kind is None  # then all events are references
        before = np.empty(0 if plain else len(whole), dtype=np.uint64)
        n = lib.tps_sample(
            events.pointer,
            self._seed,
            self._threshold,
            self._references,
            ffi.cast("uint32_t *", chosen.ctypes.data),
            ffi.NULL if plain else ffi.cast("uint64_t *", before.ctypes.data),
        )
        rows = chosen[:n].astype(np.uint64)
        part = take(chunk, chosen[:n])
        if part.time is None:
            part = replace(part, time=rows + np.uint64(self._position))
        found = SampledChunk(part, rows + np.uint64(self._references) if plain else before[:n])
        self._position += len(whole)
        self._references += references(whole)
        return found
