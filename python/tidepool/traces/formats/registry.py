"""The trace formats: what they are called, what they hold, who reads and writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO

import numpy as np

from tidepool.errors import TraceError
from tidepool.traces.formats import native, recording, writers
from tidepool.traces.formats.base import FileTrace, strip_compression
from tidepool.traces.formats.c_parser import (
    ArcTrace,
    LirsTrace,
    OracleGeneralTrace,
    TextTrace,
    VscsiPagesTrace,
    VscsiTrace,
)
from tidepool.traces.formats.csv import CsvTrace, WattTrace, delimiter_of, first_line, parse_columns
from tidepool.traces.formats.input_file import find_source
from tidepool.traces.formats.parquet_file import MAGIC
from tidepool.traces.formats.redset import RedsetOptions, RedsetTrace, is_redset
from tidepool.traces.model import Chunk, Trace
from tidepool.traces.parameters import parse_parameters

EVERYTHING = frozenset({"events", "writes", "time", "flags", "backend", "scan"})


@dataclass(frozen=True)
class Format:
    """A trace format.

    ``holds`` is what a file can say beside the pages referenced: "events"
    other than references, which references are "writes", "time" or only
    "seconds", "flags", "backend", "scan", the relations' "names".  A format
    without ``write`` is only read; ``options`` is the dataclass of what can be
    chosen when it is.
    """

    name: str
    title: str
    extensions: tuple[str, ...]
    holds: frozenset[str]
    open: Callable[..., FileTrace]  # of the source, its head and, if there are any, options
    write: Callable[[Trace, Iterator[Chunk], IO[bytes]], None] | None
    options: type[RedsetOptions] | None = None


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "native",
            "Parquet; holds everything",
            (".parquet",),
            EVERYTHING | {"names"},
            lambda source, _: native.NativeTrace(source),
            native.write_native,
        ),
        Format(
            "text",
            "a page number a line; # begins a comment",
            (".txt",),
            frozenset(),
            lambda source, _: TextTrace(source),
            writers.write_text,
        ),
        Format(
            "csv",
            "CSV with a map of its columns",
            (".csv",),
            EVERYTHING,
            CsvTrace,
            writers.write_csv,
        ),
        Format(
            "oracleGeneral",
            "libCacheSim's records with the next access",
            (".oraclegeneral", ".oraclegeneral.bin"),
            frozenset({"seconds"}),
            lambda source, _: OracleGeneralTrace(source),
            writers.write_oracle_general,
        ),
        Format(
            "vscsi",
            "VMware's vSCSI records; a request references its first block, as in libCacheSim",
            (".vscsi", ".vscsitrace", ".vscsi1", ".vscsi2"),
            frozenset({"writes", "time"}),
            lambda source, _: VscsiTrace(source),
            writers.write_vscsi,
        ),
        Format(
            "vscsi-8k",
            "the same; a request references all its pages of 8 KiB",
            (),
            frozenset({"writes", "time"}),
            lambda source, _: VscsiPagesTrace(source),
            writers.write_vscsi_pages,
        ),
        Format(
            "lirs",
            "the LIRS authors' traces: text with * for breakpoints",
            (".trc", ".trace"),
            frozenset(),
            lambda source, _: LirsTrace(source),
            writers.write_text,
        ),
        Format(
            "arc",
            "the ARC authors' traces: runs of blocks",
            (".lis",),
            frozenset(),
            lambda source, _: ArcTrace(source),
            writers.write_arc,
        ),
        Format(
            "watt",
            "the CSV of the WATT authors' simulator",
            (),
            frozenset({"writes"}),
            WattTrace,
            writers.write_watt,
        ),
        Format(
            "redset",
            "Amazon's Redset: the scans of 200 queries of an instance",
            (),
            EVERYTHING | {"names"},
            lambda source, _, options=RedsetOptions(): RedsetTrace(source, options),  # noqa: B008
            None,
            RedsetOptions,
        ),
        Format(
            "recording",
            "a server's recording of its references",
            (".rec",),
            frozenset({"events", "writes", "time", "flags", "backend", "names"}),
            lambda source, _: recording.RecordingTrace(source),
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
    pairs = [item.partition("=") for item in rest.split(",")]
    words = {option.strip(): value.strip() for option, _, value in pairs}
    if len(words) < len(pairs) or not all(words) or not all(words.values()):
        raise TraceError(
            f'invalid options "{rest}"', f"Write {name}:OPTION=VALUE,…, each option once."
        )
    return format, parse_parameters(format.options, words)


def format_of_name(path: str) -> Format | None:
    """Return the format that a file's name says, compression aside."""
    name = strip_compression(os.path.basename(path)).lower()
    return next((f for f in FORMATS.values() if name.endswith(f.extensions)), None)


def format_of_contents(head: bytes, named: Format | None) -> Format | None:
    """Return the format of what begins with ``head``; where two look the same, the named one."""
    if head.startswith(MAGIC):
        return FORMATS["native"]
    if head.startswith(recording.MAGIC):
        return FORMATS["recording"]
    if b"\0" in head or b"\xff" in head:
        return _binary_format(head)
    line = first_line(head)[0].strip()
    if line == WattTrace.HEADER:
        return FORMATS["watt"]
    if re.fullmatch(r"(\d+|\*)\s*(#.*)?", line):
        return named if named in (FORMATS["lirs"], FORMATS["csv"]) else FORMATS["text"]
    if re.fullmatch(r"\d+([ \t]+\d+){3}", line):
        return FORMATS["arc"]
    return FORMATS["csv"] if delimiter_of(line) in line else None


def _binary_format(head: bytes) -> Format | None:
    if _has_versions(head, 1, 15, 32) or _has_versions(head, 2, 3, 40):
        return FORMATS["vscsi"]
    records = np.frombuffer(head, writers.ORACLE_GENERAL, min(len(head) // 24, 1000))
    following = records["next"]
    plausible = (following == -1) | (following == 2**63 - 1) | (following > np.arange(len(records)))
    if len(records) and plausible.all() and (records["time"][1:] >= records["time"][:-1]).all():
        return FORMATS["oracleGeneral"]
    return None


def _has_versions(head: bytes, version: int, at: int, record_bytes: int) -> bool:
    """Whether the first two vSCSI records are of this version, and their commands below 256."""
    records = (
        head[i : i + record_bytes] for i in (0, record_bytes) if i + record_bytes <= len(head)
    )
    checks = [record[at] == version and record[at - 2] == 0 for record in records]
    return bool(checks) and all(checks)


def open_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> FileTrace:
    """Open a trace file.

    gzip, xz and zstd are undone.  Without ``format``, the contents tell the
    format, and where they do not, the name.  ``columns`` says where in a CSV
    file the fields of an event are, by the columns' names or by their
    numbers from 1: {"page": "lbn", "kind": "op", "time": "ts:s"}.

    Nothing more is read than to know what the file is (of a file of Redset,
    all queries); the events are read by the trace's chunks(), as often as
    that is called.

    Raises TraceError if the file cannot be read or its format not told.
    """
    path = os.fspath(path)
    if columns is not None and format not in (None, "csv"):
        raise TraceError(f"a trace of format {format} has no columns to choose from")
    source, head = find_source(path)
    if columns is not None:
        return CsvTrace(source, head, parse_columns(columns))
    if format is not None:
        wanted, options = parse_format(format)
        return wanted.open(source, head, *([] if options is None else [options]))
    named = format_of_name(path)
    found = format_of_contents(head, named) or named
    if found is None:
        raise TraceError(
            f"{path}: cannot tell the format of the trace", f"Name it: one of {', '.join(FORMATS)}."
        )
    if found.name == "native" and is_redset(source):
        found = FORMATS["redset"]
    return found.open(source, head)
