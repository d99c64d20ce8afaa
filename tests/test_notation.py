"""Numbers and lists as people write them."""

from __future__ import annotations

import pytest

from tidepool.notation import (
    binary,
    grouped,
    integer,
    number,
    pairs,
    percentage,
    share,
    whole,
    with_unit,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("1000", 1000),
        ("1_000_000", 10**6),
        ("1e6", 10**6),
        ("2.5e3", 2500),
        ("100k", 100_000),
        ("2M", 2 * 10**6),
        ("1.5G", 15 * 10**8),
        (" 7 ", 7),
        (str(2**64 - 1), 2**64 - 1),
        ("1.5", None),
        ("1e-1", None),
        ("-1", None),
        ("", None),
        ("1__0", None),
        ("_1", None),
        ("1,000", None),
        ("1m0", None),
        ("1e400", None),
        ("0x10", None),
        ("nan", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_whole(text: str, value: int | None) -> None:
    assert whole(text) == value


def test_signs() -> None:
    assert (integer("-1"), integer("+2"), integer("-1.5")) == (-1, 2, None)
    assert (number("-.5"), number("1e-3"), number("inf")) == (-0.5, 0.001, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5%", 0.05), ("5 %", 0.05), (".5%", 0.005), ("1e1%", 0.1), ("5", None), ("%", None)],
)
def test_percentage(text: str, value: float | None) -> None:
    assert percentage(text) == value


def test_share() -> None:
    assert (share("1%"), share("0.01"), share("half")) == (0.01, 0.01, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64MB", 2**26),
        ("64M", 2**26),
        ("64 MiB", 2**26),
        ("64mb", 2**26),
        ("1.5g", 3 * 2**29),
        ("1_024kB", 2**20),
        ("1T", 2**40),
        ("8192B", 8192),
        ("64", None),
        ("64MM", None),
        ("5%", None),
    ],
)
def test_binary(text: str, value: float | None) -> None:
    assert binary(text) == value


def test_units() -> None:
    units = ("TBW", "DWPD")
    assert with_unit("600TBW", units) == with_unit(" 6e2 tbw", units) == (600, "TBW")
    assert with_unit(".3dwpd", units) == (0.3, "DWPD")
    for wrong in ("600", "TBW", "600TB", "600TBWW", ""):
        assert with_unit(wrong, units) is None


def test_a_policy_keeps_its_parameters() -> None:
    assert grouped("lru") == ["lru"]
    assert grouped("lru, arc") == ["lru", "arc"]
    assert grouped("2q:kin=0.3,kout=0.5") == ["2q:kin=0.3,kout=0.5"]
    both = ["2q:kin=0.3,kout=0.5", "lru_k:k=3", "lru"]
    assert grouped("2q:kin=0.3, kout=0.5 ,lru_k:k=3,lru") == both
    assert grouped("") == [""]


def test_pairs() -> None:
    assert pairs("page=lbn, time=ts:s") == {"page": "lbn", "time": "ts:s"}
    for wrong in ("", "page", "page=", "=x", "page=1,page=2", "page=1,"):
        assert pairs(wrong) is None
