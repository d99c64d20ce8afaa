"""CSV: which columns are what, and what is wrong with a file, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidepool.errors import TraceError
from tidepool.traces import open_trace
from traces.helpers import pages, rows


def read(tmp_path: Path, text: str | bytes, columns: dict[str, str] | None = None) -> list[Any]:
    data = text.encode() if isinstance(text, str) else text
    (tmp_path / "t.csv").write_bytes(data)
    return rows(open_trace(tmp_path / "t.csv", "csv", columns))


def test_by_name(tmp_path: Path) -> None:
    text = "when,op,lbn,size\n1.5,R,10,4096\n1.75,Write,11,512\n"
    found = read(tmp_path, text, {"page": "lbn", "kind": "op", "time": "when:s"})
    assert [(page, kind, time) for page, kind, _, time, *_ in found] == [
        (10, 0, 1_500_000),
        (11, 1, 1_750_000),
    ]


@pytest.mark.parametrize(
    "header", ["", "time;page\n", "# made by hand\ntime;page\n", "\ufefftime;page\n"]
)
def test_by_number(tmp_path: Path, header: str) -> None:
    found = read(tmp_path, header + "5;10\n6;11\n", {"page": "2", "time": "1:ms"})
    assert [(page, time) for page, _, _, time, *_ in found] == [(10, 5000), (11, 6000)]


def test_numbers_of_columns_are_not_values_of_the_first_line(tmp_path: Path) -> None:
    found = read(tmp_path, "2,7,1\n3,8,1\n", {"page": "2", "time": "1"})
    assert [(page, time) for page, _, _, time, *_ in found] == [(7, 2), (8, 3)]
    named = read(tmp_path, "2,page\n5,7\n", {"page": "page", "time": "2"})
    assert [(page, time) for page, _, _, time, *_ in named] == [(7, 5)]


def test_by_default_names(tmp_path: Path) -> None:
    text = "block,ignored,relation,fork,kind,speed\r\n3,x,2,1,scan_begin,0.5\r\n\r\n4,y,2,,,\r\n"
    found = read(tmp_path, text)
    assert [(page, kind, speed) for page, kind, *_, speed, _, _ in found] == [
        (2 << 34 | 1 << 32 | 3, 2, 0.5),
        (2 << 34 | 4, 0, 0),
    ]


def test_quoted_fields(tmp_path: Path) -> None:
    assert [row[0] for row in read(tmp_path, '"page","note"\n"1","a, ""b"""\n2,c\n')] == [1, 2]


def test_time_in_units_and_backwards(tmp_path: Path) -> None:
    for unit, times in {"s": [1e6, 3e6], "ms": [1e3, 3e3], "us": [1, 3], "ns": [0, 0]}.items():
        found = read(tmp_path, "page,t\n1,1\n2,3\n3,2\n", {"page": "page", "time": f"t:{unit}"})
        assert [row[3] for row in found] == [*times, times[1]]


def test_large_times_are_exact(tmp_path: Path) -> None:
    found = read(tmp_path, f"page,time\n1,{2**63 + 1}\n")
    assert found[0][3] == 2**63 + 1


def test_many_blocks(tmp_path: Path) -> None:
    text = "time,page\n" + "".join(f"{i},{i * 3}\n" for i in range(300_000))
    (tmp_path / "t.csv").write_text(text)
    trace = open_trace(tmp_path / "t.csv")
    assert len(list(trace.chunks())) > 1
    assert pages(trace) == list(range(0, 900_000, 3))


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a,b\n1,2\n", None, 'no column "page" or "block"'),
        ("a,b\n1,2\n", {"page": "c"}, 'no column "c"'),
        ("a,b\n1,2\n", {"page": "3"}, 'no column "3"'),
        ("a,b\n1,2\n", {"page": "a", "time": "a"}, "one column for two fields"),
        ("page,time\n", None, "the trace is empty"),
        ("page,b\n1,2\nx,4\n", None, 'row 3: not a page: "x"'),
        ("page,b\n1,2\n-3,4\n", None, 'row 3: not a page: "-3"'),
        (
            "b,page\n1,2\n3,18446744073709551616\n",
            None,
            'row 3: not a page: "18446744073709551616"',
        ),
        ("page,b\n1,2\n,4\n", None, "row 3: no page"),
        ("page,b\n1,2\n3\n", None, "row 3: 1 columns instead of 2"),
        ("page,time\n1,2\n3,4.5\n", None, 'row 3: not a time: "4.5"'),
        ("page,t\n1,2\n3,-1\n", {"page": "page", "time": "t:s"}, "row 3: the time is out of range"),
        (
            "page,t\n1,2\n3,nan\n",
            {"page": "page", "time": "t:s"},
            "row 3: the time is out of range",
        ),
        ("page,kind\n1,R\n3,pull\n", None, 'row 3: not a kind: "pull"'),
        (
            "block,relation\n1,2\n3,1073741824\n",
            None,
            "row 3: relation 1073741824 is above 1073741823",
        ),
        ("block,fork\n1,2\n3,4\n", None, "row 3: fork 4 is above 3"),
        ("page,bitmap\n1,\n3,0x0g\n", None, "row 3: the bitmap is not hexadecimal"),
        (b"page,kind\n1,R\n3,\xff\n", None, "row 3: the kind is not UTF-8"),
        ("page,b\n1," + "x" * (1 << 21) + "\n", None, "a line is longer than 1048576 bytes"),
        ("page,b\n1,\x1b[2J\nx\x1b[2J,1\n", None, r'row 3: not a page: "x\x1b[2J"'),
    ],
)
def test_wrong(
    tmp_path: Path, text: str | bytes, columns: dict[str, str] | None, message: str
) -> None:
    with pytest.raises(TraceError) as error:
        read(tmp_path, text, columns)
    assert str(error.value) == f"{tmp_path}/t.csv: {message}"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"block": "a", "colour": "b"}, 'an event has no "colour"'),
        ({"time": "a"}, "no column for the page"),
    ],
)
def test_wrong_maps(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    with pytest.raises(TraceError) as error:
        read(tmp_path, "a,b\n1,2\n", columns)
    assert str(error.value) == message


def test_columns_are_for_csv(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\n")
    with pytest.raises(TraceError, match=r"^a trace of format text has no columns to choose from$"):
        open_trace(tmp_path / "t", "text", {"page": "1"})


def test_rows_before_the_damage_are_handed_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("page\n" + "7\n" * 600_000 + "x\n")
    seen = 0
    with pytest.raises(TraceError, match=r'row 600002: not a page: "x"$'):
        for chunk in open_trace(tmp_path / "t.csv").chunks():
            seen += len(chunk)
    assert seen > 100_000


def test_reading_may_stop_early(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("page\n" + "123456\n" * 600_000)
    for _ in range(20):
        chunks = open_trace(tmp_path / "t.csv").chunks()
        assert next(chunks).page[0] == 123456
        chunks.close()  # type: ignore[attr-defined]


def test_watt_needs_its_header(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("page,write\n1,True\n")
    with pytest.raises(TraceError, match=r'/t: the first line is not "pages,is_write"$'):
        open_trace(tmp_path / "t", "watt")
