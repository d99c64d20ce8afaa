"""Numbers and lists as people write them: 1_000_000, 1e6, 100k, 5%, 64MB; a,b; k=v,k=v.

Whatever a user writes, for the command or the library, is read here first.
Functions return None for text that is no such thing; the caller knows what
it was meant to be, and raises the error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

# so long that every 64-bit number fits, so short that no conversion takes long
_NUMBER = r"(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_LONGEST = 40
_MULTIPLES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_BINARY = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def number(text: str) -> float | None:
    """Return the number that is written: 0.5, .5, -3, 1e6, 1_000."""
    found = _decimal(text, r"[+-]?")
    return None if found is None else float(found[0])


def integer(text: str) -> int | None:
    """Return the whole number that is written: 1000, 1_000, 1e3, 1k, -1.

    k, M and G are a thousand, a million and a billion.
    """
    found = _decimal(text, r"[+-]?", unit=r"[kKMG]")
    if found is None:
        return None
    value = found[0] * _MULTIPLES[found[1].lower()]
    return int(value) if value == value.to_integral_value() else None


def whole(text: str) -> int | None:
    """Return the same, if it is not negative."""
    value = integer(text)
    return value if value is None or value >= 0 else None


def percentage(text: str) -> float | None:
    """Return the share that is written with a percent sign: 0.05 for 5%."""
    found = _decimal(text, unit=r"%")
    return float(found[0] / 100) if found is not None and found[1] else None


def share(text: str) -> float | None:
    """Return the share that is written: 5%, 0.05."""
    found = percentage(text)
    return number(text) if found is None else found


def binary(text: str) -> float | None:
    """Return the bytes that are written with a unit: 64MB, 64M, 64 MiB, 1.5g, 8192B.

    As in PostgreSQL, units are powers of 1024.
    """
    found = _decimal(text, unit=r"[kKmMgGtT](?:i?[bB])?|[bB]")
    if found is None or not found[1]:
        return None
    return float(found[0] * _BINARY[found[1][0].lower()])


def with_unit(text: str, units: Sequence[str]) -> tuple[float, str] | None:
    """Return the number that is written with one of these units, and the unit: 600TBW, 0.3 dwpd.

    Units are given in capitals, and may be written in small letters.
    """
    found = _decimal(text.upper(), unit="|".join(units))
    return (float(found[0]), found[1]) if found is not None and found[1] else None


def _decimal(text: str, sign: str = "", unit: str = "") -> tuple[Decimal, str] | None:
    """Return a number and the unit behind it, "" if there is none."""
    match = re.fullmatch(rf"\s*({sign}{_NUMBER})\s*({unit})?\s*", text)
    if match is None or len(text) > _LONGEST:
        return None
    return Decimal(match[1].replace("_", "")), match[2] or ""


def pairs(text: str) -> dict[str, str] | None:
    """Return what NAME=VALUE,… is, if every part has a name and a value, and no name is twice."""
    parts = [part.partition("=") for part in text.split(",")]
    found = {name.strip(): value.strip() for name, _, value in parts}
    whole = len(found) == len(parts) and all(found) and all(found.values())
    return found if whole else None


def continues(item: str) -> bool:
    """Whether an item of a list between commas is k=v: a parameter of what stands before it."""
    return "=" in item and ":" not in item.partition("=")[0]


def grouped(text: str) -> list[str]:
    """Return the items of a list between commas, each with the parameters k=v that follow it.

    >>> grouped("lru,2q:kin=0.3,kout=0.5,arc")
    ['lru', '2q:kin=0.3,kout=0.5', 'arc']
    """
    found: list[str] = []
    for item in map(str.strip, text.split(",")):
        if found and continues(item):
            found[-1] += f",{item}"
        else:
            found.append(item)
    return found
