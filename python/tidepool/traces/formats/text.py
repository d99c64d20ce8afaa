"""Text: a page number, or a key, a line; and the LIRS authors' traces, text with breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import pyarrow as pa

from tidepool._sim import lib
from tidepool.errors import TraceError
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.c_parser import ParsedTrace
from tidepool.traces.formats.input_file import BLOCK_BYTES, Source
from tidepool.traces.formats.keys import HINT, Keys, make_keys
from tidepool.traces.formats.lines import write_lines
from tidepool.traces.model import Chunk, Trace


class TextTrace(ParsedTrace):
    """A page number a line; comments and the breakpoints of LIRS traces are skipped."""

    format = "text"
    parser = lib.TPS_TEXT
    columns = ("page",)
    unit = "line"
    hint: str | None = HINT


class LirsTrace(TextTrace):
    """The same, under the name by which the LIRS authors' traces are known."""

    format = "lirs"
    hint = None


class KeysTrace(FileTrace):
    """A key a line, without the space around it; lines that begin with # are comments."""

    format = "text"

    def __init__(self, source: Source, keys: str) -> None:
        super().__init__(source)
        self._keys = keys

    def _read(self) -> Iterator[Chunk]:
        keys = make_keys(self._keys)
        assert keys is not None
        line = 1
        rest = b""
        with self.source.open() as stream:
            while block := stream.read(BLOCK_BYTES):
                *lines, rest = (rest + block).split(b"\n")
                if len(rest) > BLOCK_BYTES:
                    what = f"line {line + len(lines)}: longer than {BLOCK_BYTES} bytes"
                    raise TraceError(f"{self.path}: {what}")
                line += len(lines)
                yield from self._chunks(lines, keys)
        yield from self._chunks([rest], keys)

    @staticmethod
    def _chunks(lines: list[bytes], keys: Keys) -> Iterator[Chunk]:
        words = [word for word in map(bytes.strip, lines) if word and not word.startswith(b"#")]
        if words:
            yield Chunk(page=keys.pages(pa.array(words, pa.binary())))


def write_text(trace: Trace, chunks: Iterator[Chunk], out: IO[bytes]) -> None:
    """Write a page number a line."""
    for chunk in chunks:
        write_lines(out, [chunk.page])
