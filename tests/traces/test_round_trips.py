"""What is written can be read again, in every format and compression."""

from __future__ import annotations

import gzip
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tidepool.traces import FORMATS, InMemoryTrace, Kind, open_trace, write_trace
from tidepool.traces.columns import DTYPES
from tidepool.traces.formats import WRITABLE
from traces.helpers import Endless, everything, pages, plain, rows, whole

EXTENSION = {name: (f.extensions or (f".{name}",))[0] for name, f in FORMATS.items()}
SOURCES = ["", ".gz", ".xz", ".zst"]


@pytest.mark.parametrize("compression", SOURCES)
@pytest.mark.parametrize("format", WRITABLE)
def test_references(tmp_path: Path, format: str, compression: str) -> None:
    trace = plain()
    path = tmp_path / f"t{EXTENSION[format]}{compression}"
    written = write_trace(trace, path, format)
    assert (written.format, written.events, written.lost) == (format, 1000, ())
    again = open_trace(path, format)
    assert again.format == format
    assert again.name == "t"
    assert pages(again) == pages(trace)
    assert pages(again) == pages(trace), "a trace can be read again"
    assert pages(pickle.loads(pickle.dumps(again))) == pages(trace)
    assert [f.name for f in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("format", ["native", "csv"])
def test_everything(tmp_path: Path, format: str) -> None:
    trace = everything()
    path = tmp_path / f"t{EXTENSION[format]}"
    written = write_trace(trace, path)
    again = open_trace(path)
    assert rows(again) == rows(trace)
    if format == "native":
        assert written.lost == ()
        assert again.relations == trace.relations
        assert again.length == 9
    else:
        assert written.lost == ("relation names",)


@pytest.mark.parametrize("format", ["native", "csv"])
def test_pages_that_become_dirty(tmp_path: Path, format: str) -> None:
    trace = InMemoryTrace.from_arrays("t", [1, 1, 2], kind=[Kind.READ, Kind.DIRTIED, Kind.READ])
    path = tmp_path / f"t{EXTENSION[format]}"
    write_trace(trace, path)
    assert rows(open_trace(path)) == rows(trace)


def test_page_size(tmp_path: Path) -> None:
    trace = InMemoryTrace.from_arrays("t", [1], page_size=16384)
    assert write_trace(trace, tmp_path / "t.parquet").lost == ()
    assert open_trace(tmp_path / "t.parquet").page_size == 16384
    assert write_trace(trace, tmp_path / "t.csv").lost == ("the page size",)


def test_native_columns_that_are_default_stay_away(tmp_path: Path) -> None:
    write_trace(plain(), tmp_path / "t.parquet")
    chunk = next(open_trace(tmp_path / "t.parquet").chunks())
    assert all(getattr(chunk, name) is None for name in DTYPES)
    write_trace(
        InMemoryTrace.from_arrays("t", [1, 2], time=[0, 1], kind=[0, 1]), tmp_path / "u.parquet"
    )
    chunk = next(open_trace(tmp_path / "u.parquet").chunks())
    assert chunk.time is not None and chunk.kind is not None and chunk.flags is None


def test_row_groups(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_trace(Endless(5, rows=300_000), tmp_path / "t.parquet")
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [
        1 << 20,
        451_424,
    ]
    found, expected = whole(open_trace(tmp_path / "t.parquet")), whole(Endless(5, rows=300_000))
    for name in ("page", "kind", "time"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_times_and_writes(tmp_path: Path) -> None:
    trace = InMemoryTrace.from_arrays(
        "t", [3, 4, 3], kind=[0, 1, 1], time=[1_500_000, 1_500_001, 7_000_000]
    )
    for format in ("vscsi", "vscsi-8k"):
        assert write_trace(trace, tmp_path / "t.vscsi", format).lost == ()
        assert rows(open_trace(tmp_path / "t.vscsi", format)) == rows(trace)
    assert write_trace(trace, tmp_path / "t.oracleGeneral").lost == (
        "that 2 references are writes",
        "fractions of seconds",
    )
    chunk = next(open_trace(tmp_path / "t.oracleGeneral").chunks())
    assert chunk.time is not None and chunk.time.tolist() == [1_000_000, 1_000_000, 7_000_000]
    assert write_trace(trace, tmp_path / "t.csv", "watt").lost == ("times",)
    chunk = next(open_trace(tmp_path / "t.csv").chunks())
    assert chunk.kind is not None and chunk.kind.tolist() == [0, 1, 1]


def test_what_gets_lost(tmp_path: Path) -> None:
    written = write_trace(everything(), tmp_path / "t.txt")
    assert written.events == 3
    assert written.lost == (
        "6 scan, forget and pin events",
        "that 1 references are writes",
        "backends",
        "flags",
        "pools",
        "scan ids",
        "times",
        "relation names",
    )


@pytest.mark.parametrize("times", [2, 3])
def test_compressed_again_and_again(tmp_path: Path, times: int) -> None:
    write_trace(plain(), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    data = gzip.compress(data)
    data = lzma.compress(data)
    data = zstandard.ZstdCompressor().compress(data)
    (tmp_path / "renamed").write_bytes(data)
    assert pages(open_trace(tmp_path / "renamed")) == pages(plain())


def test_several_frames(tmp_path: Path) -> None:
    parts = [b"1\n2", b"3\n", b"", b"4\n" * 100_000]
    compress = {
        "gz": gzip.compress,
        "xz": lzma.compress,
        "zst": zstandard.ZstdCompressor().compress,
    }
    for name, function in compress.items():
        data = b"".join(map(function, parts))
        if name == "zst":  # as parallel compressors begin
            data = b"\x50\x2a\x4d\x18\x03\0\0\0abc" + data
        (tmp_path / name).write_bytes(data)
        assert pages(open_trace(tmp_path / name)) == [1, 23] + [4] * 100_000


def test_equal_traces_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.txt.gz", "a.csv.xz", "a.oracleGeneral.zst"):
        write_trace(plain(), tmp_path / name)
        first = (tmp_path / name).read_bytes()
        write_trace(plain(), tmp_path / name)
        assert (tmp_path / name).read_bytes() == first


NUMBERS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9) | st.just(2**64 - 1), min_size=1)


@given(NUMBERS)
def test_all_page_numbers(tmp_path_factory: pytest.TempPathFactory, numbers: list[int]) -> None:
    folder = tmp_path_factory.mktemp("t")
    for format in ("native", "text", "csv", "oracleGeneral", "vscsi", "arc"):
        path = folder / f"t{EXTENSION[format]}"
        write_trace(InMemoryTrace.from_arrays("t", np.array(numbers, np.uint64)), path)
        assert pages(open_trace(path, format)) == numbers


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**64 - 1),
            st.sampled_from(list(Kind)),
            st.integers(0, 2**16 - 1),
            st.integers(0, 2**32 - 1),
            st.integers(0, 2**64 - 1),
            st.integers(0, 2**32 - 1),
            st.integers(0, 2**32 - 1),
            st.floats(0, 1e9, width=32),
            st.none() | st.binary(max_size=5),
        ),
        min_size=1,
        max_size=30,
    ),
    st.lists(st.integers(0, 2**58), min_size=30, max_size=30),
)
def test_all_events(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[int, ...]], steps: list[int]
) -> None:
    *columns, bitmaps = map(list, zip(*events, strict=True))
    names = ("page", "kind", "flags", "backend", "scan", "count", "size", "speed")
    arrays = {
        name: np.array(c, DTYPES.get(name, np.uint64))
        for name, c in zip(names, columns, strict=True)
    }
    time = np.cumsum(np.array(steps[: len(events)], np.uint64))
    present = {i: bitmap for i, bitmap in enumerate(bitmaps) if bitmap is not None}
    trace = InMemoryTrace.from_arrays("t", time=time, bitmaps=present, **arrays)
    folder = tmp_path_factory.mktemp("t")
    for name in ("t.parquet", "t.csv"):
        write_trace(trace, folder / name)
        assert rows(open_trace(folder / name)) == rows(trace)
