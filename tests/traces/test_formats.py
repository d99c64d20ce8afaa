"""Other people's formats, byte by byte, and how they are told apart."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from tidepool.errors import TraceError
from tidepool.traces import InMemoryTrace, open_trace, write_trace
from traces.helpers import pages, plain, rows


def vscsi1(command: int, block: int, time: int, size: int = 4096) -> bytes:
    return struct.pack("<IIIHHQQ", 1, size, 1, command, 0x0100, block, time)


def vscsi2(command: int, block: int, time: int, size: int = 4096) -> bytes:
    return struct.pack("<HHIIIQQQ", command, 0x0200, 1, size, 1, block, time, 77)


def oracle(time: int, page: int, following: int) -> bytes:
    return struct.pack("<IQIq", time, page, 4096, following)


def make(tmp_path: Path, name: str, data: bytes) -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


# ---- contents ----


def test_text(tmp_path: Path) -> None:
    data = b"# a comment\n\n12\n  13 \t# another\r\n18446744073709551615"
    assert pages(open_trace(make(tmp_path, "t", data))) == [12, 13, 2**64 - 1]


def test_breakpoints_of_lirs_traces(tmp_path: Path) -> None:
    path = make(tmp_path, "t.trc", b"0\n1\n*\n2\n*\n")
    assert open_trace(path).format == "lirs"
    assert pages(open_trace(path)) == [0, 1, 2]
    assert pages(open_trace(make(tmp_path, "u", b"*\n5\n"))) == [5]


def test_arc(tmp_path: Path) -> None:
    path = make(tmp_path, "t", b"110765 3 0 0\n7 1 0 1\n9 0 0 2\n\n1 2 0 3")
    assert open_trace(path).format == "arc"
    assert pages(open_trace(path)) == [110765, 110766, 110767, 7, 1, 2]


def test_arc_runs_longer_than_a_chunk(tmp_path: Path) -> None:
    path = make(tmp_path, "t.lis", b"5 3000000 0 0\n")
    chunks = list(open_trace(path).chunks())
    assert [len(chunk) for chunk in chunks] == [1 << 20, 1 << 20, 3_000_000 - (1 << 21)]
    assert np.array_equal(np.concatenate([c.page for c in chunks]), np.arange(5, 3_000_005))


@pytest.mark.parametrize("record", [vscsi1, vscsi2])
def test_vscsi(tmp_path: Path, record) -> None:  # type: ignore[no-untyped-def]
    data = (
        record(0x28, 48, 1000)
        + record(0x2A, 16, 1001, 8192)
        + record(0x00, 99, 1002)  # TEST UNIT READY
        + record(0x8A, 2**40, 900)  # earlier than the one before
    )
    trace = open_trace(make(tmp_path, "t", data))
    assert trace.format == "vscsi"
    assert [(page, kind, time) for page, kind, _, time, *_ in rows(trace)] == [
        (48, 0, 1000),
        (16, 1, 1001),
        (2**40, 1, 1002),
    ]


def test_vscsi_in_pages(tmp_path: Path) -> None:
    data = (
        vscsi1(0x28, 16, 1, 8192)  # page 1
        + vscsi1(0x28, 15, 2, 1024)  # the end of page 0, the beginning of 1
        + vscsi1(0x28, 0, 3, 0)  # nothing
        + vscsi1(0x2A, 33, 4, 3 * 8192)  # within 2, 3, 4, within 5
        + vscsi1(0x28, 2**64 - 1, 5, 512)
    )
    trace = open_trace(make(tmp_path, "t", data), "vscsi-8k")
    assert pages(trace) == [1, 0, 1, 2, 3, 4, 5, 2**60 - 1]
    assert [kind for _, kind, *_ in rows(trace)] == [0, 0, 0, 1, 1, 1, 1, 0]


def test_a_vscsi_serial_that_looks_like_version_2(tmp_path: Path) -> None:
    data = struct.pack("<IIIHHQQ", 0x02000000, 512, 1, 0x28, 0x0100, 5, 9)
    assert pages(open_trace(make(tmp_path, "t", data + data))) == [5, 5]


def test_oracle_general(tmp_path: Path) -> None:
    data = oracle(3, 7, 3) + oracle(3, 2**63, -1) + oracle(4, 7, -1)
    trace = open_trace(make(tmp_path, "t", data))
    assert trace.format == "oracleGeneral"
    assert trace.length == 3
    assert [(page, time) for page, _, _, time, *_ in rows(trace)] == [
        (7, 3_000_000),
        (2**63, 3_000_000),
        (7, 4_000_000),
    ]


def test_watt(tmp_path: Path) -> None:
    path = make(tmp_path, "t.csv", b"pages,is_write\n5,False\n6,True\n")
    trace = open_trace(path)
    assert trace.format == "watt"
    assert [(page, kind) for page, kind, *_ in rows(trace)] == [(5, 0), (6, 1)]


# ---- what is written, byte by byte ----

SMALL = InMemoryTrace.from_arrays(
    "small", [5, 6, 7, 5, 9], kind=[0, 1, 0, 1, 0], time=[0, 10, 2_000_000, 2_000_001, 9_000_000]
)


@pytest.mark.parametrize(
    ("name", "format", "data"),
    [
        ("t.txt", None, b"5\n6\n7\n5\n9\n"),
        ("t.trc", None, b"5\n6\n7\n5\n9\n"),
        ("t.lis", None, b"5 3 0 0\n5 1 0 1\n9 1 0 2\n"),
        ("t", "watt", b"pages,is_write\n5,False\n6,True\n7,False\n5,True\n9,False\n"),
        (
            "t.oracleGeneral",
            None,
            b"".join(
                struct.pack("<IQIq", *record)
                for record in [
                    (0, 5, 8192, 4),
                    (0, 6, 8192, -1),
                    (2, 7, 8192, -1),
                    (2, 5, 8192, -1),
                    (9, 9, 8192, -1),
                ]
            ),
        ),
        (
            "t.vscsi",
            None,
            b"".join(
                struct.pack("<IIIHHQQ", serial, 8192, 1, command, 256, page, time)
                for serial, (command, page, time) in enumerate(
                    [
                        (0x28, 5, 0),
                        (0x2A, 6, 10),
                        (0x28, 7, 2_000_000),
                        (0x2A, 5, 2_000_001),
                        (0x28, 9, 9_000_000),
                    ]
                )
            ),
        ),
    ],
)
def test_written(tmp_path: Path, name: str, format: str | None, data: bytes) -> None:
    write_trace(SMALL, tmp_path / name, format)
    assert (tmp_path / name).read_bytes() == data


def test_csv_written(tmp_path: Path) -> None:
    trace = InMemoryTrace.from_arrays(
        "t",
        [2 << 34 | 3, 2 << 34],
        kind=[1, 2],
        size=[0, 7],
        low=[0, 2],
        speed=[0, 0.5],
        time=[4, 5],
        bitmaps={1: b"\x0f"},
    )
    write_trace(trace, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        "relation,fork,block,kind,time,flags,backend,scan,count,size,low,speed,pool,bitmap\n"
        "2,0,3,write,4,0,0,0,0,0,0,0,0,\n"
        "2,0,0,scan_begin,5,0,0,0,0,7,2,0.5,0,0x0f\n"
    )


def test_next_accesses_across_chunks(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    numbers = rng.integers(0, 3000, 5000).astype(np.uint64)

    class Chunked(InMemoryTrace):
        def chunks(self):  # type: ignore[no-untyped-def]
            from tidepool.traces.columns import resize

            return resize(super().chunks(), 700)

    write_trace(Chunked.from_arrays("t", numbers), tmp_path / "t.oracleGeneral")
    records = np.fromfile(tmp_path / "t.oracleGeneral", np.dtype("<u4,<u8,<u4,<i8"))
    latest: dict[int, int] = {}
    expected = [-1] * len(numbers)
    for i, page in enumerate(numbers.tolist()):
        if page in latest:
            expected[latest[page]] = i + 1
        latest[page] = i
    assert records["f3"].tolist() == expected
    assert records["f1"].tolist() == numbers.tolist()


def test_libcachesim_reads_the_same(tmp_path: Path) -> None:
    lib = pytest.importorskip("libcachesim")
    trace = plain(200)
    for name, kind in (("t.oracleGeneral", "ORACLE_GENERAL_TRACE"), ("t.vscsi", "VSCSI_TRACE")):
        write_trace(trace, tmp_path / name)
        reader = lib.TraceReader(str(tmp_path / name), getattr(lib.TraceType, kind))
        assert reader.get_num_of_req() == 200
        found = []
        for _ in range(200):
            request = reader.read_one_req()
            found.append(request.obj_id)
        assert found == pages(trace)


# ---- telling formats apart ----


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("t", b"1\n2\n", "text"),
        ("t.lis", b"1\n2\n", "text"),  # the contents count, not the name
        ("t.parquet", b"1\n2\n", "text"),
        ("t.trc", b"1\n2\n", "lirs"),  # unless they do not tell
        ("cs.trace.gz", gzip.compress(b"1\n2\n", mtime=0), "lirs"),
        ("t.txt", b"# nothing but comments for a while\n" * 100 + b"1\n", "text"),
        ("t.txt", b"1 0 0 0\n", "arc"),
        ("t.txt", b"page,time\n1,2\n", "csv"),
        ("t.csv", b"page\n1\n", "csv"),
        ("t.csv", b"block;relation\n1;2\n", "csv"),
        ("t.csv.gz", gzip.compress(b"pages,is_write\r\n1,True\r\n", mtime=0), "watt"),
        ("t.txt", vscsi1(0x28, 1, 1), "vscsi"),
        ("t", vscsi2(0x28, 1, 1) * 3, "vscsi"),
        ("t", oracle(0, 1, -1), "oracleGeneral"),
        ("t", oracle(0, 1, 2**63 - 1) + oracle(0, 2, 9), "oracleGeneral"),
        (
            "w.oracleGeneral.bin",
            oracle(9, 1, -5) + oracle(0, 2, 0),
            "oracleGeneral",
        ),  # by name only
    ],
)
def test_told_apart(tmp_path: Path, name: str, data: bytes, format: str) -> None:
    assert open_trace(make(tmp_path, name, data)).format == format


@pytest.mark.parametrize(
    "data", [b"hello\n", b"\x00\x01\x02", "1\n2\n".encode("utf-16"), b"1 2\n", b"\x7fELF" * 99]
)
def test_not_told(tmp_path: Path, data: bytes) -> None:
    path = make(tmp_path, "t", data)
    with pytest.raises(TraceError, match=r"/t: cannot tell the format of the trace$") as error:
        open_trace(path)
    assert "oracleGeneral" in str(error.value.hint)
