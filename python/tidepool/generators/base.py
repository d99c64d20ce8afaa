"""What all generators have in common: checked parameters, a name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tidepool.traces import model
from tidepool.traces.columns import resize
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.parameters import check_parameters, parameter

BATCH = 1 << 16  # references generated at a time; has no influence on the trace
MAX_BLOCKS = 2**32 - 1  # of a relation


def length_parameter(default: int) -> Any:
    """Return the field for the length of the trace."""
    return parameter(default, "events in the trace", low=1)


@dataclass(frozen=True, kw_only=True)
class GeneratedTrace(Trace):
    """A trace that is computed from its parameters.

    The parameters are the dataclass's fields that ``init`` takes.  Raises
    TraceError if one is of the wrong kind or out of range.
    """

    command: ClassVar[str]  # name of the generator on the command line

    name: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shown: list[str] = []
        for item in check_parameters(self):
            value = getattr(self, item.name)
            if not shown or value != item.default:
                shown.append(f"{item.name}={value}")
        self._set(name=f"{self.command}({','.join(shown)})")

    def _set(self, **derived: Any) -> None:
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events, the same ones each time."""
        return resize(self._events(), model.CHUNK_ROWS)

    @abstractmethod
    def _events(self) -> Iterator[Chunk]:
        """Yield the events in order, in pieces of any size."""
