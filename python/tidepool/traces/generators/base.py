"""What all generators have in common: parameters, their checks, a name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from tidepool.errors import TraceError
from tidepool.traces.generators.streams import rechunk
from tidepool.traces.model import Chunk, Trace

BATCH = 1 << 16  # references generated at a time; has no influence on the trace
MAX_BLOCKS = 2**32 - 1  # of a relation


def parameter(
    default: Any,
    text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Return a dataclass field: its default, its help text, its range or choices.

    The field's metadata has them as "help", "min", "max" and "choices".
    """
    return field(
        default=default, metadata={"help": text, "min": low, "max": high, "choices": choices}
    )


def length_parameter(default: int) -> Any:
    """Return the field that says how long the trace is."""
    return parameter(default, "events in the trace", low=1)


def seed_parameter() -> Any:
    """Return the field that says where randomness begins."""
    return parameter(0, "seed of the random numbers", low=0, high=2**64 - 1)


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
        for item in fields(self):
            if not item.init:
                continue
            value = getattr(self, item.name)
            _check(item, value)
            if not shown or value != item.default:
                shown.append(f"{item.name}={value}")
        self._set(name=f"{self.command}({','.join(shown)})")

    def _set(self, **derived: Any) -> None:
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events, the same ones each time."""
        return rechunk(self._events())

    @abstractmethod
    def _events(self) -> Iterator[Chunk]:
        """Yield the events in order, in pieces of any size."""


def _check(item: Field[Any], value: Any) -> None:
    """Raise TraceError unless this is a value of the kind and range that the field has."""
    choices = item.metadata["choices"]
    if choices and value not in choices:
        raise _invalid(item, value, f"one of {', '.join(choices)}")
    if choices:
        return
    if isinstance(item.default, bool):
        if not isinstance(value, bool):
            raise _invalid(item, value, "true or false")
        return
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise _invalid(item, value, "a number")
    if isinstance(item.default, int) and not isinstance(value, (int, np.integer)):
        raise _invalid(item, value, "a whole number")
    low, high = item.metadata["min"], item.metadata["max"]
    if (
        not math.isfinite(value)
        or (low is not None and value < low)
        or (high is not None and value > high)
    ):
        raise TraceError(f'value {value} of "{item.name}" is out of range', _range(low, high))


def _invalid(item: Field[Any], value: Any, wanted: str) -> TraceError:
    return TraceError(f'invalid value for "{item.name}": {value!r}', f"Use {wanted}.")


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return "Use a finite number."
    return f"Use at least {low}." if high is None else f"Use {low} to {high}."
