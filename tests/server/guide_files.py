"""Small files of the names that docs/trace-format.md has."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import zstandard
from pyarrow import csv, parquet

from tidepool.generators import Zipf
from tidepool.traces import write_trace
from traces import redset_files

FIRST, QUERIES = 5000, 200  # that the page reads of Redset's file


def orders(directory: Path) -> None:
    """One trace in three formats."""
    trace = Zipf(pages=400, length=4000)
    path = directory / "orders.csv"
    write_trace(trace, path)
    write_trace(trace, directory / "orders.parquet")
    (directory / "orders.csv.zst").write_bytes(zstandard.compress(path.read_bytes()))


def requests(directory: Path) -> None:
    """A disk's requests, in CSV and in Parquet."""
    draws = random.Random(1)
    table = pa.table(
        {
            "lbn": [draws.randrange(500) for _ in range(2000)],
            "op": [draws.choice("rw") for _ in range(2000)],
            "ts": range(2000),
        }
    )
    csv.write_csv(table, directory / "disk.csv")
    parquet.write_table(table, directory / "frame.parquet")


def keys(directory: Path) -> None:
    """References to keys that are no numbers."""
    draws = random.Random(1)
    names = [f"user:{draws.randrange(300)}" for _ in range(1000)]
    (directory / "keys.txt").write_text("\n".join(names) + "\n")
    csv.write_csv(pa.table({"key": names, "ts": range(1000)}), directory / "cache.csv")


def redset(directory: Path) -> None:
    """Files of Redset's schema: of one instance, and of two."""
    queries = [
        redset_files.query(i, seconds=i, tables=str(i % 7), instance_id=12)
        for i in range(FIRST + QUERIES)
    ]
    others = [redset_files.query(i, seconds=i, instance_id=5) for i in range(10)]
    redset_files.write(directory / "12.parquet", queries[:QUERIES])
    redset_files.write(directory / "full.parquet", queries + others)


def traces(directory: Path) -> None:
    """All of them."""
    for make in (orders, requests, keys, redset):
        make(directory)
