"""Parquet files that others wrote, by their columns; native ones are in test_native.py."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidepool.errors import TraceError
from tidepool.traces import Kind, open_trace, write_trace
from traces.helpers import everything, pages, rows
from traces.redset_files import query
from traces.redset_files import write as write_redset


def write(tmp_path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_a_data_frame(tmp_path: Path) -> None:
    """As pandas writes it: signed numbers, an index, times of nanoseconds, categories."""
    moments = pa.array([1_000_000_123, 1_000_002_999, 1_500_000_000], pa.timestamp("ns"))
    table = pa.table(
        {
            "lbn": pa.array([10, 11, 10], pa.int64()),
            "op": pa.array(["R", "W", "R"]).dictionary_encode(),
            "when": moments,
            "thread": pa.array([1.0, None, 3.0]),
            "__index_level_0__": pa.array([7, 8, 9], pa.int64()),
        }
    )
    table = table.replace_schema_metadata({"pandas": json.dumps({"index_columns": []})})
    pq.write_table(table, tmp_path / "frame.parquet")
    columns = {"page": "lbn", "kind": "op", "time": "when", "backend": "thread"}
    trace = open_trace(tmp_path / "frame.parquet", columns=columns)
    assert (trace.format, trace.length) == ("parquet", 3)
    assert [(page, kind, time, backend) for page, kind, _, time, backend, *_ in rows(trace)] == [
        (10, Kind.READ, 1_000_000, 1),
        (11, Kind.WRITE, 1_000_002, 0),
        (10, Kind.READ, 1_500_000, 3),
    ]


def test_by_number_and_by_the_fields_own_names(tmp_path: Path) -> None:
    path = write(tmp_path, block=[5, 6], relation=[2, 2], kind=[True, False])
    expected = [(2 << 34 | 5, 1), (2 << 34 | 6, 0)]
    assert [row[:2] for row in rows(open_trace(path, "parquet"))] == expected
    columns = {"block": "1", "relation": "2", "kind": "3"}
    assert [row[:2] for row in rows(open_trace(path, columns=columns))] == expected


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        ([5, 7], "t", [5, 7]),
        ([5, 7], "t:s", [5_000_000, 7_000_000]),
        ([0.5, 0.25], "t:s", [500_000, 500_000]),  # earlier than the one before
        ([2.0, 3.0], "t", [2, 3]),
        (pa.array([5, 7], pa.timestamp("s")), "t", [5_000_000, 7_000_000]),
        (pa.array([5, 7], pa.timestamp("ms", "UTC")), "t", [5_000, 7_000]),
        (pa.array([5_600, 7_000], pa.duration("ns")), "t", [5, 7]),
        (pa.array([5, 7], pa.time32("ms")), "t", [5_000, 7_000]),
        ([datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)], "t", [0, 86_400_000_000]),
    ],
)
def test_times(tmp_path: Path, values: Any, column: str, expected: list[int]) -> None:
    path = write(tmp_path, page=[1, 2], t=values)
    trace = open_trace(path, columns={"page": "page", "time": column})
    assert [row[3] for row in rows(trace)] == expected


def test_bitmaps_of_bytes_and_of_text(tmp_path: Path) -> None:
    for bitmaps in ([b"\x0f", None], ["0x0f", None]):
        path = write(tmp_path, page=[1, 2], kind=["scan_begin", "read"], bitmap=bitmaps)
        assert [row[-1] for row in rows(open_trace(path, "parquet"))] == [b"\x0f", None]


def test_numbers_in_texts(tmp_path: Path) -> None:
    assert pages(open_trace(write(tmp_path, page=["12", "7"]), "parquet")) == [12, 7]


def test_traces_of_ours_by_their_columns(tmp_path: Path) -> None:
    write_trace(everything(), tmp_path / "t.parquet")
    trace = open_trace(tmp_path / "t.parquet", columns={"page": "block", "time": "time"})
    assert pages(trace) == [page & 0xFFFFFFFF for page in pages(everything())]
    path = write_redset(tmp_path / "r", [query(1, 2.0, "5")])
    assert open_trace(path).format == "redset"
    assert pages(open_trace(path, columns={"page": "query_id"})) == [1]


def test_rows_of_many_chunks(tmp_path: Path) -> None:
    numbers = [i * 7 % 100_003 for i in range(1_200_000)]
    path = write(tmp_path, page=numbers)
    trace = open_trace(path, "parquet")
    assert max(map(len, trace.chunks())) <= 1 << 20
    assert pages(trace) == numbers


@pytest.mark.parametrize(
    ("columns", "choice", "message"),
    [
        ({"page": [1, -3]}, None, 'row 2: not a page: "-3"'),
        ({"page": ["1", "x"]}, None, 'row 2: not a page: "x"'),
        ({"page": [1.0, 1.5]}, None, 'row 2: not a page: "1.5"'),
        ({"page": [1.0, float("nan")]}, None, 'row 2: not a page: "nan"'),
        ({"page": [1, None]}, None, "row 2: no page"),
        ({"page": [1, 2], "kind": ["read", "pull"]}, None, 'row 2: not a kind: "pull"'),
        ({"page": [1, 2], "time": [1, -1]}, None, 'row 2: not a time: "-1"'),
        (
            {"page": [1, 2], "t": [1.0, -1.0]},
            {"page": "page", "time": "t:s"},
            "row 2: the time is out of range",
        ),
        ({"block": [1, 2**32]}, None, 'row 2: not a block: "4294967296"'),
        ({"block": [1, 2], "relation": [0, 2**30]}, None, "row 2: relation 1073741824 is above"),
        ({"page": [[1], [2]]}, None, 'column "page" holds list<.*>, no page'),
        ({"page": [1], "kind": [0.5]}, None, 'column "kind" holds double, no kind'),
        ({"page": [1], "time": ["noon"]}, None, 'column "time" holds string, no time'),
        ({"a": [1]}, None, 'no column "page" or "block"'),
        ({"a": [1]}, {"page": "b"}, 'no column "b"'),
        ({"a": [1]}, {"page": "a", "time": "a"}, "one column for two fields"),
        ({"page": pa.array([], pa.int64())}, None, "the trace is empty"),
    ],
)
def test_wrong(
    tmp_path: Path, columns: dict[str, Any], choice: dict[str, str] | None, message: str
) -> None:
    path = write(tmp_path, **columns)
    with pytest.raises(TraceError, match=rf"^{path}: {message}") as error:
        pages(open_trace(path, "parquet", choice))
    assert ("--keys" in str(error.value.hint)) == ("not a page" in message)


def test_what_is_no_trace_is_told_how_to_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, lbn=[1], op=["R"])
    with pytest.raises(TraceError, match="a Parquet file, but not a trace") as error:
        open_trace(path)
    assert error.value.hint == (
        "Say which columns to read: --columns page=NAME,…  The file has: lbn, op."
    )


def test_keys_in_a_column_that_has_none(tmp_path: Path) -> None:
    path = write(tmp_path, page=[1.5])
    with pytest.raises(TraceError, match=r'column "page" holds double, no page$'):
        open_trace(path, keys="hash")
