"""Traces from pipes: read as the same trace in a file would be."""

from __future__ import annotations

import gzip
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tidepool.cli.failures import Failures
from tidepool.cli.inputs import inputs
from tidepool.errors import TraceError
from tidepool.traces import FORMATS, open_trace, write_trace
from tidepool.traces.formats import WRITABLE
from traces.helpers import pages, plain, rows

COMMAND = [sys.executable, "-c", "from tidepool.cli import main; main()"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are, those of subprocesses, too."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def fifo(tmp_path: Path, data: bytes, name: str = "pipe") -> Path:
    """Return a pipe from which somebody who opens it can read this once."""
    path = tmp_path / name
    os.mkfifo(path)

    def write() -> None:
        with suppress(BrokenPipeError):  # it may be read in part
            path.write_bytes(data)

    threading.Thread(target=write, daemon=True).start()
    return path


@pytest.mark.parametrize("format", WRITABLE)
@pytest.mark.parametrize("compressed", [False, True])
def test_every_format(tmp_path: Path, temporary: Path, format: str, compressed: bool) -> None:
    """Parquet among them, which must be able to seek."""
    write_trace(plain(), tmp_path / "file", format)
    data = (tmp_path / "file").read_bytes()
    path = fifo(tmp_path, gzip.compress(data) if compressed else data)
    named = format if format in ("lirs", "vscsi-8k") else None  # the contents do not tell these
    trace = open_trace(path, named)
    assert trace.format == format
    assert rows(trace) == rows(open_trace(tmp_path / "file", format))
    assert pages(trace) == pages(plain())
    assert len(list(temporary.iterdir())) == 1
    del trace
    assert list(temporary.iterdir()) == []


def call(data: bytes, *args: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *map(str, args)], input=data, capture_output=True, check=False)


def without_seconds(out: bytes) -> list[bytes]:
    return [line for line in out.split(b", ") if b"seconds" not in line]


@pytest.mark.parametrize("format", ["text", "csv", "native"])
@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_standard_input(tmp_path: Path, temporary: Path, format: str, path: str) -> None:
    """Read for the format, for the pages, for OPT's future, and to replay."""
    write_trace(plain(), tmp_path / "stdin", format)
    data = (tmp_path / "stdin").read_bytes()
    options = ["--policy", "arc", "--policy", "opt", "--frames", "20%", "--format", "json"]
    found = call(data, "simulate", path, *options)
    assert (found.returncode, found.stderr) == (0, b"")
    expected = call(b"", "simulate", tmp_path / "stdin", *options)
    assert without_seconds(found.stdout) == without_seconds(expected.stdout)
    assert list(temporary.iterdir()) == []


def test_a_trace_and_its_conversion(tmp_path: Path) -> None:
    write_trace(plain(), tmp_path / "t.txt")
    data = (tmp_path / "t.txt").read_bytes()
    assert call(data, "trace", "convert", "-", tmp_path / "t.parquet").returncode == 0
    assert pages(open_trace(tmp_path / "t.parquet")) == pages(plain())
    assert b"1,000 (1,000 read)" in call(data, "trace", "info", "-").stdout


@pytest.mark.parametrize(
    "args",
    [
        ["simulate", "-", "--policy", "lru,opt", "--frames", "20%"],
        ["curve", "-", "--policy", "lru,arc", "--points", "3"],
        ["compare", "-", "--policy", "arc", "--frames", "20%"],
        ["pools", "-", "--frames", "20%"],
        ["trace", "info", "-"],
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_every_command(tmp_path: Path, args: list[str]) -> None:
    write_trace(plain(), tmp_path / "stdin.parquet")
    data = (tmp_path / "stdin.parquet").read_bytes()
    found = call(data, *args, "--format", "json")
    assert (found.returncode, found.stderr) == (0, b"")
    from_file = [tmp_path / "stdin.parquet" if arg == "-" else arg for arg in args]
    expected = call(b"", *from_file, "--format", "json").stdout
    paths = expected.replace(bytes(tmp_path / "stdin.parquet"), b"-")
    assert without_seconds(found.stdout) == without_seconds(paths)


def test_standard_output(tmp_path: Path) -> None:
    """Traces go from command to command."""
    generate = [*COMMAND, "trace", "generate", "loop", "--pages", "50", "--length", "1e3", "-"]
    native = subprocess.run(generate, capture_output=True, check=True).stdout
    assert native.startswith(b"PAR1")
    half = call(native, "trace", "sample", "--rate", "50%", "-", "-", "--to", "text").stdout
    assert 0 < len(set(half.split())) < 50
    curve = call(half, "curve", "-", "--frames", "1", "--format", "json").stdout
    assert b'"trace": "stdin"' in curve


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", b"stdin: the file is empty"),
        (b"once upon a time\n", b"stdin: cannot tell the format of the trace"),
        (b"PAR1....", b"stdin: damaged or cut off Parquet file"),
        (b"1\nx\n", b"stdin: line 2: not a page number"),
    ],
)
def test_what_is_wrong_with_standard_input(temporary: Path, data: bytes, message: bytes) -> None:
    found = call(data, "trace", "info", "-")
    assert found.returncode == 1
    assert found.stderr.startswith(b"tidepool: error: " + message)
    assert list(temporary.iterdir()) == []


def test_no_room_for_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda prefix: full.open("wb"))
    with pytest.raises(TraceError, match=r"/pipe: cannot be copied to .*: No space left") as error:
        open_trace(fifo(tmp_path, b"1\n" * 100_000))
    assert "TMPDIR" in str(error.value.hint)


def test_sent_to_another_process(tmp_path: Path) -> None:
    trace = open_trace(fifo(tmp_path, b"1\n2\n"))
    assert pages(pickle.loads(pickle.dumps(trace))) == [1, 2]


def test_a_cluster_cannot_read_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = open_trace(fifo(tmp_path, b"1\n2\n"))
    assert [each.name for each in inputs([trace], True, Failures())] == ["pipe"]
    assert list(inputs([trace], False, Failures())) == []
    assert "/pipe: the workers of a cluster cannot read a pipe" in capsys.readouterr().err


def test_formats_that_are_told_by_the_name_of_the_pipe(tmp_path: Path) -> None:
    assert open_trace(fifo(tmp_path, b"1\n2\n", "t.trc")).format == "lirs"
    assert set(WRITABLE) < set(FORMATS)
