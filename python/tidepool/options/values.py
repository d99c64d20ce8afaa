"""Values of options: policies, sizes, amounts, rates, resizes, columns; one or a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tidepool.errors import PolicyError, TidepoolError
from tidepool.notation import (
    binary,
    continues,
    grouped,
    number,
    pairs,
    percentage,
    share,
    whole,
)
from tidepool.policies import OPT, PolicySpec, parse_policy, policies
from tidepool.simulation import Size, SsdPolicySpec, parse_size, parse_ssd_policy
from tidepool.traces.formats.fields import parse_columns as check_columns

Spec = TypeVar("Spec", bound=PolicySpec)

LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True)
class GivenSize:
    """A size, and how it was written."""

    text: str
    size: Size


@dataclass(frozen=True)
class Amount:
    """A number of references, or a share of a trace's."""

    references: int | None = None
    share: float | None = None

    def resolve(self, references: Callable[[], int]) -> int:
        """Return the number; ``references`` is asked for the trace's if that is needed."""
        if self.references is not None:
            return self.references
        assert self.share is not None
        return round(self.share * references())


@dataclass(frozen=True)
class Resize:
    """Before this reference the pool, or that of a name, is resized."""

    reference: int
    size: GivenSize
    pool: str | None = None


def items_of(text: str, what: str, separator: str = ",") -> list[str]:
    """Return the items of a list; raise TidepoolError if one is empty.

    ``what`` an item is, is for the error.
    """
    items = text.split(separator)
    if not all(map(str.strip, items)):
        raise TidepoolError(*_missing(text, what, "comma" if separator == "," else "semicolon"))
    return items


def _missing(text: str, what: str, separator: str) -> tuple[str, str]:
    """Return the message and the hint for a list with an empty item."""
    if not text.strip():
        return f"no {what} is given", f"Name one, or several between {separator}s."
    message = f'a {what} is missing beside a {separator}: "{text}"'
    return message, f"Leave out the extra {separator}."


# ---- policies ----


def all_policies() -> tuple[PolicySpec, ...]:
    """Return every online policy with its default parameters, and OPT."""
    return tuple(PolicySpec(policy) for policy in (*policies(), OPT))


def parse_policies(text: str) -> tuple[PolicySpec, ...]:
    """Return the policies that NAME[:k=v,…],… is; ``all`` is every one, and OPT.

    An item k=v belongs to the policy before it.
    """
    return tuple(
        spec
        for item in _policies(text)
        for spec in (all_policies() if item == "all" else (parse_policy(item),))
    )


def parse_ssd_policies(text: str) -> tuple[SsdPolicySpec, ...]:
    """Return the policies on an SSD that NAME[:k=v,…],… is."""
    return tuple(parse_ssd_policy(item) for item in _policies(text))


def _policies(text: str) -> list[str]:
    items = grouped(text)
    if not all(items):
        raise PolicyError(*_missing(text, "policy", "comma"))
    for item in items:
        name, comma, rest = item.partition(",")
        if comma and ":" not in name and not continues(name):
            raise PolicyError(
                f'no colon between policy "{name}" and its parameter "{rest}"',
                f"Write {name}:{rest}.",
            )
    return items


# ---- sizes ----


def parse_given_size(text: str) -> GivenSize:
    """Return N frames, P% of the distinct pages, or bytes."""
    return GivenSize(text.strip(), parse_size(text))


def parse_sizes(text: str) -> tuple[GivenSize, ...]:
    """Return the sizes of a list between commas."""
    return tuple(parse_given_size(item) for item in items_of(text, "size"))


# ---- numbers ----


def parse_amount(text: str) -> Amount:
    """Return N references, or P% of the trace's."""
    references = whole(text)
    if references is not None and references < 2**63:
        return Amount(references=references)
    part = percentage(text)
    if part is None or not 0 <= part < 1:
        raise TidepoolError(
            f'invalid number of references "{text}"',
            "Use a whole number (100000, 1e5) or a share of the trace below 100% (20%).",
        )
    return Amount(share=part)


def parse_number(least: int, most: int = LARGEST_SEED) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``least`` on that fit into 64 bits."""

    def parse(text: str) -> int:
        value = whole(text)
        if value is None or not least <= value <= most:
            up_to = "" if most == LARGEST_SEED else f" and at most {most}"
            raise TidepoolError(
                f'invalid number "{text.strip()}"',
                f"Use a whole number, at least {least}{up_to}.",
            )
        return value

    return parse


def parse_numbers(text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list between commas."""
    return tuple(parse_number(0)(item) for item in items_of(text, "number"))


def parse_rate(text: str) -> float:
    """Return a share of the pages, written 0.01 or 1%."""
    rate = share(text)
    if rate is None or not 0 < rate <= 1:
        raise TidepoolError(
            f'invalid sampling rate "{text}"',
            "Use a share of the pages, above 0 and up to 1 (0.01) or 100% (1%).",
        )
    return rate


def parse_share(text: str) -> float:
    """Return a share of something, from none to all of it, written 0.5 or 50%."""
    found = share(text)
    if found is None or not 0 <= found <= 1:
        raise TidepoolError(f'invalid share "{text}"', "Use 0 to 1 (0.5), or 0% to 100% (50%).")
    return found


def parse_data(unit: str) -> Callable[[str], float]:
    """Return a parser of amounts of data: of this unit, unless they have one of their own.

    It returns them in the unit, such as MB, which is a power of 1024 bytes.
    """
    size = binary(f"1{unit}")
    assert size is not None

    def parse(text: str) -> float:
        found = binary(text)
        amount = number(text) if found is None else found / size
        if amount is None or amount < 0:
            raise TidepoolError(
                f'invalid amount of data "{text}"', f"Use {unit} (20), or bytes (20MB, 512kB)."
            )
        return amount

    return parse


# ---- others ----


def parse_resize(text: str) -> Resize:
    """Return what REFERENCE:[NAME=]SIZE is."""
    before, colon, rest = text.partition(":")
    name, equals, size = rest.rpartition("=")
    reference = whole(before)
    if not colon or reference is None or reference >= 2**63:
        raise TidepoolError(
            f'invalid resize "{text}"',
            "Write it as REFERENCE:SIZE, as in 50000:2000 or 50000:64MB.",
        )
    return Resize(reference, parse_given_size(size), name.strip() if equals else None)


def parse_resizes(text: str) -> tuple[Resize, ...]:
    """Return the resizes of a list between commas."""
    return tuple(parse_resize(item) for item in items_of(text, "resize"))


def parse_columns(text: str) -> dict[str, str]:
    """Return the map from fields of an event to columns, from FIELD=COLUMN,…."""
    columns = pairs(text)
    if columns is None:
        raise TidepoolError(
            f'invalid columns "{text}"', "Write them as FIELD=COLUMN,…, each field once."
        )
    check_columns(columns)
    return columns
