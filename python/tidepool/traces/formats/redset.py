"""Amazon's Redset: metadata of queries, read as the scans that they may have made.

Redset (A. van Renen et al.: Why TPC Is Not Enough, PVLDB 17, 2024) lists the
queries of some Redshift instances: when each arrived, how long it took, which
tables it read and how many bytes; not which part of a table, nor the table's
size.  docs/trace-format.md describes what is derived and what is assumed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidepool.errors import TraceError
from tidepool.traces.columns import resize
from tidepool.traces.draws import sources
from tidepool.traces.formats.base import FileTrace
from tidepool.traces.formats.input_file import Source, shown, trace_errors
from tidepool.traces.formats.parquet_file import open_parquet
from tidepool.traces.model import PAGE_SIZE, Chunk
from tidepool.traces.parameters import check_parameters, parameter, seed_parameter
from tidepool.traces.scans import Query, count_events, scan_events, scans_of

MEGABYTE = 1e6
MAX_READS = 10_000_000  # of a trace whose scale is not given
BATCH_ROWS = 1 << 17  # that are read at a time

FLOAT = pa.float64()

# The columns that are read, of those that every file of Redset has.
SCHEMA = pa.schema(
    {
        "instance_id": pa.int64(),
        "database_id": pa.int64(),
        "query_id": pa.int64(),
        "arrival_timestamp": pa.int64(),  # microseconds since 1970
        "compile_duration_ms": FLOAT,
        "queue_duration_ms": FLOAT,
        "execution_duration_ms": FLOAT,
        "was_cached": pa.bool_(),
        "read_table_ids": pa.string(),
        "mbytes_scanned": FLOAT,
    }
)

# Those in which a null means zero, or false.
FILLED = frozenset(
    {"database_id", "compile_duration_ms", "queue_duration_ms", "execution_duration_ms"}
    | {"was_cached"}
)

Table = tuple[int, int]  # a table's database and number


@dataclass(frozen=True, kw_only=True)
class RedsetOptions:
    """Which of a file's queries make up the trace, and how large it is."""

    instance: int = parameter(-1, "number of the instance; -1: the only one", low=-1)
    first: int = parameter(0, "scanning queries of the instance to skip", low=0)
    queries: int = parameter(200, "scanning queries in the trace, at most", low=1)
    scale: float = parameter(
        0.0,
        f"pages in the trace per page scanned; 0: so many that {MAX_READS:,} are read, at most 1",
        low=0,
        high=1,
    )
    page_size: int = parameter(PAGE_SIZE, "bytes that a page has", low=512, high=2**20)
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)


class RedsetTrace(FileTrace):
    """The scans of consecutive queries of one instance in a file of Redset.

    The file is read once, when the trace is opened; memory grows with
    ``first`` + ``queries`` and with the number of tables.
    """

    format = "redset"

    def __init__(self, source: Source, options: RedsetOptions) -> None:
        super().__init__(source)
        metadata = self._metadata(options)
        rows = metadata.rows()
        scale = options.scale or _default_scale(rows, options.page_size)
        pages = scale * MEGABYTE / options.page_size  # a megabyte has
        tables = dict.fromkeys(table for row in rows for table in row.tables)
        numbers = {table: number for number, table in enumerate(tables, 1)}
        sizes = {
            number: _at_least_one(metadata.largest[table] * pages)
            for table, number in numbers.items()
        }
        if max(sizes.values()) >= 2**32:
            raise TraceError(
                f"{self.path}: a table of {max(sizes.values())} pages", "Use a smaller scale."
            )
        queries = _queries(rows, numbers, pages)
        self._streams = scans_of(queries, sizes, sources(options.seed, 1)[0])
        self.page_size = options.page_size
        self.relations = {
            number: f"table {table} of database {database}"
            for (database, table), number in numbers.items()
        }
        self.length = sum(count_events(scan.count) for one in self._streams for scan in one)

    def _metadata(self, options: RedsetOptions) -> _Metadata:
        metadata = _Metadata(self.path, options)
        with trace_errors(self.path), open_parquet(self.source) as file:
            if missing := set(SCHEMA.names) - set(file.schema_arrow.names):
                raise TraceError(f'{self.path}: no column "{min(missing)}"')
            for batch in file.iter_batches(BATCH_ROWS, columns=SCHEMA.names, use_threads=False):
                metadata.add(_normalized(batch))
        return metadata

    def _read(self) -> Iterator[Chunk]:
        return resize(scan_events(self._streams))


def is_redset(source: Source) -> bool:
    """Whether a Parquet file has the columns of Redset."""
    with trace_errors(source.path), open_parquet(source) as file:
        return set(SCHEMA.names) <= set(file.schema_arrow.names)


@dataclass(frozen=True, slots=True)
class _Row:
    """A query that scans tables, of the queries that make up the trace."""

    tables: tuple[Table, ...]
    share: float  # megabytes that it scans of each
    begin: float  # of its execution, microseconds since 1970
    duration: float  # of its execution, microseconds


class _Metadata:
    """What is kept of the queries of one instance while a file is read."""

    def __init__(self, path: str, options: RedsetOptions) -> None:
        self.path = path
        self.options = options
        self.largest: dict[Table, float] = {}  # megabytes of the largest scan of each table
        self._instances: set[int] = set()
        self._wanted = options.first + options.queries
        self._earliest = SCHEMA.empty_table()  # scanning queries of the instance

    def add(self, table: pa.Table) -> None:
        """Take note of further rows."""
        self._instances.update(pc.unique(table["instance_id"]).drop_null().to_pylist())
        table = table.filter(pc.equal(table["instance_id"], self._instance()))
        table = table.filter(_scans_something(table))
        self._measure(table)
        self._earliest = pa.concat_tables([self._earliest, table])
        if len(self._earliest) > 2 * self._wanted + BATCH_ROWS:
            self._earliest = self._in_order()

    def rows(self) -> list[_Row]:
        """Return the queries that make up the trace, in the order of their arrival."""
        if self.options.instance >= 0 and self.options.instance not in self._instances:
            raise TraceError(
                f"{self.path}: no queries of instance {self.options.instance}", self._known()
            )
        chosen = self._in_order().slice(self.options.first)
        if len(chosen) == 0:
            raise TraceError(
                f"{self.path}: no queries that scan tables after the first {self.options.first}"
            )
        return [self._row(row) for row in chosen.to_pylist()]

    def _instance(self) -> int:
        if self.options.instance >= 0:
            return self.options.instance
        if len(self._instances) > 1:
            raise TraceError(
                f"{self.path}: queries of more than one instance",
                f"Choose one, as in redset:instance={min(self._instances)}.  {self._known()}",
            )
        return next(iter(self._instances), -1)

    def _known(self) -> str:
        shown = ", ".join(map(str, sorted(self._instances)[:10]))
        return f"Among the instances are {shown}."

    def _measure(self, table: pa.Table) -> None:
        reads = table.group_by(["database_id", "read_table_ids"])
        for row in reads.aggregate([("mbytes_scanned", "max")]).to_pylist():
            tables = self._tables(row)
            share = row["mbytes_scanned_max"] / len(tables)
            for read in tables:
                self.largest[read] = max(self.largest.get(read, 0.0), share)

    def _in_order(self) -> pa.Table:
        """Return the queries that arrived first, as many as can matter."""
        by_arrival = [("arrival_timestamp", "ascending"), ("query_id", "ascending")]
        return self._earliest.sort_by(by_arrival).slice(0, self._wanted)

    def _tables(self, row: dict[str, Any]) -> tuple[Table, ...]:
        words = row["read_table_ids"].split(",")
        try:
            return tuple((row["database_id"], int(word)) for word in words)
        except ValueError:
            raise TraceError(
                f'{self.path}: not a list of tables: "{shown(row["read_table_ids"])}"'
            ) from None

    def _row(self, row: dict[str, Any]) -> _Row:
        tables = self._tables(row)
        waiting = row["compile_duration_ms"] + row["queue_duration_ms"]
        return _Row(
            tables=tables,
            share=row["mbytes_scanned"] / len(tables),
            begin=row["arrival_timestamp"] + max(0.0, waiting) * 1e3,
            duration=max(1.0, row["execution_duration_ms"]) * 1e3,
        )


def _normalized(batch: pa.RecordBatch) -> pa.Table:
    """Return rows with the types of SCHEMA and no unknown numbers but those that matter."""
    columns = []
    for field in SCHEMA:
        values = batch[field.name]
        if field.name == "arrival_timestamp":
            values = values.cast(pa.timestamp("us"), safe=False)
        values = values.cast(field.type)
        if field.name in FILLED:
            values = values.fill_null(pa.scalar(0).cast(field.type))
        columns.append(values)
    return pa.table(columns, schema=SCHEMA)


def _scans_something(table: pa.Table) -> Any:
    conditions = [
        pc.greater(table["mbytes_scanned"], 0.0),
        pc.not_equal(table["read_table_ids"], ""),
        pc.invert(table["was_cached"]),
        table["arrival_timestamp"].is_valid(),
        table["query_id"].is_valid(),
        *(pc.is_finite(table[name]) for name in SCHEMA.names if SCHEMA.field(name).type == FLOAT),
    ]
    return functools.reduce(pc.and_, conditions)


def _queries(rows: Sequence[_Row], numbers: Mapping[Table, int], pages: float) -> list[Query]:
    """Return the queries in the order of their starts, the first of them at 0.

    ``pages``: what a megabyte has.
    """
    origin = min(row.begin for row in rows)
    queries = [
        Query(
            row.begin - origin,
            row.duration,
            tuple((numbers[table], _at_least_one(row.share * pages)) for table in row.tables),
        )
        for row in rows
    ]
    return sorted(queries, key=lambda query: query.start)


def _at_least_one(pages: float) -> int:
    return max(1, round(pages))


def _default_scale(rows: Sequence[_Row], page_size: int) -> float:
    scanned = sum(row.share * len(row.tables) for row in rows)
    return min(1.0, MAX_READS * page_size / (scanned * MEGABYTE))
