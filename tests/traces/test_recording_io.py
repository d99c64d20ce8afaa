"""Recordings of what is read and written below memory, and of what an SSD tier did."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidepool.errors import TidepoolError, TraceError
from tidepool.simulation import replay_recorded_ssd
from tidepool.traces import Flag, Kind, load, open_trace, page_number, write_trace
from tidepool.traces.provenance import (
    ReadTime,
    ReadTimes,
    RecordedSsd,
    SsdState,
    parse_recorded,
    parse_ssd_state,
)
from traces.helpers import rows, whole
from traces.test_recording import END, SERVER, TEXT, header, record, write

SSD = {
    "policy": "tac",
    "parameters": "aging=5",
    "pages": 1000,
    "capacity": 2000,
    "used": 0,
    "extents": 1024,
    "write_buffers": 256,
    "random_saving": 11920.5,
    "sequential_saving": 0,
    "useful": True,
}
STATE = {
    "pages": 1000,
    "random_saving": 1.25,
    "sequential_saving": 0.5,
    "useful": True,
    "emptied": False,
}
TIMES = {
    "ssd": {"pages": 0, "mean": 0},
    "disk_random": {"pages": 10, "mean": 812.125},
    "disk_sequential": {"pages": 64, "mean": 41},
}


def state(time: int, process: int = 77, **members: Any) -> list[bytes]:
    """The records of a state of the tier."""
    text = json.dumps(STATE | members).encode()
    first = record(time, 0, len(text), Kind.SSD, process=process)
    parts = [text[at : at + 16].ljust(16, b"\0") for at in range(0, len(text), 16)]
    rest = record(time, 0, 0, TEXT, process=process)
    return [first, *(rest[:8] + part + rest[24:] for part in parts)]


def end(**members: Any) -> bytes:
    text = json.dumps({"dropped": 0, "error": None, "relations": {}} | members).encode()
    return record(99, 0, len(text), END) + text


EVENTS = [
    record(1, 300, 7),
    record(1, 300, 7, Kind.PHYSICAL_READ, pool=16, flags=Flag.SSD_ASKED),
    record(2, 300, 7, Kind.SSD_HAS, pool=1),
    record(3, 300, 7, Kind.PHYSICAL_READ, pool=1, flags=Flag.SSD_ASKED | Flag.HIT),
    *state(4),
    record(5, 300, 7, Kind.PHYSICAL_WRITE, pool=1),
    record(6, 300, 7, Kind.SSD_LOST, pool=1),
    record(7, 300, 0, Kind.SSD_LOST),
    record(7, 0, 99, Kind.SSD_FREED),
    record(8, 400, 1 << 30, Kind.SSD_RELATION),
    record(8, 400, 3, Kind.PHYSICAL_READ, pool=128, fork=1),
    record(9, 0, 2**31, Kind.SSD_BUSY),
    record(9, 0, 0, Kind.REPORTED),
]
DATA = header(version=7, physical=True, ssd=SSD) + b"".join(EVENTS) + end(read_times=TIMES)


def test_physical_reads_and_writes(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, DATA))
    chunk = whole(trace)
    assert trace.length == len(chunk) == 13
    assert chunk.kind is not None and chunk.count is not None and chunk.flags is not None
    assert chunk.kind.tolist() == [
        *(Kind.READ, Kind.PHYSICAL_READ, Kind.SSD_HAS, Kind.PHYSICAL_READ, Kind.SSD),
        *(Kind.PHYSICAL_WRITE, Kind.SSD_LOST, Kind.SSD_LOST, Kind.SSD_FREED),
        *(Kind.SSD_RELATION, Kind.PHYSICAL_READ, Kind.SSD_BUSY, Kind.REPORTED),
    ]
    assert chunk.count.tolist() == [0, 16, 0, 1, 0, 1, 1, 0, 99, 1 << 30, 128, 2**31, 0]
    assert chunk.flags.tolist() == [0, 0x200, 0, 0x300, *[0] * 9]
    assert chunk.page.tolist() == [
        *[page_number(1, 7)] * 4,
        *(0, page_number(1, 7), page_number(1, 7), page_number(1, 0)),
        *(0, page_number(2, 0), page_number(2, 3, 1), 0, 0),
    ]
    assert chunk.pool is None  # what is in its place is the number of blocks
    assert parse_ssd_state(chunk.bitmaps[4]) == SsdState(1000, 1.25, 0.5, True, False)


def test_the_server(tmp_path: Path) -> None:
    recorded = open_trace(write(tmp_path, DATA)).recorded
    assert recorded is not None and recorded.physical
    assert recorded.ssd == RecordedSsd(**SSD)  # type: ignore[arg-type]
    assert recorded.ssd is not None and recorded.ssd.spec == "tac:aging=5"
    assert recorded.read_times == ReadTimes(ReadTime(0, 0), ReadTime(10, 812.125), ReadTime(64, 41))
    assert list(recorded.flaws()) == []


def test_a_tier_that_had_pages_is_a_flaw(tmp_path: Path) -> None:
    data = header(version=5, physical=True, ssd=SSD | {"used": 1234}) + record(1, 300, 7) + end()
    recorded = open_trace(write(tmp_path, data)).recorded
    assert recorded is not None
    assert list(recorded.flaws()) == [
        "the SSD tier had 1,234 pages when the recording began, a replay none"
    ]


def test_conversion_keeps_everything(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, DATA))
    assert write_trace(trace, tmp_path / "t.parquet").lost == ()
    native = open_trace(tmp_path / "t.parquet")
    assert rows(native) == rows(trace)
    assert native.recorded == trace.recorded
    assert parse_recorded(trace.recorded.to_json()) == trace.recorded  # type: ignore[union-attr]
    write_trace(trace, tmp_path / "t.csv")
    assert rows(open_trace(tmp_path / "t.csv")) == rows(trace)


# byte by byte, as docs/trace-format.md says
GOLDEN = (
    bytes.fromhex(
        # TPRECORD, version 5, 343 bytes of text, time 1,000,000, pages of 8192
        "54505245434f5244 05000000 57010000 40420f0000000000 00200000 00000000"
    )
    + (
        b'{"server_version":"18.6","algorithm":"clock","parameters":"","seed":1,"buffers":128,'
        b'"pools":[],"batch_size":64,"batch_threshold":32,"physical":true,"ssd":{"policy":"lru",'
        b'"parameters":"","pages":16,"capacity":16,"used":0,"extents":1024,"write_buffers":256,'
        b'"random_saving":12309.799999999999,"sequential_saving":0,"useful":true},"sample_rate":1}'
    )
    + bytes(9)
    + bytes.fromhex(
        # physical read of 3 blocks from 1663/5/300, block 7 on, process 77; the tier was asked
        "c0c62d0000000000 7f060000 05000000 2c010000 07000000 4d000003 0002 00 0d"
        # block 8 is on the SSD
        "c0c62d0000000000 7f060000 05000000 2c010000 08000000 4e000001 0000 00 0f"
        # it is read, from the SSD
        "c0c62d0000000000 7f060000 05000000 2c010000 08000000 4d000001 0003 00 0d"
        # it is written
        "c0c62d0000000000 7f060000 05000000 2c010000 08000000 4d000001 0000 00 0e"
        # it has lost its place, as have all blocks of 1663/5/301
        "c0c62d0000000000 7f060000 05000000 2c010000 08000000 4d000001 0000 00 10"
        "c0c62d0000000000 7f060000 05000000 2d010000 00000000 4d000000 0000 00 10"
        # a state of the tier, 84 bytes of text, in six records
        "c0c62d0000000000 00000000 00000000 00000000 54000000 4e000000 0000 00 11"
    )
)


def test_the_format(tmp_path: Path) -> None:
    text = b'{"pages":16,"random_saving":2.5,"sequential_saving":0,"useful":true,"emptied":false}'
    assert len(text) == 84
    parts = [text[at : at + 16].ljust(16, b"\0") for at in range(0, 84, 16)]
    around = bytes.fromhex("c0c62d0000000000"), bytes.fromhex("4e000000 0000 00 fe")
    tail = bytes.fromhex(
        # the end, 165 bytes of text
        "0000000000000000 00000000 00000000 00000000 a5000000 00000000 0000 00 ff"
    ) + (
        b'{"dropped":0,"read_times":{"ssd":{"pages":1,"mean":84.200},'
        b'"disk_random":{"pages":0,"mean":0},"disk_sequential":{"pages":3,"mean":47.9}},'
        b'"error":null,"relations":{}}'
    )
    data = GOLDEN + b"".join(part.join(around) for part in parts) + tail
    trace = open_trace(write(tmp_path, data))
    chunk = whole(trace)
    assert chunk.kind is not None and chunk.count is not None and chunk.flags is not None
    assert chunk.kind.tolist() == [13, 15, 13, 14, 16, 16, 17]
    assert chunk.count.tolist() == [3, 0, 1, 1, 1, 0, 0]
    assert chunk.flags.tolist() == [0x200, 0, 0x300, 0, 0, 0, 0]
    assert chunk.page.tolist()[:2] == [page_number(1, 7), page_number(1, 8)]
    assert parse_ssd_state(chunk.bitmaps[6]) == SsdState(16, 2.5, 0, True, False)
    assert trace.recorded is not None and trace.recorded.ssd is not None
    assert trace.recorded.ssd.random_saving == 12309.799999999999
    assert trace.recorded.read_times is not None
    assert trace.recorded.read_times.disk_sequential == ReadTime(3, 47.9)


# ---- damage ----


@pytest.mark.parametrize(
    "ssd",
    [
        "tac",
        [],
        SSD | {"policy": 5},
        SSD | {"pages": -1},
        SSD | {"pages": 2001},
        SSD | {"capacity": 2**32},
        SSD | {"pages": 0, "capacity": 0},
        SSD | {"extents": 1000},
        SSD | {"extents": 4},
        SSD | {"random_saving": -1},
        SSD | {"purse": float("inf")},
        SSD | {"day_writes": -1},
        SSD | {"purse_time": -1},
        SSD | {"purse_time": 2**64},
        SSD | {"random_saving": "1"},
        SSD | {"useful": 1},
        SSD | {"used": True},
        {key: value for key, value in SSD.items() if key != "extents"},
    ],
)
def test_damaged_tier(tmp_path: Path, ssd: Any) -> None:
    path = write(tmp_path, header(version=5, ssd=ssd) + record(1, 300, 7) + end())
    with pytest.raises(TraceError, match="damaged header"):
        open_trace(path)


@pytest.mark.parametrize(
    "text", ["Infinity", "NaN", "-Infinity", "1e999"], ids=["inf", "nan", "-inf", "1e999"]
)
def test_savings_are_numbers(text: str) -> None:
    zero, other = '"random_saving": 0', f'"random_saving": {text}'
    given = json.dumps(STATE | {"random_saving": 0}).replace(zero, other)
    with pytest.raises(ValueError):
        parse_ssd_state(given.encode())
    server = json.dumps(SERVER | {"ssd": SSD | {"random_saving": 0}})
    with pytest.raises(ValueError):
        parse_recorded(server.replace(zero, other))


@pytest.mark.parametrize(
    "times",
    [
        5,
        {},
        TIMES | {"ssd": None},
        TIMES | {"ssd": {"pages": -1, "mean": 0}},
        TIMES | {"ssd": {"pages": 1, "mean": -0.5}},
        TIMES | {"ssd": {"pages": 1.5, "mean": 1}},
        TIMES | {"disk_random": {"pages": 1}},
    ],
)
def test_damaged_read_times(tmp_path: Path, times: Any) -> None:
    path = write(tmp_path, header(version=5) + record(1, 300, 7) + end(read_times=times))
    with pytest.raises(TraceError, match="damaged end of the recording"):
        open_trace(path)


@pytest.mark.parametrize(
    "members", [{"pages": -1}, {"pages": 2**32}, {"emptied": 0}, {"pages": 1.5}]
)
def test_damaged_state(members: Any) -> None:
    with pytest.raises(ValueError):
        parse_ssd_state(json.dumps(STATE | members).encode())


def test_a_state_that_lacks_a_record_is_left_out(tmp_path: Path) -> None:
    data = header(version=5) + record(1, 300, 7) + b"".join(state(2)[:-1]) + end()
    chunk = whole(load(open_trace(write(tmp_path, data))))
    assert len(chunk) == 1


def test_cut_short_anywhere(tmp_path: Path) -> None:
    """Whatever is missing at the end, what is there is read."""
    begin = len(header(version=5, physical=True, ssd=SSD)) + 32
    for size in range(begin, len(DATA), 8):
        trace = open_trace(write(tmp_path, DATA[:size]))
        assert len(rows(trace)) == trace.length


@given(at=st.integers(0, len(DATA) - 1), byte=st.integers(0, 255))
@settings(deadline=None, max_examples=300)
def test_any_damage_is_a_clear_error(at: int, byte: int) -> None:
    """A byte that is another: a TraceError, or other events; never anything else."""
    data = DATA[:at] + bytes([byte]) + DATA[at + 1 :]
    with tempfile.TemporaryDirectory() as directory:
        path = write(Path(directory), data)
        with contextlib.suppress(TidepoolError):
            trace = open_trace(path)
            rows(trace)
            replay_recorded_ssd(trace)
