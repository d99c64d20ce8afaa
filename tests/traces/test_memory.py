"""Traces made of arrays: the values as they are, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tidepool.errors import TraceError
from tidepool.traces import InMemoryTrace
from traces.helpers import rows, whole

make = InMemoryTrace.from_arrays


@pytest.mark.parametrize(
    ("values", "pages"),
    [
        ([3, 5], [3, 5]),
        ([0, 2**64 - 1], [0, 2**64 - 1]),
        (range(3), [0, 1, 2]),
        ([3.0, 5.0], [3, 5]),
        (np.array([3.0, 2.0**53]), [3, 2**53]),
        (np.array([7, 127], np.int8), [7, 127]),
        (np.array([1, 2**63], object), [1, 2**63]),
        ([], []),
    ],
)
def test_numbers_stay_what_they_are(values: Any, pages: list[int]) -> None:
    trace = make("t", values)
    assert [page for chunk in trace.chunks() for page in chunk.page.tolist()] == pages


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("page", [1, -5], 'column "page", row 1: -5 is below 0'),
        ("page", np.array([1, -5]), 'column "page", row 1: -5 is below 0'),
        ("page", [1.5, 1.7], 'column "page", row 0: 1.5 is not a whole number'),
        ("page", np.array([1.0, 1.7]), 'column "page", row 1: 1.7 is not a whole number'),
        ("page", [1, 2**64], 'column "page", row 1: 18446744073709551616 is above'),
        ("page", [2**64 - 1, -1], 'column "page", row 1: -1 is below 0'),
        ("page", np.array([1.0, 2.0**60]), r'column "page", row 1: 1\.15.*e\+18 is above 90071992'),
        ("page", [1, float("nan")], 'column "page", row 1: nan is not a whole number'),
        ("page", np.array([np.inf, 1]), 'column "page", row 0: inf is not a whole number'),
        ("page", ["bob", "alice"], 'column "page" is not of numbers'),
        ("page", [1, None], 'column "page" is not of numbers'),
        ("kind", [0, 256], 'column "kind", row 1: 256 is above 255'),
        ("backend", [0, -1], 'column "backend", row 1: -1 is below 0'),
        ("flags", [0, 0.5], 'column "flags", row 1: 0.5 is not a whole number'),
        ("kind", [0, 26], 'column "kind", row 1: 26 is no kind of event'),
        ("page", [[1, 2], [3, 4]], 'column "page" has 2 dimensions'),
        ("page", 5, 'column "page" is a single value'),
        ("kind", 1, 'column "kind" is a single value'),
        ("page", np.array([True, False]), 'column "page" is of booleans'),
        ("time", np.array([True, False]), 'column "time" is of booleans'),
        ("colour", [0, 1], 'an event has no "colour"'),
        ("kind", [0], 'column "kind" has 1 rows, column "page" 2'),
    ],
)
def test_what_a_column_does_not_hold(column: str, values: Any, message: str) -> None:
    with pytest.raises(TraceError, match=f"^{message}"):
        make("t", **({"page": [1, 2]} | {column: values}))


def test_speeds_and_marks() -> None:
    trace = make("t", [1, 2], speed=[0.5, 3], kind=np.array([False, True]))
    assert [row[1] for row in rows(trace)] == [0, 1]
    speed = whole(trace).speed
    assert speed is not None and speed.tolist() == [0.5, 3.0]
