"""Files that are missing, empty, truncated, corrupt or nonsense: a TraceError and nothing else."""

from __future__ import annotations

import gzip
import lzma
import socket
import struct
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from tidepool.errors import TraceError
from tidepool.traces import FORMATS, open_trace, write_trace
from tidepool.traces.formats import WRITABLE
from traces.helpers import everything, nobody, pages, plain
from traces.redset_files import query, write

VSCSI = struct.pack("<IIIHHQQ", 1, 4096, 1, 0x28, 0x0100, 5, 9)


@pytest.mark.parametrize(
    ("format", "data", "message"),
    [
        ("text", b"1\n2x\n", "line 2: not a page number"),
        ("text", b"1\n\n-2\n", "line 3: not a page number"),
        ("text", b"1\n2 3\n", "line 2: more than a page number"),
        ("text", b"1\n18446744073709551616\n", "line 2: number above 18446744073709551615"),
        ("text", b"# nothing\n", "the trace is empty"),
        ("lirs", b"*\n*\n", "the trace is empty"),
        ("lirs", b"1\n**\n", "line 2: not a page number"),
        ("arc", b"1 2 0 0\n1 2 0\n", "line 2: not four numbers"),
        ("arc", b"1 2 0 0\n1 2 0 1 1\n", "line 2: not four numbers"),
        ("arc", b"1 2 0 0\n1 x 0 1\n", "line 2: not four numbers"),
        ("arc", b"1 4294967296 0 0\n", "line 1: number of blocks above 4294967295"),
        ("arc", b"18446744073709551615 2 0 0\n", "line 1: blocks beyond 18446744073709551615"),
        ("arc", b"1 2 0", "line 1: not four numbers"),
        ("arc", b"1 0 0 0\n", "the trace is empty"),
        ("oracleGeneral", b"x" * 47, "byte 24: the file ends within a record"),
        ("vscsi", VSCSI + VSCSI[:-1], "byte 32: the file ends within a record"),
        ("vscsi", VSCSI + b"\0" * 32, "byte 32: not a record of the trace's version"),
        ("vscsi", b"\0" * 40, "byte 0: not a record of version 1 or 2"),
        ("vscsi", VSCSI[:12] + b"\x00\x00" + VSCSI[14:], "the trace is empty"),
    ],
)
def test_wrong_contents(tmp_path: Path, format: str, data: bytes, message: str) -> None:
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(TraceError) as error:
        pages(open_trace(tmp_path / "t", format))
    assert str(error.value) == f"{tmp_path}/t: {message}"


def test_what_comes_before_the_damage(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"1\n2\nx\n")
    chunks = open_trace(tmp_path / "t").chunks()
    assert next(chunks).page.tolist() == [1, 2]
    with pytest.raises(TraceError):
        next(chunks)


COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.mark.parametrize("extension", COMPRESS)
def test_truncated_and_damaged_compression(tmp_path: Path, extension: str) -> None:
    text = b"".join(b"%d\n" % (i * 7919 % 100_003) for i in range(100_000))
    data = COMPRESS[extension](text)
    path = tmp_path / f"t{extension}"
    for cut in (len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(TraceError) as error:
            pages(open_trace(path))
        assert str(error.value) == f"{path}: the compressed data ends too early"
    middle = len(data) // 2
    path.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    with pytest.raises(TraceError) as error:
        pages(open_trace(path))
    # what comes out may be noticed before the checksum is
    assert str(error.value).startswith(f"{path}: ")
    path.write_bytes(COMPRESS[extension](b""))
    with pytest.raises(TraceError) as error:
        open_trace(path)
    assert str(error.value) == f"{path}: the compressed file is empty"


def test_compressed_without_end(tmp_path: Path) -> None:
    data = b"1\n"
    for _ in range(9):
        data = gzip.compress(data)
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(TraceError, match=r"/t: compressed more than 8 times$"):
        open_trace(tmp_path / "t")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def message(path: str) -> str:
        with pytest.raises(TraceError) as error:
            open_trace(path)
        return str(error.value)

    assert message("/nowhere/t") == "/nowhere/t: No such file or directory"
    assert message(str(tmp_path)) == f"{tmp_path}: Is a directory"
    (tmp_path / "empty").touch()
    assert message(str(tmp_path / "empty")) == f"{tmp_path}/empty: the file is empty"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        assert message(str(tmp_path / "s")) == f"{tmp_path}/s: neither a file nor a pipe"
    assert message("/dev/null") == "/dev/null: neither a file nor a pipe"
    (tmp_path / "x" / "y").parent.mkdir()
    assert message(str(tmp_path / "empty" / "y")) == f"{tmp_path}/empty/y: Not a directory"


def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\n")
    (tmp_path / "t").chmod(0)
    with nobody(), pytest.raises(TraceError, match=r"/t: Permission denied$"):
        open_trace(tmp_path / "t")


def test_a_file_that_has_gone(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1\n")
    trace = open_trace(tmp_path / "t")
    (tmp_path / "t").unlink()
    with pytest.raises(TraceError, match=r"/t: No such file or directory$"):
        list(trace.chunks())


# ---- anything ----


def try_to_read(path: Path, format: str | None = None) -> None:
    """Read a file; it is a trace or there is a TraceError of one line."""
    try:
        trace = open_trace(path, format)
        rows = 0
        for chunk in trace.chunks():
            assert 0 < len(chunk) <= 1 << 20
            rows += len(chunk)
            if rows > 1 << 21:  # an ARC trace of a few bytes may be billions of references
                break
    except TraceError as error:
        assert "\n" not in str(error)
        assert str(error).startswith(f"{path}: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


TEXT = st.text(alphabet='0123456789,;\n"#*- RWx\r\t.', max_size=80).map(str.encode)


@pytest.mark.parametrize("format", [None, *FORMATS])
@given(data=st.binary(min_size=1, max_size=200) | TEXT)
@example(data=b"PAR1")
@example(data=b"PAR1" * 10)
@example(data=b"pages,is_write\n1,True\n\x00")
@example(data=b'page\n"1\n')
@example(data=b"a\rb,c\n")
def test_any_bytes(folder: Path, format: str | None, data: bytes) -> None:
    (folder / "t").write_bytes(data)
    try_to_read(folder / "t", format)


@pytest.fixture(scope="module")
def samples(folder: Path) -> dict[str, bytes]:
    found = {}
    for format in WRITABLE:
        for trace in (everything(), plain(300)):
            if format == "watt" and trace.name == "everything":
                continue
            if format == "vscsi-8k" and trace.name == "everything":
                continue
            path = folder / f"{trace.name}.{format}"
            write_trace(trace, path, format)
            found[path.name] = path.read_bytes()
    queries = [query(i, i / 3, f"{i % 4},9", compile_duration_ms=i / 7) for i in range(40)]
    found["queries.redset"] = write(folder / "queries", queries).read_bytes()
    for extension, compress in COMPRESS.items():
        found[f"t{extension}"] = compress(found["plain.text"])
    return found


@given(data=st.data())
def test_truncations(folder: Path, samples: dict[str, bytes], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(samples)))
    size = data.draw(st.integers(0, len(samples[name]) - 1))
    path = folder / "t"
    path.write_bytes(samples[name][:size])
    try_to_read(path)
    if (format := name.rpartition(".")[2]) in ("native", "redset"):
        with pytest.raises(TraceError):
            open_trace(path, format)


@given(data=st.data())
def test_flipped_bits(folder: Path, samples: dict[str, bytes], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(samples)))
    bytes_ = bytearray(samples[name])
    flips = st.tuples(st.integers(0, len(bytes_) - 1), st.integers(0, 7))
    for at, bit in data.draw(st.lists(flips, min_size=1, max_size=4)):
        bytes_[at] ^= 1 << bit
    path = folder / "t"
    path.write_bytes(bytes_)
    try_to_read(path)
    if (format := name.rpartition(".")[2]) in FORMATS:
        try_to_read(path, format)
