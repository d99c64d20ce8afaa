"""The bytes of a trace file, decompressed as they are read; errors of one line."""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO, BinaryIO, cast

import zstandard

from tidepool.errors import TraceError

HEAD_BYTES = 1 << 16  # enough to detect the format
BLOCK_BYTES = 1 << 20  # what readers ask for at a time
MAX_LAYERS = 8  # compressions around each other


class _ZstdFile(io.RawIOBase):
    """Reads zstd frames.

    zstandard's own stream reader takes the end of a truncated file for the
    end of the data.
    """

    # A byte of input may become 32 KiB of output, which is held in memory.
    INPUT_BYTES = 2048

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._output:
            if not self._input:
                self._input = self._file.read(self.INPUT_BYTES)
            if not self._input:
                if self._frame is not None:
                    raise EOFError
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
            self._output = memoryview(self._frame.decompress(self._input))
            self._input = b""
            if self._frame.eof:
                self._input = self._frame.unused_data
                self._frame = None
        n = min(len(buffer), len(self._output))
        buffer[:n] = self._output[:n]
        self._output = self._output[n:]
        return n


def _is_zstd(head: bytes) -> bool:
    skippable = head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5
    return skippable or head.startswith(b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True)
class Compression:
    """A way of compressing files: the extension of their names, what they begin with."""

    extension: str
    recognise: Callable[[bytes], bool]
    reader: Callable[[IO[bytes]], io.RawIOBase | io.BufferedIOBase]
    writer: Callable[[IO[bytes]], IO[bytes]]


COMPRESSIONS = (
    Compression(
        ".gz",
        lambda head: head.startswith(b"\x1f\x8b"),
        lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
        # the name and time of writing stay out: equal traces, equal files
        lambda file: cast(IO[bytes], gzip.GzipFile("", "wb", 6, file, mtime=0)),
    ),
    Compression(
        ".xz",
        lambda head: head.startswith(b"\xfd7zXZ\0"),
        lzma.LZMAFile,
        lambda file: cast(IO[bytes], lzma.LZMAFile(file, "wb")),  # noqa: SIM115
    ),
    Compression(
        ".zst",
        _is_zstd,
        _ZstdFile,
        lambda file: cast(
            IO[bytes], zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False)
        ),
    ),
)


@contextmanager
def trace_errors(path: str) -> Iterator[None]:
    """Turn the errors of reading or writing a file into a TraceError."""
    try:
        yield
    except EOFError:
        raise TraceError(f"{path}: the compressed data ends too early") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError):
        raise TraceError(f"{path}: the compressed data is damaged") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None


def shown(text: str) -> str:
    """Return the beginning of a text from a file, fit for a line on a terminal."""
    return text[:40].encode("unicode_escape").decode()


@dataclass(frozen=True)
class Source:
    """A trace file and the compressions around what is in it, outermost first."""

    path: str  # as the user wrote it, for messages
    location: str  # absolute: another process may have another directory
    layers: tuple[Compression, ...]
    spool: object = None  # of a pipe: the temporary file at location, deleted with this

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading, decompressed."""
        with open(self.location, "rb") as file:
            stream: BinaryIO = file
            for layer in self.layers:
                raw = layer.reader(stream)
                stream = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, raw), BLOCK_BYTES))
            yield stream

    def head(self) -> bytes:
        """Return the first HEAD_BYTES of the contents."""
        with self.open() as stream:
            return stream.read(HEAD_BYTES)

    def size(self) -> int:
        """Return the size of the file, compressed as it is."""
        return os.stat(self.location).st_size

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.path, self.location, tuple(layer.extension for layer in self.layers))


def _restore(path: str, location: str, extensions: tuple[str, ...]) -> Source:
    by_extension = {compression.extension: compression for compression in COMPRESSIONS}
    return Source(path, location, tuple(by_extension[extension] for extension in extensions))


STANDARD_INPUT = "-"


def find_source(path: str | BinaryIO) -> tuple[Source, bytes]:
    """Return the file, with its compressions, and the head of its contents.

    Traces are read more than once, so a pipe, standard input (``-``) or a file
    that is open for reading is copied to a temporary file.  Raises TraceError
    if the file does not exist, cannot be read, or is empty.
    """
    with trace_errors(path if isinstance(path, str) else _name_of(path)):
        source = _located(path) if isinstance(path, str) else _spooled(_name_of(path), path)
        path = source.path
        head = source.head()
        if not head:
            raise TraceError(f"{path}: the file is empty")
        while layer := next((c for c in COMPRESSIONS if c.recognise(head)), None):
            if len(source.layers) == MAX_LAYERS:
                raise TraceError(f"{path}: compressed more than {MAX_LAYERS} times")
            source = replace(source, layers=(*source.layers, layer))
            head = source.head()
        if not head:
            raise TraceError(f"{path}: the compressed file is empty")
    return source, head


def _name_of(stream: BinaryIO) -> str:
    name = getattr(stream, "name", "")
    return name if isinstance(name, str) and name else "stream"


def _located(path: str) -> Source:
    """Return the file itself, or the copy of a pipe."""
    if path == STANDARD_INPUT:
        with open(0, "rb", closefd=False) as stream:
            return _spooled("stdin", stream)
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(mode):
        with open(path, "rb") as stream:
            return _spooled(path, stream)
    if not stat.S_ISREG(mode):
        raise TraceError(f"{path}: neither a file nor a pipe")
    return Source(path, os.path.abspath(path), ())


def _spooled(path: str, stream: BinaryIO) -> Source:
    copy = tempfile.NamedTemporaryFile(prefix="tidepool-pipe-")  # noqa: SIM115
    while block := stream.read(BLOCK_BYTES):
        if isinstance(block, str):
            raise TraceError(f"{path}: open for text", "Open it for bytes, or give its name.")
        try:
            copy.write(block)
            copy.flush()
        except OSError as error:
            raise TraceError(
                f"{path}: cannot be copied to {tempfile.gettempdir()}: {error.strerror}",
                "Set TMPDIR to a directory with more room, or write the trace to a file.",
            ) from None
    return Source(path, copy.name, (), copy)
