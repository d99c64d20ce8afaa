"""Sizes as users write them."""

from __future__ import annotations

import pytest

from simulation.generated import Event, EventTrace, looping
from tidepool import TidepoolError
from tidepool.simulation import Size, count_pages, parse_memory, parse_size
from tidepool.traces import Kind


@pytest.mark.parametrize(
    ("text", "pages", "frames"),
    [
        ("1", None, 1),
        ("1000", None, 1000),
        ("2147483647", None, 2**31 - 1),
        ("8kB", None, 1),
        ("64MB", None, 8192),
        ("1.5 MB", None, 192),
        ("2gb", None, 262144),
        ("1TB", None, 2**27),
        ("10%", 1000, 100),
        ("0.1%", 100, 1),
        ("100%", 7, 7),
        ("33.3%", 10, 3),
    ],
)
def test_size(text: str, pages: int | None, frames: int) -> None:
    assert parse_size(text).resolve(pages) == frames


@pytest.mark.parametrize(
    "text", ["", "0", "0%", "101%", "-5", "4kB", "1.5", "many", "10 pages", "2147483648", "10k"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(TidepoolError, match="size") as raised:
        parse_size(text)
    assert raised.value.hint


def test_memory_is_no_share() -> None:
    assert [parse_memory(text) for text in ("1e3", "64MB", "8 kB")] == [1000, 8192, 1]
    for text in ("10%", "10xb", "10k", "0", "ten"):
        with pytest.raises(TidepoolError) as raised:
            parse_memory(text)
        assert "share" not in str(raised.value.hint) and "%" not in str(raised.value.hint)


def test_size_is_a_value() -> None:
    assert parse_size("10%") == Size(share=0.1)


def test_distinct_pages() -> None:
    assert count_pages(looping(77, 1000)) == 77
    events = [Event(1), Event(2), Event(1, Kind.FORGET), Event(2), Event(9, Kind.SCAN_BEGIN)]
    assert count_pages(EventTrace(events, cuts=(2,))) == 2
    assert count_pages(EventTrace([])) == 0
