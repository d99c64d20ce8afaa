"""Files of Redset's schema, and the scans that are made of them."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from generators.generated import all_columns, block, relation
from tidepool.errors import TraceError
from tidepool.traces import Kind, open_trace, trace_info, write_trace
from tidepool.traces.formats import redset as module
from tidepool.traces.formats.redset import RedsetTrace
from traces.helpers import rows
from traces.redset_files import query, write


def announced(trace: Any) -> list[dict[str, Any]]:
    """Return the trace's scans as they are announced."""
    events = all_columns(list(trace.chunks()))
    begins = events["kind"] == Kind.SCAN_BEGIN
    return [
        {
            "scan": int(events["scan"][row]),
            "table": trace.relations[int(relation(events["page"])[row])],
            "first": int(block(events["page"])[row]),
            **{name: float(events[name][row]) for name in ("count", "size", "speed")},
            "seconds": float(events["time"][row] / 1e6),
            "backend": int(events["backend"][row]),
        }
        for row in np.flatnonzero(begins).tolist()
    ]


def test_scans_of_queries(tmp_path: Path) -> None:
    path = write(
        tmp_path / "5.parquet",
        [
            query(1, 10),
            query(2, 11, "10,20", mbytes_scanned=2 * 4.096, execution_duration_ms=4000),
            query(3, 12, compile_duration_ms=500.0, queue_duration_ms=1500),
            query(4, 30, "20", mbytes_scanned=16.384),
            query(5, 31, "20", execution_duration_ms=0, database_id=1, mbytes_scanned=0.001),
        ],
    )
    trace = open_trace(path)
    assert isinstance(trace, RedsetTrace) and trace.format == "redset" and trace.name == "5"
    scans = announced(trace)
    table = "table {} of database {}".format
    assert [(s["table"], s["count"], s["size"], s["speed"], s["seconds"]) for s in scans] == [
        (table(10, 0), 1000, 1000, 1000, 0),
        (table(10, 0), 500, 1000, 250, 1),
        (table(20, 0), 500, 2000, 250, 3),  # when the query has read the other table
        (table(10, 0), 1000, 1000, 1000, 4),  # after compiling and queueing
        (table(20, 0), 2000, 2000, 2000, 20),
        (table(20, 1), 1, 1, 1000, 21),  # a millisecond at least
    ]
    assert [s["scan"] for s in scans] == [1, 2, 3, 4, 5, 6]
    # the first query is over when the second begins, the third has a backend of its own
    assert [s["backend"] for s in scans] == [1, 1, 1, 2, 1, 2]
    assert 0 <= scans[1]["first"] <= 500 and 0 <= scans[2]["first"] <= 1500
    assert trace.length == sum(map(len, trace.chunks())) == 5001 + 12
    assert trace.page_size == 8192


def test_queries_that_scan_nothing_are_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        [
            query(1, 1, was_cached=1, mbytes_scanned=999.0),
            query(2, 2, tables=None),
            query(3, 3, tables=""),
            query(4, 4, mbytes_scanned=0.0),
            query(5, 5, mbytes_scanned=None),
            query(6, 6, was_cached=None),
            query(7, 7, was_aborted=1),
            query(8, 8, arrival_timestamp=None),
        ],
    )
    assert [s["seconds"] for s in announced(open_trace(path))] == [0, 1]


def test_consecutive_queries_by_arrival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(100).tolist()
    path = write(
        tmp_path / "t",
        [query(i, i * 10, str(i), mbytes_scanned=0.8192 * (1 + i)) for i in order],
        row_group_size=10,
    )
    monkeypatch.setattr(module, "BATCH_ROWS", 7)
    trace = open_trace(path, "redset:first=30,queries=5")
    assert [s["count"] for s in announced(trace)] == [100 * (i + 1) for i in range(30, 35)]
    assert len(announced(open_trace(path, "redset:first=95"))) == 5
    with pytest.raises(TraceError, match="no queries that scan tables after the first 100"):
        open_trace(path, "redset:first=100")


def test_tables_are_as_large_as_their_largest_scan(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t",
        [query(i, i * 10) for i in range(20)]
        + [query(20, 300, "10,11,12", mbytes_scanned=3 * 81.92)],  # not one of the first 20
    )
    scans = announced(open_trace(path, "redset:queries=20"))
    assert {s["size"] for s in scans} == {10_000}
    firsts = [s["first"] for s in scans]
    assert len(set(firsts)) > 15 and max(firsts) > 5000 and max(firsts) <= 9000
    other = announced(open_trace(path, "redset:queries=20,seed=1"))
    assert [s["first"] for s in other] != firsts
    assert announced(open_trace(path, "redset:queries=20,seed=0")) == scans


def test_instances(tmp_path: Path) -> None:
    path = write(
        tmp_path / "full.parquet",
        [query(1, 0), query(2, 1, instance_id=3), query(3, 2, instance_id=None), query(4, 3)],
    )
    with pytest.raises(TraceError, match=r"queries of more than one instance$") as error:
        open_trace(path)
    assert error.value.hint == (
        "Choose one, as in redset:instance=3.  Among the instances are 3, 5."
    )
    assert len(announced(open_trace(path, "redset:instance=5"))) == 2
    assert len(announced(open_trace(path, "redset:instance=3"))) == 1
    with pytest.raises(TraceError, match=r"no queries of instance 4$") as error:
        open_trace(path, "redset:instance=4")
    assert error.value.hint == "Among the instances are 3, 5."


def test_scale_and_page_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t", [query(i, i) for i in range(10)])
    assert trace_info(open_trace(path, "redset:scale=0.25")).references == 2500
    assert trace_info(open_trace(path, "redset:scale=0.0001")).references == 10
    larger = open_trace(path, "redset:page_size=16384")
    assert trace_info(larger).references == 5000 and larger.page_size == 16384
    monkeypatch.setattr(module, "MAX_READS", 4000)
    assert trace_info(open_trace(path)).references == 4000
    assert announced(open_trace(path))[0]["speed"] == 400, "scans last as long as they did"


def test_other_types(tmp_path: Path) -> None:
    """Serverless and sampled files differ in types; what a reader gets is the same."""
    path = write(tmp_path / "t", [query(1, 0), query(2, 5, "10,11")])
    table = pq.read_table(path)
    for name, kind in {
        "arrival_timestamp": pa.timestamp("ns"),
        "was_cached": pa.bool_(),
        "queue_duration_ms": pa.float64(),
        "read_table_ids": pa.large_string(),
        "instance_id": pa.int64(),
    }.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].cast(kind))
    pq.write_table(table, tmp_path / "u")
    assert announced(open_trace(tmp_path / "u")) == announced(open_trace(path))


def test_is_a_trace_like_others(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "t", [query(i, i / 4, f"{i % 3}") for i in range(9)]))
    assert rows(trace) == rows(trace) == rows(pickle.loads(pickle.dumps(trace)))
    assert write_trace(trace, tmp_path / "u.parquet").lost == ()
    again = open_trace(tmp_path / "u.parquet")
    assert again.format == "native"
    assert rows(again) == rows(trace) and again.relations == trace.relations
    assert trace_info(again).scans.at_once == 4
    compressed = tmp_path / "t.gz"
    compressed.write_bytes(gzip.compress((tmp_path / "t").read_bytes()))
    assert rows(open_trace(compressed)) == rows(trace)


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("redset:instance=x", "invalid value for \"instance\": 'x'"),
        ("redset:instance=1.5", "invalid value for \"instance\": '1.5'"),
        ("redset:queries=0", 'value 0 of "queries" is out of range'),
        ("redset:scale=2", 'value 2 of "scale" is out of range'),
        ("redset:limit=3", 'there is no parameter "limit"'),
        ("redset:first", 'invalid options "first"'),
        ("redset:first=1,first=2", 'invalid options "first=1,first=2"'),
        ("text:first=1", 'the trace format "text" has no options'),
        ("redsat:first=1", 'there is no trace format "redsat"'),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, format: str, message: str) -> None:
    path = write(tmp_path / "t", [query(1, 0)])
    with pytest.raises(TraceError) as error:
        open_trace(path, format)
    assert str(error.value) == message


def test_files_that_are_wrong(tmp_path: Path) -> None:
    path = write(tmp_path / "t", [query(1, 0, "10,x")])
    with pytest.raises(TraceError, match=r'/t: not a list of tables: "10,x"$'):
        open_trace(path)
    (tmp_path / "u").write_bytes(path.read_bytes()[:-50])
    with pytest.raises(TraceError, match="/u: damaged or cut off Parquet file: "):
        open_trace(tmp_path / "u")
    pq.write_table(pa.table({"instance_id": [1]}), tmp_path / "v")
    with pytest.raises(TraceError, match=r'/v: no column "arrival_timestamp"$'):
        open_trace(tmp_path / "v", "redset")
    with pytest.raises(TraceError, match=r"/v: a Parquet file, but not a trace$"):
        open_trace(tmp_path / "v")
    path = write(tmp_path / "w", [])
    with pytest.raises(TraceError, match="/w: no queries that scan tables"):
        open_trace(path)


def test_numbers_that_make_no_sense(tmp_path: Path) -> None:
    nan, inf = float("nan"), float("inf")
    odd = [
        query(1, 1, mbytes_scanned=nan),
        query(2, 2, mbytes_scanned=inf),
        query(3, 3, compile_duration_ms=nan),
        query(4, 4, compile_duration_ms=-5000.0, execution_duration_ms=-1),
    ]
    (scan,) = announced(open_trace(write(tmp_path / "t", odd)))
    assert (scan["seconds"], scan["speed"]) == (0, 1e6)
    path = write(tmp_path / "u", [query(1, 1), query(2, 2, mbytes_scanned=1e12)])
    with pytest.raises(TraceError, match=r"/u: a table of 122070312500000 pages$") as error:
        open_trace(path, "redset:queries=1,scale=1")
    assert error.value.hint == "Use a smaller scale."


def test_only_read(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path / "t", [query(1, 0)]))
    with pytest.raises(TraceError, match=r"traces of format redset are only read$"):
        write_trace(trace, tmp_path / "u", "redset")
    assert not (tmp_path / "u").exists()
