"""Parameters of traces: the fields of a frozen dataclass, with help text and range.

The parameters are the fields that ``init`` takes.  A field's metadata has its
"help", "min", "max" and "choices", and whether it is a "fraction"; its default
determines its kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar

import numpy as np

from tidepool.errors import TraceError
from tidepool.notation import integer, number, share

Parameters = TypeVar("Parameters")

FRACTIONS = "Use 0 to 1, or 0% to 100%."


def parameter(
    default: Any,
    text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    fraction: bool = False,
) -> Any:
    """Return a dataclass field: its default, its help text, its range or choices.

    The field's metadata has them as "help", "min", "max", "choices" and "fraction".
    """
    metadata = {"help": text, "min": low, "max": high, "choices": choices, "fraction": fraction}
    return field(default=default, metadata=metadata)


def fraction_parameter(default: float, text: str) -> Any:
    """Return the field for a fraction of something, which people also write in percent."""
    return parameter(default, text, low=0, high=1, fraction=True)


def seed_parameter() -> Any:
    """Return the field for the seed."""
    return parameter(0, "seed of the random numbers", low=0, high=2**64 - 1)


def check_parameters(parameters: Any) -> list[Field[Any]]:
    """Return the fields; raise TraceError if a value is of the wrong kind or out of range."""
    checked = [item for item in fields(parameters) if item.init]
    for item in checked:
        _check(item, getattr(parameters, item.name))
    return checked


def parse_parameters(kind: type[Parameters], words: Mapping[str, str]) -> Parameters:
    """Return the dataclass with the values that are written there, and checked by itself.

    All of them are numbers.  Raises TraceError if there is no such parameter
    or it cannot have the value.
    """
    known = {item.name: item for item in fields(kind) if item.init}  # type: ignore[arg-type]
    for name in words:
        if name not in known:
            raise TraceError(f'there is no parameter "{name}"', f"There are: {', '.join(known)}.")
    return kind(
        **{
            name: parse_parameter(known[name], type(known[name].default), word)
            for name, word in words.items()
        }
    )


def parse_parameter(item: Field[Any], kind: type[Any], word: str) -> float:
    """Return the number of this kind, int or float, that is written for a field."""
    fraction = item.metadata.get("fraction")
    value = integer(word) if kind is int else share(word) if fraction else number(word)
    if value is None:
        wanted = "a whole number" if kind is int else "a number"
        raise _invalid(item, word, f"{wanted} or a percentage (5%)" if fraction else wanted)
    _check_range(item, value, word)
    return value


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
    _check_range(item, value, str(value))


def _check_range(item: Field[Any], value: Any, written: str) -> None:
    low, high = item.metadata.get("min"), item.metadata.get("max")
    if (
        not math.isfinite(value)
        or (low is not None and value < low)
        or (high is not None and value > high)
    ):
        raise TraceError(
            f'value {written} of "{item.name}" is out of range',
            FRACTIONS if item.metadata.get("fraction") else _range(low, high),
        )


def _invalid(item: Field[Any], value: Any, wanted: str) -> TraceError:
    return TraceError(f'invalid value for "{item.name}": {value!r}', f"Use {wanted}.")


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return "Use a finite number."
    return f"Use at least {low}." if high is None else f"Use {low} to {high}."
