"""The native format as others may write and read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidepool.errors import TraceError
from tidepool.traces import open_trace, write_trace
from traces.helpers import everything, pages, rows

VERSION = {"tidepool.version": "1"}


def write(path: Path, columns: dict[str, Any], metadata: dict[str, str], **options: Any) -> Path:
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path, **options)
    return path


def test_what_others_see(tmp_path: Path) -> None:
    write_trace(everything(), tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.schema.names == [
        "time",
        "kind",
        "relation",
        "fork",
        "block",
        "backend",
        "scan",
        "flags",
        "count",
        "size",
        "low",
        "speed",
        "pool",
        "bitmap",
    ]
    assert table.column("relation").to_pylist()[:3] == [5, 5, 6]
    assert table.column("block").to_pylist()[:3] == [7, 8, 0]
    assert table.column("fork").to_pylist() == [0, 0, 0, 0, 0, 2, 0, 0, 3]
    bitmaps = [None, None, b"\x05\x80", None, b"", None, None, None, None]
    assert table.column("bitmap").to_pylist() == bitmaps
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert metadata.metadata[b"tidepool.version"] == b"1"
    assert metadata.metadata[b"tidepool.page_size"] == b"8192"
    assert metadata.metadata[b"tidepool.defaults"] == b"[]"
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_least_that_is_a_trace(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {"block": [3, 4]}, VERSION, compression="none")
    assert pages(open_trace(path)) == [3, 4]
    assert open_trace(path).relations == {}


def test_other_types_and_columns(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        {
            "note": ["a", "b"],
            "relation": pa.array([1, 2], pa.int64()),
            "block": pa.array([3, 4], pa.int32()),
            "bitmap": pa.array([None, b"x"], pa.large_binary()),
            "kind": pa.array([0, 2], pa.int16()),
        },
        VERSION,
        row_group_size=1,
    )
    assert [(row[0], row[1], row[-1]) for row in rows(open_trace(path))] == [
        (1 << 34 | 3, 0, None),
        (2 << 34 | 4, 2, b"x"),
    ]


@pytest.mark.parametrize(
    ("columns", "metadata", "message"),
    [
        ({"block": [1]}, {}, "a Parquet file, but not a trace"),
        (
            {"block": [1]},
            {"tidepool.version": "2"},
            "version 2 of the format is not supported, only 1",
        ),
        ({"page": [1]}, VERSION, 'the trace has no column "block"'),
        ({"block": pa.array([], pa.uint32())}, VERSION, "the trace is empty"),
        ({"block": [1], "kind": [26]}, VERSION, "row 0: kind 26 is above 25"),
        (
            {"block": [1, 1], "relation": [0, 2**30]},
            VERSION,
            "row 1: relation 1073741824 is above 1073741823",
        ),
        ({"block": [1], "fork": [4]}, VERSION, "row 0: fork 4 is above 3"),
        ({"block": [1, 1, 1], "time": [0, 2, 1]}, VERSION, "row 2: time decreases"),
        ({"block": [1, None]}, VERSION, 'nulls in column "block"'),
        ({"block": [1]}, {**VERSION, "tidepool.relations": "[1]"}, "damaged metadata"),
        ({"block": [1]}, {**VERSION, "tidepool.relations": '{"x": "y"}'}, "damaged metadata"),
        ({"block": [1]}, {**VERSION, "tidepool.page_size": "0"}, "damaged metadata"),
        ({"block": [1]}, {**VERSION, "tidepool.defaults": "7"}, "damaged metadata"),
    ],
)
def test_wrong(
    tmp_path: Path, columns: dict[str, Any], metadata: dict[str, str], message: str
) -> None:
    path = write(tmp_path / "t", columns, metadata)
    with pytest.raises(TraceError) as error:
        list(open_trace(path).chunks())
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    "columns",
    [{"block": [-1]}, {"block": ["x"]}, {"block": [1], "time": [1.5]}, {"block": [2**32]}],
)
def test_values_that_are_no_such_numbers(tmp_path: Path, columns: dict[str, Any]) -> None:
    path = write(tmp_path / "t", columns, VERSION)
    with pytest.raises(TraceError, match=r"^.*/t: damaged or cut off Parquet file: "):
        list(open_trace(path).chunks())


def test_time_decreases_between_row_groups(tmp_path: Path) -> None:
    columns = {"block": [1, 2], "time": [5, 4]}
    path = write(tmp_path / "t", columns, VERSION, row_group_size=1)
    with pytest.raises(TraceError, match=r"/t: row 1: time decreases$"):
        list(open_trace(path).chunks())


def test_a_damaged_page_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_trace(everything(), path)
    start = pq.ParquetFile(path).metadata.row_group(0).column(4).data_page_offset
    data = bytearray(path.read_bytes())
    data[start + 60] ^= 1
    path.write_bytes(data)
    with pytest.raises(TraceError, match=r"damaged or cut off Parquet file"):
        list(open_trace(path).chunks())
