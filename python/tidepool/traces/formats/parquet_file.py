"""Opening Parquet files, compressed as a whole or not; damage is a TraceError."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from tidepool.errors import TraceError
from tidepool.traces.formats.input_file import Source

MAGIC = b"PAR1"


@contextmanager
def open_parquet(source: Source) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file; what goes wrong while it is open becomes a TraceError."""
    with (
        _uncompressed(source) as file,
        _damage_errors(source.path),
        # row groups of foreign files may be too large for memory
        pq.ParquetFile(
            file, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
        ) as parquet,
    ):
        yield parquet


@contextmanager
def _uncompressed(source: Source) -> Iterator[IO[bytes]]:
    """Open the file, or a copy if it was compressed as a whole: Parquet needs to seek."""
    if not source.layers:
        with open(source.location, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as copy:
        with source.open() as stream:
            shutil.copyfileobj(stream, copy)
        copy.seek(0)
        yield copy


@contextmanager
def _damage_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = (str(error).splitlines() or ["unreadable"])[0]
        raise TraceError(f"{path}: damaged or cut off Parquet file: {why}") from None
