"""The format of a file, from its contents and its name."""

from __future__ import annotations

import os
import re

import numpy as np

from tidepool.traces.formats.base import strip_compression
from tidepool.traces.formats.csv import delimiter_of, first_line
from tidepool.traces.formats.oracle_general import RECORD
from tidepool.traces.formats.parquet_file import MAGIC as PARQUET_MAGIC
from tidepool.traces.formats.recording_records import MAGIC as RECORDING_MAGIC
from tidepool.traces.formats.registry import FORMATS, Format
from tidepool.traces.formats.watt import WattTrace


def format_of_name(path: str) -> Format | None:
    """Return the format for a file's name, ignoring compression."""
    name = strip_compression(os.path.basename(path)).lower()
    return next((f for f in FORMATS.values() if name.endswith(f.extensions)), None)


def format_of_contents(head: bytes, named: Format | None) -> Format | None:
    """Return the format of contents that begin with ``head``; of two that fit, the named one."""
    if head.startswith(PARQUET_MAGIC):
        return FORMATS["native"]
    if head.startswith(RECORDING_MAGIC):
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


def format_of_table(head: bytes, named: Format | None, has_columns: bool) -> Format | None:
    """Return the format of a table, or of lines of keys; None if it is neither."""
    if head.startswith(PARQUET_MAGIC):
        return FORMATS["parquet"]
    if has_columns or named == FORMATS["csv"]:
        return FORMATS["csv"]
    if b"\0" in head:
        return None
    line = first_line(head)[0]
    return FORMATS["csv"] if delimiter_of(line) in line else FORMATS["text"]


def _binary_format(head: bytes) -> Format | None:
    if _has_versions(head, 1, 15, 32) or _has_versions(head, 2, 3, 40):
        return FORMATS["vscsi"]
    records = np.frombuffer(head, RECORD, min(len(head) // RECORD.itemsize, 1000))
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
