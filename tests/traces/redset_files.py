"""Files of Redset's schema."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

BEGIN = datetime(2024, 3, 1)

# All columns of the published files.
SCHEMA = pa.schema(
    {
        "instance_id": pa.int32(),
        "cluster_size": pa.float64(),
        "user_id": pa.int64(),
        "database_id": pa.int64(),
        "query_id": pa.int64(),
        "arrival_timestamp": pa.timestamp("us"),
        "compile_duration_ms": pa.float64(),
        "queue_duration_ms": pa.int64(),
        "execution_duration_ms": pa.int64(),
        "feature_fingerprint": pa.string(),
        "was_aborted": pa.int64(),
        "was_cached": pa.int64(),
        "cache_source_query_id": pa.float64(),
        "query_type": pa.string(),
        "num_permanent_tables_accessed": pa.float64(),
        "num_external_tables_accessed": pa.float64(),
        "num_system_tables_accessed": pa.float64(),
        "read_table_ids": pa.string(),
        "write_table_ids": pa.string(),
        "mbytes_scanned": pa.float64(),
        "mbytes_spilled": pa.float64(),
        "num_joins": pa.int64(),
        "num_scans": pa.int64(),
        "num_aggregations": pa.int64(),
    }
)

DEFAULTS: dict[str, Any] = {
    "instance_id": 5,
    "cluster_size": 2.0,
    "user_id": 1,
    "database_id": 0,
    "compile_duration_ms": None,
    "queue_duration_ms": 0,
    "execution_duration_ms": 1000,
    "feature_fingerprint": "x",
    "was_aborted": 0,
    "was_cached": 0,
    "query_type": "select",
    "write_table_ids": None,
    "mbytes_scanned": 8.192,  # 1000 pages
    "num_joins": 0,
    "num_scans": 1,
    "num_aggregations": 0,
}


def query(number: int, seconds: float, tables: str | None = "10", **facts: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(SCHEMA.names),
        **DEFAULTS,
        "query_id": number,
        "arrival_timestamp": BEGIN + timedelta(seconds=seconds),
        "read_table_ids": tables,
        **facts,
    }


def write(path: Path, queries: list[dict[str, Any]], **options: Any) -> Path:
    pq.write_table(pa.Table.from_pylist(queries, SCHEMA), path, **options)
    return path
