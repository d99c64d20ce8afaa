"""Recordings of a server, as files: what is read from them, and what is wrong with them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from tidepool.errors import TraceError
from tidepool.traces import Flag, Kind, open_trace, page_number, write_trace
from traces.helpers import rows, whole

READ, FORGET, END = 0, 5, 255


def header(magic: bytes = b"TPRECORD", version: int = 1, page_size: int = 8192) -> bytes:
    return struct.pack("<8sIIQd", magic, version, page_size, 1_000_000, 1.0)


def record(
    time: int, file: int, block: int, kind: int = READ, flags: int = 0, fork: int = 0
) -> bytes:
    """Of database 5; ``time`` in microseconds since the beginning."""
    return struct.pack(
        "<QIIIIIHBB", 1_000_000 + time * 1000, 1663, 5, file, block, 77, flags, fork, kind
    )


def names(**relations: str) -> bytes:
    text = json.dumps({f"1663/5/{name[1:]}": value for name, value in relations.items()}).encode()
    return struct.pack("<QIIIIIHBB", 0, 0, 0, 0, len(text), 0, 0, 0, END) + text


EVENTS = (
    record(5, 300, 7, flags=Flag.HIT | Flag.SEQUENTIAL)
    + record(6, 100, 2**32 - 2, kind=Kind.WRITE, fork=1)
    + record(4, 300, 8)
    + record(9, 300, 3, kind=FORGET)
)


def write(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "t.rec"
    path.write_bytes(data)
    return path


def test_what_is_read(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, header() + EVENTS + names(f300="t", f200="never seen")))
    assert trace.format == "recording"
    assert trace.length == 4
    assert trace.page_size == 8192
    assert trace.relations == {2: "t"}
    chunk = whole(trace)
    assert chunk.page.tolist() == [
        page_number(2, 7),
        page_number(1, 2**32 - 2, 1),
        page_number(2, 8),
        page_number(2, 3),
    ]
    assert chunk.kind is not None and chunk.kind.tolist() == [0, 1, 0, 5]
    assert chunk.time is not None and chunk.time.tolist() == [5, 6, 6, 9]  # never decreasing
    assert chunk.flags is not None and chunk.flags.tolist() == [0x110, 0, 0, 0]
    assert chunk.backend is not None and set(chunk.backend.tolist()) == {77}


def test_same_file_numbers_elsewhere_are_other_relations(tmp_path: Path) -> None:
    here = record(1, 300, 1)
    there = here[:12] + struct.pack("<I", 4) + here[16:]
    far = here[:8] + struct.pack("<I", 1664) + here[12:]
    trace = open_trace(write(tmp_path, header() + here + there + far + here + names(f300="t")))
    assert [page >> 34 for page in whole(trace).page.tolist()] == [2, 1, 3, 2]
    assert trace.relations == {2: "t"}


def test_conversion_keeps_everything(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, header() + EVENTS + names(f300="t", f100="u")))
    assert write_trace(trace, tmp_path / "t.parquet").lost == ()
    native = open_trace(tmp_path / "t.parquet")
    assert rows(native) == rows(trace)
    assert native.relations == {1: "u", 2: "t"}


@pytest.mark.parametrize("cut", [0, 1, 31])
def test_a_recording_cut_short_is_good_up_to_its_last_record(tmp_path: Path, cut: int) -> None:
    trace = open_trace(write(tmp_path, header() + EVENTS + EVENTS[:cut]))
    assert len(whole(trace)) == trace.length == 4
    assert trace.relations == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header()[:31], "the file ends within its header"),
        (header(version=2), "version 2 of recordings is not supported, only 1"),
        (header(page_size=0), "damaged header"),
        (header() + EVENTS + b"\x07" * 32, "byte 160: not a record"),
        (header() + record(1, 2, 3, fork=4), "byte 32: not a record"),
        (header() + EVENTS + names(f300="t")[:-1], "the file ends within the names of relations"),
        (
            header() + EVENTS + names(f300="t").replace(b":", b";"),
            "damaged names of relations",
        ),
        (header() + EVENTS + names().replace(b"{}", b"[]"), "damaged names of relations"),
    ],
)
def test_damage(tmp_path: Path, data: bytes, message: str) -> None:
    path = write(tmp_path, data)
    with pytest.raises(TraceError) as error:
        open_trace(path)
    assert str(error.value) == f"{path}: {message}"


def test_nothing_recorded(tmp_path: Path) -> None:
    path = write(tmp_path, header())
    with pytest.raises(TraceError, match="the trace is empty"):
        whole(open_trace(path))


def test_not_a_recording(tmp_path: Path) -> None:
    path = write(tmp_path, header(magic=b"TPRECORE"))
    with pytest.raises(TraceError, match="not a recording"):
        open_trace(path, "recording")
