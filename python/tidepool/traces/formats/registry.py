"""The trace formats: names, contents, readers and writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from tidepool.errors import TraceError
from tidepool.notation import pairs
from tidepool.traces.formats.arc import ArcTrace, write_arc
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.csv import CsvTrace, write_csv
from tidepool.traces.formats.fields import Column
from tidepool.traces.formats.input_file import Source
from tidepool.traces.formats.native import NativeTrace, write_native
from tidepool.traces.formats.oracle_general import OracleGeneralTrace, write_oracle_general
from tidepool.traces.formats.parquet import ParquetTrace
from tidepool.traces.formats.recording import RecordingTrace
from tidepool.traces.formats.redset import RedsetOptions, RedsetTrace
from tidepool.traces.formats.text import KeysTrace, LirsTrace, TextTrace, write_text
from tidepool.traces.formats.vscsi import (
    VscsiPagesTrace,
    VscsiTrace,
    write_vscsi,
    write_vscsi_pages,
)
from tidepool.traces.formats.watt import WattTrace, write_watt
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.parameters import parse_parameters

EVERYTHING = frozenset({"events", "writes", "time", "flags", "backend", "scan", "pool"})


@dataclass(frozen=True)
class Choices:
    """A user's choices for reading a file.

    ``columns`` maps fields to columns, ``keys`` is how pages are made from keys
    (keys.py), ``options`` are those after the format's name.
    """

    columns: Mapping[str, Column] | None = None
    keys: str | None = None
    options: RedsetOptions | None = None


@dataclass(frozen=True)
class Format:
    """A trace format.

    ``holds`` is what a file can hold besides the pages referenced: "events"
    other than references, which references are "writes", "time" or only
    "seconds", "flags", "backend", "scan", "pool", the relations' "names".  A format
    without ``write`` is read only.  ``takes`` names the choices that its reader
    accepts; ``options`` is the dataclass of its own options.
    """

    name: str
    title: str
    extensions: tuple[str, ...]
    holds: frozenset[str]
    open: Callable[[Source, bytes, Choices], FileTrace]  # of the source and its head
    write: Callable[[Trace, Iterator[Chunk], IO[bytes]], None] | None
    takes: frozenset[str] = frozenset()
    options: type[RedsetOptions] | None = None


def _open_text(source: Source, head: bytes, chosen: Choices) -> FileTrace:
    return TextTrace(source) if chosen.keys is None else KeysTrace(source, chosen.keys)


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "native",
            "Parquet; holds everything",
            (".parquet",),
            EVERYTHING | {"names"},
            lambda source, *_: NativeTrace(source),
            write_native,
        ),
        Format(
            "text",
            "a page number a line; # begins a comment",
            (".txt",),
            frozenset(),
            _open_text,
            write_text,
            frozenset({"keys"}),
        ),
        Format(
            "csv",
            "CSV with a map of its columns",
            (".csv",),
            EVERYTHING,
            lambda source, head, chosen: CsvTrace(source, head, chosen.columns, chosen.keys),
            write_csv,
            frozenset({"columns", "keys"}),
        ),
        Format(
            "parquet",
            "other Parquet files, with a map of their columns",
            (),
            EVERYTHING,
            lambda source, _, chosen: ParquetTrace(source, chosen.columns, chosen.keys),
            None,
            frozenset({"columns", "keys"}),
        ),
        Format(
            "oracleGeneral",
            "libCacheSim's records with the next access",
            (".oraclegeneral", ".oraclegeneral.bin"),
            frozenset({"seconds"}),
            lambda source, *_: OracleGeneralTrace(source),
            write_oracle_general,
        ),
        Format(
            "vscsi",
            "VMware's vSCSI records; a request references its first block, as in libCacheSim",
            (".vscsi", ".vscsitrace", ".vscsi1", ".vscsi2"),
            frozenset({"writes", "time"}),
            lambda source, *_: VscsiTrace(source),
            write_vscsi,
        ),
        Format(
            "vscsi-8k",
            "the same; a request references all its pages of 8 KiB",
            (),
            frozenset({"writes", "time"}),
            lambda source, *_: VscsiPagesTrace(source),
            write_vscsi_pages,
        ),
        Format(
            "lirs",
            "the LIRS authors' traces: text with * for breakpoints",
            (".trc", ".trace"),
            frozenset(),
            lambda source, *_: LirsTrace(source),
            write_text,
        ),
        Format(
            "arc",
            "the ARC authors' traces: runs of blocks",
            (".lis",),
            frozenset(),
            lambda source, *_: ArcTrace(source),
            write_arc,
        ),
        Format(
            "watt",
            "the CSV of the WATT authors' simulator",
            (),
            frozenset({"writes"}),
            lambda source, head, _: WattTrace(source, head),
            write_watt,
        ),
        Format(
            "redset",
            "Amazon's Redset: the scans of 200 queries of an instance",
            (),
            EVERYTHING | {"names"},
            lambda source, _, chosen: RedsetTrace(source, chosen.options or RedsetOptions()),
            None,
            options=RedsetOptions,
        ),
        Format(
            "recording",
            "a server's recording of its references",
            (".rec",),
            frozenset({"events", "writes", "time", "flags", "backend", "pool", "names"}),
            lambda source, *_: RecordingTrace(source),
            None,
        ),
    )
}


WRITABLE = tuple(format.name for format in FORMATS.values() if format.write is not None)


def find_format(name: str) -> Format:
    """Return the format of this name."""
    if name not in FORMATS:
        raise TraceError(f'there is no trace format "{name}"', f"There are: {', '.join(FORMATS)}.")
    return FORMATS[name]


def parse_format(text: str) -> tuple[Format, RedsetOptions | None]:
    """Return the format and the options that NAME[:option=value,…] is."""
    name, colon, rest = text.partition(":")
    format = find_format(name)
    if not colon:
        return format, None
    if format.options is None:
        raise TraceError(f'the trace format "{name}" has no options')
    words = pairs(rest)
    if words is None:
        raise TraceError(
            f'invalid options "{rest}"', f"Write {name}:OPTION=VALUE,…, each option once."
        )
    return format, parse_parameters(format.options, words)
