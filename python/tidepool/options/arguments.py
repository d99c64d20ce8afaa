"""The same values given in Python: as text, by the rules of the command, or as what they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from tidepool.errors import PolicyError, TidepoolError
from tidepool.options.pools import GivenLayout, GivenPool, parse_layout, parse_pools
from tidepool.options.ssd import RelationChoice, parse_choices
from tidepool.options.values import (
    Amount,
    GivenSize,
    Resize,
    items_of,
    parse_amount,
    parse_columns,
    parse_data,
    parse_given_size,
    parse_number,
    parse_policies,
    parse_rate,
    parse_resizes,
    parse_share,
    parse_sizes,
    parse_ssd_policies,
)
from tidepool.policies import Policy, PolicySpec
from tidepool.prototypes import PythonPolicy, python_policy
from tidepool.simulation import Device, Size, SsdPolicySpec, parse_device
from tidepool.simulation.sizes import size_of

Item = TypeVar("Item")

PolicyLike = str | PolicySpec | Policy | type[PythonPolicy]
SizeLike = str | int | Size
Policies = PolicyLike | Iterable[PolicyLike]
Sizes = SizeLike | Iterable[SizeLike]


def policies_of(given: Policies | None) -> tuple[PolicySpec, ...]:
    """Return policies: "lru,arc", ["arc", "lirs:hir=2%"], a class; each once."""
    return _each(given, _specs)


def policy_of(given: PolicyLike, what: str) -> PolicySpec:
    """Return the one policy."""
    found = policies_of(given)
    if len(found) != 1:
        raise PolicyError(f"{given!r} is not one policy", f"Name the {what}.")
    return found[0]


def ssd_policies_of(given: str | Iterable[str] | None) -> tuple[SsdPolicySpec, ...]:
    """Return policies on an SSD."""
    return _each(given, lambda item: parse_ssd_policies(_text(item)))


def choices_of(given: str | Mapping[str, str] | Iterable[str] | None) -> tuple[RelationChoice, ...]:
    """Return what relations want of an SSD: {"orders": "keep"}, "orders=keep,log=none"."""
    if isinstance(given, Mapping):
        given = [f"{relation}={choice}" for relation, choice in given.items()]
    return _each(given, lambda item: parse_choices(_text(item)))


def sizes_of(given: Sizes | None) -> tuple[GivenSize, ...]:
    """Return sizes: 2000, "5%", ["5%", "64MB", 2000]; each once."""
    return _each(given, _sizes)


def size_given(given: SizeLike) -> GivenSize:
    """Return the one size."""
    return parse_given_size(given) if isinstance(given, str) else _sizes(given)[0]


def amount_of(given: str | int) -> Amount:
    """Return a number of references, or a share of the trace's."""
    return parse_amount(given if isinstance(given, str) else str(number_of(given, "warmup")))


def rate_of(given: str | float | None) -> float | None:
    """Return a share of the pages to sample."""
    return None if given is None else parse_rate(str(given))


def share_of(given: str | float, name: str) -> float:
    """Return a share, from 0 to 1: 0.5, "50%"."""
    return _named(name, parse_share, given)


def data_of(given: str | float, unit: str, name: str) -> float:
    """Return an amount of data in a unit: 20, "20MB"."""
    return _named(name, parse_data(unit), given)


def _named(name: str, parse: Callable[[str], float], given: str | float) -> float:
    """Return what the text of a value is; errors say which argument it is of."""
    try:
        return parse(str(given))
    except TidepoolError as error:
        raise TidepoolError(f"{name}: {error}", error.hint) from None


def number_of(given: str | int, name: str, least: int = 0) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(given, bool) or not isinstance(given, (str, int, np.integer)):
        raise TidepoolError(
            f"{name} is {given!r}", f"Use a whole number, at least {least}, as 1000 or '1e3'."
        )
    try:
        return parse_number(least)(str(given))
    except TidepoolError as error:
        raise TidepoolError(f"{name}: {error}", error.hint) from None


def numbers_of(given: str | int | Iterable[int] | None, name: str) -> tuple[int, ...]:
    """Return whole numbers: 1, [1, 2], "1,2"."""

    def parse(item: Any) -> tuple[int, ...]:
        items = items_of(item, "number") if isinstance(item, str) else [item]
        return tuple(number_of(each, name) for each in items)

    return _each(given, parse)


def resizes_of(given: str | Iterable[Any] | None) -> tuple[Resize, ...]:
    """Return resizes: "50000:2000", [(50_000, "4%"), (50_000, "hot", 100)]."""

    def parse(item: Any) -> tuple[Resize, ...]:
        if isinstance(item, str):
            return parse_resizes(item)
        if isinstance(item, (tuple, list)) and len(item) in (2, 3):
            pool = str(item[1]) if len(item) == 3 else None
            return (Resize(number_of(item[0], "resize"), size_given(item[-1]), pool),)
        raise TidepoolError(
            f"{item!r} is not a resize",
            "Write it as (REFERENCE, SIZE) or (REFERENCE, POOL, SIZE), or as text.",
        )

    single = isinstance(given, tuple) and len(given) in (2, 3) and not isinstance(given[0], tuple)
    return _each([given] if single else given, parse)


def pools_of(given: Any) -> tuple[GivenPool, ...]:
    """Return pools: "hot=arc,30:orders", a list of such texts, or GivenPool."""
    return _each(given, lambda item: parse_pools(_text(item)) if item is not None else ())


def layouts_of(given: Any) -> tuple[GivenLayout, ...]:
    """Return layouts: texts or files as for the command."""
    return _each(given, lambda item: (parse_layout(_text(item)),))


def device_of(given: str | Device) -> Device:
    """Return a device."""
    return given if isinstance(given, Device) else parse_device(_text(given))


def columns_of(given: str | Mapping[str, str] | None) -> dict[str, str] | None:
    """Return a map from the fields of events to columns."""
    if given is None:
        return None
    if isinstance(given, str):
        return parse_columns(given)
    if not isinstance(given, Mapping):
        raise TidepoolError(
            f"columns is {given!r}", 'Use a map from fields to columns: {"page": "key"}.'
        )
    return dict(given)


def _each(given: Any, parse: Any) -> tuple[Any, ...]:
    """Return what all items of a value or a collection of them are, each once."""
    if given is None:
        return ()
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    single = isinstance(given, (str, type)) or not isinstance(given, Iterable)
    items = [given] if single else given
    return tuple(dict.fromkeys(found for item in items for found in parse(item)))


def _text(given: Any) -> str:
    if not isinstance(given, (str, os.PathLike)):
        raise TidepoolError(f"{given!r} is not text", "Write it as for the command.")
    return os.fspath(given)


def _specs(given: Any) -> tuple[PolicySpec, ...]:
    if isinstance(given, str):
        return parse_policies(given)
    if isinstance(given, PolicySpec):
        return (given,)
    if isinstance(given, Policy):
        return (PolicySpec(given),)
    if isinstance(given, (type, PythonPolicy)):
        return (python_policy(given),)  # type: ignore[arg-type]  # it raises for what is no policy
    raise PolicyError(
        f"{given!r} is not a policy",
        'Use a name ("arc", "lirs:hir=2%") or a subclass of tidepool.PythonPolicy.',
    )


def _sizes(given: Any) -> tuple[GivenSize, ...]:
    if isinstance(given, str):
        return parse_sizes(given)
    if isinstance(given, Size):
        return (GivenSize(str(given.frames or f"{100 * (given.share or 0):g}%"), given),)
    if isinstance(given, (int, float, np.number)):
        size = size_of(given)  # type: ignore[arg-type]
        return (GivenSize(str(size.frames), size),)
    raise TidepoolError(
        f"{given!r} is not a number of frames", 'Use 1000, "5%" of the pages, or "64MB".'
    )
