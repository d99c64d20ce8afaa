"""Values of options, one and lists of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidepool.errors import TidepoolError
from tidepool.options import (
    parse_amount,
    parse_data,
    parse_numbers,
    parse_policies,
    parse_pools,
    parse_rate,
    parse_resizes,
    parse_share,
    parse_sizes,
    parse_ssd_policies,
)
from tidepool.policies import policies


def test_policies() -> None:
    assert [str(spec) for spec in parse_policies("lru,2q:kin=0.3,kout=0.25,arc")] == [
        "lru",
        "2q:kin=0.3,kout=0.25",
        "arc",
    ]
    assert len(parse_policies("all")) == len(policies()) + 1
    assert [str(spec) for spec in parse_ssd_policies("tac,opt:by=time,none")] == [
        "tac",
        "opt:by=time",
        "none",
    ]


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ("1000", 1000),
        ("1_000_000", 10**6),
        ("1e6", 10**6),
        ("64M", 8192),
        ("64MB", 8192),
        ("64MiB", 8192),
        ("1G", 131072),
        ("64 kB", 8),
        ("16384B", 2),
    ],
)
def test_sizes(text: str, frames: int) -> None:
    ((given),) = parse_sizes(text)
    assert (given.text, given.size.frames) == (text, frames)


def test_lists_of_sizes() -> None:
    assert [given.text for given in parse_sizes("5%, 10 %,64M")] == ["5%", "10 %", "64M"]
    assert [given.size.share for given in parse_sizes("5%,10 %")] == [0.05, 0.1]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("10k", "Use frames (10000) or bytes (80MB, 64kB)."),
        ("5.5", "Use a whole number of frames (1000), a share"),
        ("ten", "Use a whole number of frames (1000), a share"),
        ("1kB", "Use 1 to 2147483647 frames of 8 kB."),
        ("101%", "Use a share above 0% and up to 100%."),
    ],
)
def test_what_is_no_size(text: str, hint: str) -> None:
    with pytest.raises(TidepoolError) as error:
        parse_sizes(text)
    assert hint in str(error.value.hint)


def test_amounts() -> None:
    assert parse_amount("1e5").resolve(lambda: 0) == 100_000
    assert parse_amount("100k").resolve(lambda: 0) == 100_000
    assert parse_amount("20 %").resolve(lambda: 50) == 10
    assert (parse_rate("1%"), parse_rate("1e-2")) == (0.01, 0.01)


def test_shares_and_amounts_of_data() -> None:
    assert [parse_share(text) for text in ("0", "1", "50%", "5e-1")] == [0, 1, 0.5, 0.5]
    megabytes, gigabytes = parse_data("MB"), parse_data("GB")
    assert [megabytes(text) for text in ("20", "20MB", "512kB", "1G")] == [20, 20, 0.5, 1024]
    assert [gigabytes(text) for text in ("500", "500GB", "512MB", "0")] == [500, 500, 0.5, 0]
    for wrong in ("-1", "20%", "20MBit", "", "nan"):
        with pytest.raises(TidepoolError, match="invalid amount of data"):
            megabytes(wrong)


@pytest.mark.parametrize("parse", [parse_policies, parse_ssd_policies, parse_sizes, parse_numbers])
def test_lists_that_lack_an_item(parse: Callable[[str], object]) -> None:
    for text in ("", " "):
        with pytest.raises(TidepoolError, match=r"no [a-z]+ is given"):
            parse(text)
    for text in ("7,", ",7", "7,,7", ","):
        with pytest.raises(TidepoolError, match="is missing beside a comma") as error:
            parse(text)
        assert error.value.hint == "Leave out the extra comma."


def test_resizes_and_pools() -> None:
    first, second = parse_resizes("1e3:4%,2_000:hot=64M")
    assert (first.reference, first.pool, first.size.size.share) == (1000, None, 0.04)
    assert (second.reference, second.pool, second.size.size.frames) == (2000, "hot", 8192)
    hot, log = parse_pools("hot=2q:kin=0.3,kout=0.5,64M:orders,items; log=fifo,1M:history")
    assert (hot.name, str(hot.spec), hot.size.size.frames) == ("hot", "2q:kin=0.3,kout=0.5", 8192)
    assert (hot.relations, log.relations) == (("orders", "items"), ("history",))
