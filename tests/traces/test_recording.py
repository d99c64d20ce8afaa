"""Recordings of a server, as files: what is read from them, and what is wrong with them."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidepool.errors import TraceError
from tidepool.traces import (
    Flag,
    InMemoryTrace,
    Kind,
    Recorded,
    RecordedPool,
    load,
    open_trace,
    page_number,
    parse_recorded_pool,
    write_trace,
)
from traces.helpers import rows, whole

READ, FORGET, WRITTEN, POOL, MOVED, READS_FOR, TEXT, END = 0, 5, 9, 10, 11, 253, 254, 255
FOR_SCAN = 0x2000

SERVER = {
    "server_version": "18.6",
    "algorithm": "arc",
    "parameters": "",
    "seed": 1,
    "buffers": 1000,
    "batch_size": 64,
    "batch_threshold": 32,
    "sample_rate": 1,
}


def header(
    magic: bytes = b"TPRECORD", version: int = 2, page_size: int = 8192, **server: Any
) -> bytes:
    """The beginning of a file; ``server`` differs from SERVER."""
    text = json.dumps(SERVER | server).encode()
    fixed = struct.pack("<8sIIQII", magic, version, len(text), 1_000_000, page_size, 0)
    return fixed + text + bytes(-len(text) % 32)


def record(
    time: int,
    file: int,
    block: int,
    kind: int = READ,
    flags: int = 0,
    fork: int = 0,
    process: int = 77,
    pool: int = 0,
) -> bytes:
    """Of database 5; ``time`` in microseconds since the beginning, at 1,000."""
    by = process | pool << 24
    return struct.pack(
        "<QIIIIIHBB", 1_000_000 + time * 1000, 1663, 5, file, block, by, flags, fork, kind
    )


def definition(time: int, pool: int, process: int = 77, **members: Any) -> list[bytes]:
    """The records of a pool's definition; without members, of its end."""
    given = {"number": pool, "name": "", "algorithm": "", "parameters": "", "buffers": 0}
    text = json.dumps(given | members).encode()
    first = record(time, 0, len(text), POOL, process=process, pool=pool)
    parts = [text[at : at + 16].ljust(16, b"\0") for at in range(0, len(text), 16)]
    rest = record(time, 0, 0, TEXT, process=process, pool=pool)
    return [first, *(rest[:8] + part + rest[24:] for part in parts)]


def end(
    dropped: int = 0,
    error: str | None = None,
    measured: dict[str, Any] | None = None,
    **relations: str,
) -> bytes:
    """The end of a file; ``measured`` are members that it need not have."""
    names = {f"1663/5/{name[1:]}": value for name, value in relations.items()}
    known = {"dropped": dropped, "error": error, **(measured or {}), "relations": names}
    text = json.dumps(known).encode()
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


def test_how_long_reads_took(tmp_path: Path) -> None:
    for measured, expected in (({"reads": 7, "read_time": 900}, (7, 900)), ({}, (None, None))):
        trace = open_trace(write(tmp_path, header() + EVENTS + end(measured=measured)))
        write_trace(trace, tmp_path / "t.parquet")
        for each in (trace, open_trace(tmp_path / "t.parquet")):
            assert each.recorded is not None
            assert (each.recorded.reads, each.recorded.read_time) == expected


def test_what_is_read(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, header() + EVENTS + end(f300="t", f200="never seen")))
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
    assert chunk.time is not None and chunk.time.tolist() == [
        1005,
        1006,
        1006,
        1009,
    ]  # never decreasing
    assert chunk.flags is not None and chunk.flags.tolist() == [0x110, 0, 0, 0]
    assert chunk.backend is not None and set(chunk.backend.tolist()) == {77}


@pytest.mark.parametrize(("scans", "found"), [({}, 0), ({"scans": 512}, 512)])
def test_places_for_scans(tmp_path: Path, scans: dict[str, int], found: int) -> None:
    """Older servers say nothing of them."""
    trace = open_trace(write(tmp_path, header(**scans) + EVENTS + end()))
    assert trace.recorded is not None and trace.recorded.scans == found


def test_same_file_numbers_elsewhere_are_other_relations(tmp_path: Path) -> None:
    here = record(1, 300, 1)
    there = here[:12] + struct.pack("<I", 4) + here[16:]
    far = here[:8] + struct.pack("<I", 1664) + here[12:]
    trace = open_trace(write(tmp_path, header() + here + there + far + here + end(f300="t")))
    assert [page >> 34 for page in whole(trace).page.tolist()] == [2, 1, 3, 2]
    assert trace.relations == {2: "t"}


def test_conversion_keeps_everything(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, header() + EVENTS + end(f300="t", f100="u")))
    assert write_trace(trace, tmp_path / "t.parquet").lost == ()
    native = open_trace(tmp_path / "t.parquet")
    assert rows(native) == rows(trace)
    assert native.relations == {1: "u", 2: "t"}


# byte by byte, as docs/trace-format.md says
GOLDEN = bytes.fromhex(
    # TPRECORD, version 2, 154 bytes of text, time 1,000,000, pages of 8192
    "54505245434f5244 02000000 9a000000 40420f0000000000 00200000 00000000"
) + (
    b'{"server_version":"18.6","algorithm":"lru_k","parameters":"k=3","seed":1,'
    b'"buffers":128,"batch_size":64,"batch_threshold":32,"sample_rate":1,"some":"more"}'
    + bytes(6)
    + bytes.fromhex(
        # 2 ms later, 1663/5/300, block 7, process 77, HIT, main, read
        "c0c62d0000000000 7f060000 05000000 2c010000 07000000 4d000000 0001 00 00"
        # the end, 64 bytes of text
        "0000000000000000 00000000 00000000 00000000 40000000 00000000 0000 00 ff"
    )
    + b'{"dropped":3,"error":null,"relations":{"1663/5/300":"public.t"}}'
)


def test_the_format(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, GOLDEN))
    assert rows(trace) == [
        (page_number(1, 7), 0, 0x100, 3000, 77, 0, 0, 0, 0, 0, 0, None),
    ]
    assert trace.page_size == 8192
    assert trace.relations == {1: "public.t"}
    assert trace.recorded == Recorded("18.6", "lru_k", "k=3", 1, 128, 64, 32, 1, dropped=3)


# ---- pools ----

DEFAULT = {"number": 0, "name": "DEFAULT", "algorithm": "lru", "parameters": "", "buffers": 900}
HOT = {"number": 2, "name": "hot", "algorithm": "arc", "parameters": "", "buffers": 100}


def test_pools(tmp_path: Path) -> None:
    events = [
        record(1, 300, 1, pool=2),
        *definition(2, 1, name="log", algorithm="lru_k", parameters="k=3", buffers=20),
        record(3, 0, 1, MOVED, pool=2),
        record(4, 300, 1, WRITTEN, flags=Flag.BY_CHECKPOINTER),
        *definition(5, 1),
    ]
    data = header(version=3, pools=[HOT, DEFAULT]) + b"".join(events) + end(f300="t")
    trace = open_trace(write(tmp_path, data))
    chunk = whole(trace)
    assert trace.length == len(chunk) == 5
    assert trace.recorded is not None
    assert trace.recorded.pools == (RecordedPool(**DEFAULT), RecordedPool(**HOT))
    assert chunk.kind is not None and chunk.pool is not None and chunk.count is not None
    assert chunk.kind.tolist() == [Kind.READ, Kind.POOL, Kind.MOVED, Kind.WRITTEN, Kind.POOL]
    assert chunk.page.tolist() == [page_number(1, 1), 0, 0, page_number(1, 1), 0]
    assert chunk.pool.tolist() == [2, 1, 2, 0, 1]
    assert chunk.count.tolist() == [0, 0, 1, 0, 0]
    assert trace.relations == {1: "t"}
    first, last = (parse_recorded_pool(chunk.bitmaps[row]) for row in (1, 4))
    assert first == RecordedPool(1, "log", "lru_k", "k=3", 20)
    assert last is None
    write_trace(trace, tmp_path / "t.parquet")
    native = open_trace(tmp_path / "t.parquet")
    assert rows(native) == rows(trace)
    assert native.recorded == trace.recorded


def test_definitions_that_others_part(tmp_path: Path) -> None:
    """Records of processes are in order, those of others come between; some may be missing."""
    one = definition(2, 1, process=5, name="one", algorithm="arc", buffers=20)
    two = definition(2, 2, process=6, name="two", algorithm="lru", buffers=20)
    late = definition(3, 3, process=6, name="late", algorithm="lru", buffers=20)
    events = [record(1, 300, 1)]
    for pair in zip(one, two, strict=True):
        events += pair
    events += [*late[:2], *late[3:], record(4, 300, 2), *definition(5, 1, process=6)]
    trace = open_trace(write(tmp_path, header(version=3) + b"".join(events) + end()))
    found = [parse_recorded_pool(text) for text in whole(trace).bitmaps.values()]
    assert [pool and pool.name for pool in found] == ["one", "two", None]


def test_without_named_pools(tmp_path: Path) -> None:
    data = header(version=7, pools=[DEFAULT]) + EVENTS + record(5, 0, 0, Kind.REPORTED) + end()
    trace = open_trace(write(tmp_path, data))
    assert trace.recorded is not None and trace.recorded.pools == ()
    before = trace.recorded
    assert whole(trace).time is not None
    assert trace.recorded == before  # to read it changes nothing


# ---- scans ----


def begin(
    time: int, scan: int, file: int, first: int, count: int, size: int, flags: int = 0, **more: Any
) -> list[bytes]:
    """The records of a scan that begins; ``bitmap``: its bytes."""
    bitmap = more.pop("bitmap", b"")
    text = struct.pack("<QII", scan, len(bitmap) or count, size) + bitmap
    event = record(time, file, first, Kind.SCAN_BEGIN, flags | Flag.STEPS, **more)
    rest = record(time, 0, 0, TEXT, **more)
    parts = [text[at : at + 16].ljust(16, b"\0") for at in range(0, len(text), 16)]
    return [event, *(rest[:8] + part + rest[24:] for part in parts)]


def of_scan(
    time: int, kind: int, scan: int, block: int = 0, tuple_: int = 0, by: int = 77
) -> bytes:
    event = record(time, tuple_, block, kind, process=by)
    return event[:8] + struct.pack("<Q", scan) + event[16:]


def test_scans(tmp_path: Path) -> None:
    """Two scans of a table by two processes: each reference is for the one named last."""
    one, two = 7 << 32 | 3, 1 << 63 | 4
    of = [
        *begin(1, one, 300, 128, 1000, 2000, Flag.SEQUENTIAL | Flag.MET),
        *begin(1, two, 300, 999, 500, 0, Flag.INDEX | Flag.BACKWARD, process=5),
        of_scan(2, READS_FOR, one),
        of_scan(2, READS_FOR, two, by=5),
        record(2, 300, 128, flags=FOR_SCAN | Flag.HIT),
        record(2, 300, 999, flags=FOR_SCAN, process=5),
        record(2, 100, 1),
        record(3, 300, 129, flags=FOR_SCAN),
        of_scan(4, Kind.SCAN_ADVANCE, one, 136),
        of_scan(5, Kind.SCAN_END, one),
        of_scan(6, Kind.SCAN_END, 0, by=5),
    ]
    trace = open_trace(write(tmp_path, header(version=4) + b"".join(of) + end(f300="t")))
    assert trace.length == 9
    assert trace.relations == {2: "t"}
    forward, backward = Flag.SEQUENTIAL | Flag.MET | Flag.STEPS, Flag.INDEX | Flag.BACKWARD
    at = partial(page_number, 2)
    begins, advances, ends = Kind.SCAN_BEGIN, Kind.SCAN_ADVANCE, Kind.SCAN_END
    assert rows(trace) == [
        (at(128), begins, forward, 1001, 77, one, 1000, 2000, 0, 0, 0, None),
        (at(999), begins, backward | Flag.STEPS, 1001, 5, two, 500, 0, 0, 0, 0, None),
        (at(128), 0, Flag.HIT, 1002, 77, one, 0, 0, 0, 0, 0, None),
        (at(999), 0, 0, 1002, 5, two, 0, 0, 0, 0, 0, None),
        (page_number(1, 1), 0, 0, 1002, 77, 0, 0, 0, 0, 0, 0, None),
        (at(129), 0, 0, 1003, 77, one, 0, 0, 0, 0, 0, None),
        (at(136), advances, 0, 1004, 77, one, 0, 0, 0, 0, 0, None),
        (0, ends, 0, 1005, 77, one, 0, 0, 0, 0, 0, None),
        (0, ends, 0, 1006, 5, 0, 0, 0, 0, 0, 0, None),
    ]
    write_trace(trace, tmp_path / "t.parquet")
    assert rows(open_trace(tmp_path / "t.parquet")) == rows(trace)


def test_a_scan_named_in_an_earlier_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidepool.traces.formats.recording.CHUNK_ROWS", 4)
    of = [*begin(1, 9, 300, 0, 1000, 1000), of_scan(1, READS_FOR, 9)]
    of += [record(2, 300, block, flags=FOR_SCAN) for block in range(10)]
    of += [of_scan(3, Kind.SCAN_ADVANCE, 9, 500)]
    trace = open_trace(write(tmp_path, header(version=4) + b"".join(of) + end()))
    assert [row[5] for row in rows(trace)] == [9] * 12
    assert rows(trace)[-1][0] == page_number(1, 500)


def test_trails(tmp_path: Path) -> None:
    """An index scan without blocks names the index, and advances to tuples."""
    of = [*begin(1, 9, 300, 0, 0, 12345, Flag.INDEX), of_scan(2, Kind.SCAN_ADVANCE, 9, 70, 3)]
    begun, mark = rows(open_trace(write(tmp_path, header(version=4) + b"".join(of) + end())))
    assert begun[6:8] == (0, 12345)
    assert mark[0] == page_number(1, 70)
    assert mark[6] == 3


@pytest.mark.parametrize(
    ("size", "bits", "groups", "count"),
    [
        (1000, b"\x81", [0, 7], 128 + 1000 - 7 * 128),
        (1024, b"\x81", [0, 7], 256),
        (4096 * 128, b"\x01" + bytes(511), [0], 128),
        # twice as large: a bit is two groups
        (8192 * 128 - 1, b"\x02" + bytes(510) + b"\x80", [2, 3, 8190, 8191], 4 * 128 - 1),
    ],
)
def test_bitmaps(tmp_path: Path, size: int, bits: bytes, groups: list[int], count: int) -> None:
    of = begin(1, 9, 300, 0, 0, size, Flag.BITMAP, bitmap=bits)
    ((*_, scan, found, _, _, _, _, bitmap),) = rows(
        open_trace(write(tmp_path, header(version=4) + b"".join(of) + end()))
    )
    assert (scan, found) == (9, count)
    assert bitmap is not None
    set_ = np.flatnonzero(np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little"))
    assert set_.tolist() == groups


def test_a_scan_that_lacks_a_record_is_left_out(tmp_path: Path) -> None:
    of = begin(1, 9, 300, 0, 0, 1000, Flag.BITMAP, bitmap=bytes(20))
    of = [*of[:-1], record(2, 300, 1), *begin(3, 10, 300, 0, 500, 1000)]
    trace = open_trace(write(tmp_path, header(version=4) + b"".join(of) + end()))
    assert [row[1] for row in rows(trace)] == [Kind.READ, Kind.SCAN_BEGIN]


@pytest.mark.parametrize("cut", range(1, 160, 7))
def test_a_recording_cut_short_is_good_up_to_its_last_record(tmp_path: Path, cut: int) -> None:
    data = header() + EVENTS + end(f300="t")
    trace = open_trace(write(tmp_path, data[: len(data) - cut]))
    assert trace.recorded is not None
    assert trace.recorded.dropped is None
    assert list(trace.recorded.flaws()) == ["the recording was cut short"]
    assert trace.relations == {}
    whole_records = 4 - max(0, cut - len(end(f300="t")) + 31) // 32
    assert len(whole(trace)) == trace.length == whole_records


@pytest.mark.parametrize(
    ("server", "ending", "flaws"),
    [
        ({}, {}, []),
        (
            {},
            {"dropped": 1234},
            ["1,234 events are missing from the recording: raise bufferpool.trace_buffers"],
        ),
        (
            {"sample_rate": 0.25},
            {"dropped": 1, "error": "the recorder was terminated"},
            [
                "a sample of 25% of the pages",
                "1 event is missing from the recording: raise bufferpool.trace_buffers",
                "the recording ended early: the recorder was terminated",
            ],
        ),
    ],
)
def test_what_a_recording_lacks(
    tmp_path: Path, server: dict[str, Any], ending: dict[str, Any], flaws: list[str]
) -> None:
    trace = open_trace(write(tmp_path, header(**server) + EVENTS + end(**ending)))
    assert trace.recorded is not None
    assert list(trace.recorded.flaws()) == flaws


def test_what_to_replay_it_with() -> None:
    recorded = Recorded("18.6", "lirs", "hir=0.02", 1, 1000, 64, 32, 1.0)
    assert (recorded.policy, recorded.frames, recorded.batch) == ("lirs:hir=0.02", 1000, 32)
    assert replace(recorded, algorithm="keep", parameters="").policy == "clock"
    assert replace(recorded, batch_size=1).batch == 1
    assert replace(recorded, batch_size=8).batch == 8
    sample = replace(recorded, sample_rate=0.0101)
    assert (sample.frames, sample.batch) == (10, 0)
    assert replace(sample, buffers=16).frames == 1


def test_what_the_server_ran_is_kept(tmp_path: Path) -> None:
    trace = open_trace(write(tmp_path, header(sample_rate=0.5) + EVENTS + end(dropped=7)))
    write_trace(trace, tmp_path / "t.parquet")
    native = open_trace(tmp_path / "t.parquet")
    assert native.recorded == trace.recorded
    assert trace.recorded is not None and trace.recorded.dropped == 7
    assert load(native).recorded == trace.recorded
    write_trace(InMemoryTrace.from_arrays("other", [1]), tmp_path / "other.parquet")
    assert open_trace(tmp_path / "other.parquet").recorded is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header()[:31], "the file ends within its header"),
        (header()[:-1], "the file ends within its header"),
        (header(version=1), "version 1 of recordings is not supported, only 2 to 8"),
        (header(page_size=0), "damaged header"),
        (header(seed="1"), "damaged header"),
        (header(seed=-1), "damaged header"),
        (header(scans=70000), "damaged header"),
        (header(buffers=0), "damaged header"),
        (header(buffers=True), "damaged header"),
        (header(batch_size=0), "damaged header"),
        (header(sample_rate=0), "damaged header"),
        (header(sample_rate=1.01), "damaged header"),
        (header(sample_rate=float("nan")), "damaged header"),
        (header(dropped="none"), "damaged header"),
        (header(pools=[HOT]), "damaged header"),
        (header(pools=[DEFAULT, DEFAULT]), "damaged header"),
        (header(pools=[DEFAULT | {"buffers": "9"}]), "damaged header"),
        (header(pools=[DEFAULT, 7]), "damaged header"),
        (header(pools=[DEFAULT, DEFAULT | {"number": 128}]), "damaged header"),
        (header()[:12] + struct.pack("<I", 1 << 30) + header()[16:], "damaged header"),
        (header().replace(b"algorithm", b"ALGORITHM"), "damaged header"),
        (header().replace(b":", b";"), "damaged header"),
        (header().replace(b"{", b"["), "damaged header"),
        (header() + EVENTS + b"\x07" * 32, f"byte {len(header() + EVENTS)}: not a record"),
        (header() + record(1, 2, 3, fork=4), f"byte {len(header())}: not a record"),
        (header() + EVENTS + end(f300="t").replace(b":", b";"), "damaged end of the recording"),
        (header() + EVENTS + end().replace(b"{}", b"[]"), "damaged end of the recording"),
        (header() + EVENTS + end(dropped=-1), "damaged end of the recording"),
        (header() + EVENTS + end(measured={"reads": "1"}), "damaged end of the recording"),
        (header() + EVENTS + end(measured={"read_time": 0}), "damaged end of the recording"),
        (header() + EVENTS + end(measured={"read_time": 1.5}), "damaged end of the recording"),
        (header() + EVENTS + end().replace(b"error", b"ERROR"), "damaged end of the recording"),
        (header() + record(0, 0, 1 << 30, END) + bytes(99), "damaged end of the recording"),
        (header() + record(1, 0, 65537, POOL), "damaged: a text of 65,537 bytes"),
        (
            header(version=4)
            + b"".join(begin(1, 9, 300, 0, 0, 1000, Flag.BITMAP, bitmap=bytes(65537))),
            "damaged: a text of 65,537 bytes",
        ),
    ],
)
def test_damage(tmp_path: Path, data: bytes, message: str) -> None:
    path = write(tmp_path, data)
    with pytest.raises(TraceError) as error:
        open_trace(path)
    assert str(error.value) == f"{path}: {message}"


def test_more_bitmaps_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidepool.traces.formats.recording.MOST_BITMAPS", 1 << 30)
    # a bit of 512 bytes stands for 8,192 groups of blocks: 4 MB for each scan
    of = [*begin(1, 9, 300, 0, 0, 2**32 - 1, Flag.BITMAP, bitmap=bytes(512))] * 3
    path = write(tmp_path, header(version=4) + b"".join(of) + end())
    assert [len(row[-1] or b"") for row in rows(open_trace(path))] == [2**22] * 3
    monkeypatch.setattr("tidepool.traces.formats.recording.MOST_BITMAPS", 2 << 22)
    with pytest.raises(TraceError, match="bitmaps of more than"):
        whole(open_trace(path))


def test_nothing_recorded(tmp_path: Path) -> None:
    path = write(tmp_path, header())
    with pytest.raises(TraceError, match="the trace is empty"):
        whole(open_trace(path))


def test_not_a_recording(tmp_path: Path) -> None:
    path = write(tmp_path, header(magic=b"TPRECORE"))
    with pytest.raises(TraceError, match="not a recording"):
        open_trace(path, "recording")
