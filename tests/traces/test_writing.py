"""Output is there whole or not at all, and nothing else is left behind."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidepool.errors import TraceError
from tidepool.traces import Chunk, InMemoryTrace, Kind, Trace, open_trace, write_trace
from tidepool.traces.formats import WRITABLE
from traces.helpers import Endless, everything, nobody, pages, plain


class Breaking(Endless):
    """A trace that turns out to be damaged after a while."""

    def chunks(self) -> Iterator[Chunk]:
        yield from super().chunks()
        raise TraceError("broken: damaged")


@pytest.mark.parametrize("compression", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("format", WRITABLE)
def test_nothing_is_left_of_a_failure(tmp_path: Path, format: str, compression: str) -> None:
    path = tmp_path / f"t{compression}"
    path.write_text("as before")
    with pytest.raises(TraceError, match=r"^broken: damaged$"):
        write_trace(Breaking(2, rows=5000), path, format)
    assert path.read_text() == "as before"
    assert os.listdir(tmp_path) == [path.name]


def test_nothing_is_left_of_an_interruption(tmp_path: Path) -> None:
    class Interrupted(Endless):
        def chunks(self) -> Iterator[Chunk]:
            yield from super().chunks()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_trace(Interrupted(2, rows=5000), tmp_path / "t.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("compression", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("format", WRITABLE)
def test_a_full_disk(tmp_path: Path, format: str, compression: str) -> None:
    path = tmp_path / f"full{compression}"
    path.symlink_to("/dev/full")
    with pytest.raises(TraceError) as error:
        write_trace(plain(), path, format)
    assert str(error.value) == f"{path}: No space left on device"
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode), "the device is still one"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    def message(path: Path) -> str:
        with pytest.raises(TraceError) as error:
            write_trace(plain(), path, "text")
        return str(error.value)

    assert message(tmp_path) == f"{tmp_path}: Is a directory"
    assert message(tmp_path / "a" / "b") == f"{tmp_path}/a/b: No such file or directory"
    (tmp_path / "file").touch()
    assert message(tmp_path / "file" / "b") == f"{tmp_path}/file/b: Not a directory"
    assert message(tmp_path / ("x" * 300)).endswith(": File name too long")


def test_no_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with nobody(), pytest.raises(TraceError, match=r"Permission denied$"):
        write_trace(plain(), tmp_path / "t.txt")


def test_mode_and_links(tmp_path: Path) -> None:
    (tmp_path / "t.txt").symlink_to("elsewhere")
    umask = os.umask(0o027)
    try:
        write_trace(plain(), tmp_path / "t.txt")
    finally:
        os.umask(umask)
    assert (tmp_path / "t.txt").is_symlink()
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o640


def test_in_place(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    write_trace(plain(), path)
    write_trace(open_trace(path), path, "native")
    assert open_trace(path).format == "native"
    assert pages(open_trace(path)) == pages(plain())


@pytest.mark.parametrize("format", WRITABLE)
def test_a_pipe(tmp_path: Path, format: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    read = []
    thread = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    thread.start()
    write_trace(plain(), tmp_path / "pipe", format)
    thread.join()
    (tmp_path / "t").write_bytes(read[0])
    assert pages(open_trace(tmp_path / "t", format)) == pages(plain())


def test_nothing_to_write(tmp_path: Path) -> None:
    def message(trace: Trace, name: str) -> str:
        with pytest.raises(TraceError) as error:
            write_trace(trace, tmp_path / name)
        assert os.listdir(tmp_path) == []
        return str(error.value)

    empty = InMemoryTrace.from_arrays("t", [])
    scans = InMemoryTrace.from_arrays("t", [1], kind=[Kind.SCAN_END])
    start = f"{tmp_path}/t.txt: not written, since the trace "
    assert message(empty, "t.txt") == start + "is empty"
    assert message(scans, "t.txt") == start + "has nothing that the text format holds"


def test_what_does_not_fit(tmp_path: Path) -> None:
    def message(trace: Trace, format: str) -> str:
        with pytest.raises(TraceError) as error:
            write_trace(trace, tmp_path / "t", format)
        assert os.listdir(tmp_path) == []
        return str(error.value)

    large = InMemoryTrace.from_arrays("t", [1, 2**60])
    assert message(large, "watt") == (
        f"{tmp_path}/t: page 1152921504606846976 is above the format's largest, 2147483647"
    )
    assert message(large, "vscsi-8k") == (
        f"{tmp_path}/t: page 1152921504606846976 is above the format's largest, 1152921504606846975"
    )
    backwards = InMemoryTrace.from_arrays("t", [1, 1, 1], time=[5, 7, 6])
    assert message(backwards, "native") == f"{tmp_path}/t: time decreases at event 2"
    late = InMemoryTrace.from_arrays("t", [1], time=[2**32 * 1_000_000])
    assert message(late, "oracleGeneral") == (
        f"{tmp_path}/t: time 4294967296000000 is 2^32 seconds or more,"
        " which the format does not hold"
    )


def test_formats_that_are_not_known(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r'^there is no trace format "xml"$'):
        write_trace(plain(), tmp_path / "t", "xml")
    with pytest.raises(TraceError, match=r'^there is no trace format "xml"$'):
        (tmp_path / "t").write_text("1\n")
        open_trace(tmp_path / "t", "xml")
    with pytest.raises(TraceError, match=r"/t\.xyz\.gz: the name does not tell the trace format$"):
        write_trace(everything(), tmp_path / "t.xyz.gz")
