"""Kinds of scans, and ways in which they can end: queries and scripts of psql."""

from __future__ import annotations

from dataclasses import dataclass

ROWS_PER_BLOCK = 10  # of table scanned, which scan_ends makes


@dataclass(frozen=True)
class Kind:
    """A kind of scan.

    Attributes:
        node: what its plan has.
        settings: with which it is planned.
        query: gives rows with a column id; ``{rows}`` is the number of the table's rows.
        parallel: several processes scan, unless a cursor does.
    """

    name: str
    node: str
    settings: str
    query: str
    parallel: bool = False


_SEQUENTIAL = "SET enable_bitmapscan = off; SET enable_indexscan = off"
_BITMAP = "SET enable_seqscan = off; SET enable_indexscan = off"
_INDEX = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"
_PARALLEL = (
    "SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0;"
    " SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;"
    " SET min_parallel_index_scan_size = 0"
)
_SERIAL = "SET max_parallel_workers_per_gather = 0"
_MOST = "SELECT id, pad FROM scanned WHERE id BETWEEN {rows} / 10 AND {rows} * 9 / 10"

KINDS = (
    Kind("sequential", "Seq Scan", f"{_SERIAL}; {_SEQUENTIAL}", "SELECT id, pad FROM scanned"),
    Kind("bitmap", "Bitmap Heap Scan", f"{_SERIAL}; {_BITMAP}", _MOST),
    Kind(
        "tid range",
        "Tid Range Scan",
        f"{_SERIAL}; {_SEQUENTIAL}",
        f"SELECT id, pad FROM scanned WHERE ctid >= format('(%s,0)', {{rows}} / 10 /"
        f" {ROWS_PER_BLOCK})::tid",
    ),
    Kind(
        "sample", "Sample Scan", _SERIAL, "SELECT id, pad FROM scanned TABLESAMPLE BERNOULLI (60)"
    ),
    Kind(
        "index",
        "Index Scan",
        f"{_SERIAL}; {_INDEX}; SET enable_indexonlyscan = off",
        f"{_MOST} ORDER BY id",
    ),
    Kind(
        "index, backward",
        "Index Scan Backward",
        f"{_SERIAL}; {_INDEX}; SET enable_indexonlyscan = off",
        f"{_MOST} ORDER BY id DESC",
    ),
    Kind(
        "index-only",
        "Index Only Scan",
        f"{_SERIAL}; {_INDEX}",
        "SELECT id FROM scanned WHERE id > {rows} / 10 ORDER BY id",
    ),
    Kind(
        "trailing",
        "Index Scan using scanned_place",
        f"{_SERIAL}; {_INDEX}; SET enable_indexonlyscan = off",
        "SELECT id, pad FROM scanned WHERE place > {rows} / 10 ORDER BY place",
    ),
    Kind(
        "parallel sequential",
        "Parallel Seq Scan",
        f"{_PARALLEL}; {_SEQUENTIAL}",
        "SELECT id, pad FROM scanned",
        parallel=True,
    ),
    Kind(
        "parallel bitmap",
        "Parallel Bitmap Heap Scan",
        f"{_PARALLEL}; {_BITMAP}",
        _MOST,
        parallel=True,
    ),
    Kind(
        "parallel index",
        "Parallel Index Scan",
        f"{_PARALLEL}; {_INDEX}; SET enable_indexonlyscan = off",
        _MOST,
        parallel=True,
    ),
)


@dataclass(frozen=True)
class Way:
    """How a scan ends.

    Attributes:
        script: what psql does; {query} reads rows, {strike} is the id from which on
            something strikes, {number} rows come first.
        abandoned: its query did not come to an end, so that nobody ended its scan.
        cursor: there is a cursor, so that no plan is parallel.
        last: the session is gone then.
    """

    name: str
    script: str
    abandoned: bool = False
    cursor: bool = False
    last: bool = False


_HALF = "DECLARE c CURSOR FOR {query}; MOVE {number} FROM c"
_FAILING = "SELECT 1 / (id < {strike})::int FROM ({query}) s"

WAYS = (
    Way("read to the end", "SELECT count(*) FROM ({query}) s;"),
    Way("limit", "SELECT FROM ({query}) s OFFSET {number} LIMIT 1;"),
    Way("exists", "SELECT EXISTS ({query});"),
    Way(
        "rescanned",
        "SET enable_material = off; SELECT FROM generate_series(1, 3) g,"
        " LATERAL ({query} OFFSET 0) s OFFSET {number} LIMIT 1;",
    ),
    Way("division by zero", f"{_FAILING};", abandoned=True),
    Way(
        "cancelled",
        "SELECT count(CASE WHEN id >= {strike} THEN cancel_me() END) FROM ({query}) s;",
        abandoned=True,
    ),
    Way(
        "statement_timeout",
        "SET statement_timeout = '{milliseconds}ms';"
        " SELECT count(pg_sleep(0.001)) FROM ({query}) s;",
        abandoned=True,
    ),
    Way(
        "COPY to a program that ends",
        "COPY (SELECT id, repeat('x', 700) FROM ({query}) s) TO PROGRAM 'true';",
        abandoned=True,
    ),
    Way("cursor closed", f"BEGIN; {_HALF}; CLOSE c; COMMIT;", cursor=True),
    Way("cursor left to commit", f"BEGIN; {_HALF}; COMMIT;", cursor=True),
    Way("cursor left to rollback", f"BEGIN; {_HALF}; ROLLBACK;", abandoned=True, cursor=True),
    Way(
        "subtransaction aborted",
        f"BEGIN; SAVEPOINT s; {_HALF}; ROLLBACK TO s; COMMIT;",
        abandoned=True,
        cursor=True,
    ),
    Way(
        "read in a subtransaction that is aborted",
        "BEGIN; DECLARE c CURSOR FOR {query}; SAVEPOINT s; MOVE {number} FROM c;"
        " ROLLBACK TO s; MOVE 1 FROM c; COMMIT;",
        cursor=True,
    ),
    Way(
        "subtransaction released",
        f"BEGIN; SAVEPOINT s; {_HALF}; RELEASE s; MOVE 1 FROM c; COMMIT;",
        cursor=True,
    ),
    Way(
        "cursor that fails",
        f"BEGIN; DECLARE c CURSOR FOR {_FAILING}; MOVE ALL FROM c; ROLLBACK;",
        abandoned=True,
        cursor=True,
    ),
    Way(
        "scrolled back",
        "BEGIN; DECLARE c SCROLL CURSOR FOR {query}; MOVE {number} FROM c;"
        " MOVE BACKWARD 100 FROM c; CLOSE c; COMMIT;",
        cursor=True,
    ),
    Way(
        "holdable cursor",
        "BEGIN; DECLARE c CURSOR WITH HOLD FOR {query}; MOVE {number} FROM c; COMMIT;"
        " MOVE 1 FROM c; CLOSE c;",
        cursor=True,
    ),
    Way(
        "holdable cursor that fails",
        f"BEGIN; DECLARE c CURSOR WITH HOLD FOR {_FAILING}; MOVE 1 FROM c; COMMIT;",
        abandoned=True,
        cursor=True,
    ),
    Way(
        "loop left",
        "DO $$ DECLARE r record; BEGIN FOR r IN {query} LOOP"
        " EXIT WHEN r.id >= {strike}; END LOOP; END $$;",
        cursor=True,
    ),
    Way(
        "loop returned from",
        "DO $$ DECLARE r record; BEGIN FOR r IN {query} LOOP"
        " IF r.id >= {strike} THEN RETURN; END IF; END LOOP; END $$;",
        cursor=True,
    ),
    Way(
        "exception caught in the loop",
        "DO $$ DECLARE r record; BEGIN FOR r IN {query} LOOP"
        " BEGIN IF r.id >= {strike} THEN RAISE EXCEPTION 'x'; END IF;"
        " EXCEPTION WHEN OTHERS THEN EXIT; END; END LOOP; END $$;",
        cursor=True,
    ),
    Way(
        "exception caught around the loop",
        "DO $$ DECLARE r record; BEGIN BEGIN FOR r IN {query} LOOP"
        " IF r.id >= {strike} THEN RAISE EXCEPTION 'x'; END IF; END LOOP;"
        " EXCEPTION WHEN OTHERS THEN NULL; END; END $$;",
        abandoned=True,
        cursor=True,
    ),
    Way(
        "rows of a function that nobody takes",
        "CREATE OR REPLACE FUNCTION pg_temp.ids() RETURNS SETOF int LANGUAGE sql AS"
        " $$ SELECT id FROM ({query}) s $$; SELECT pg_temp.ids() LIMIT {number};",
        cursor=True,
    ),
    Way("connection closed", f"BEGIN; {_HALF}; \\connect\n", abandoned=True, cursor=True),
    Way(
        "terminated",
        "SELECT count(CASE WHEN id >= {strike} THEN terminate_me() END) FROM ({query}) s;",
        abandoned=True,
        last=True,
    ),
)


def fits(kind: Kind, way: Way) -> bool:
    """Whether a scan of this kind can end in this way, as this kind."""
    return not (kind.parallel and way.cursor)
