"""Fifteen kinds of queries on resident data, as applications send them, and their tables.

Tables that are scanned whole are in parts, each read in some milliseconds, and
all together larger than a CPU's second-level cache.  Tables that are written
are unlogged, and filled anew whenever a server has been started.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pgbench import PARTS, Workload

from tidepool.errors import TidepoolError
from tidepool.server import Instance

# that writing sessions wait for nothing, and nobody else writes
SETTINGS = {
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "bgwriter_lru_maxpages": "0",
}

NARROW_ROWS = 45_000  # 200 pages
WIDE_ROWS = 7_000  # 1,000 pages
VISITS = 400_000
WRITTEN_ROWS = 20_000


@dataclass(frozen=True)
class Pattern:
    """A kind of query.

    Attributes:
        exercises: what of the server, in a few words.
        node: what the plan of its first statement must have.
        work: what pgbench does.
    """

    exercises: str
    node: str
    work: Workload


def _plans(*enabled: str) -> tuple[str, ...]:
    kinds = ("seqscan", "indexscan", "indexonlyscan", "bitmapscan", "nestloop", "hashjoin")
    others = (kind for kind in (*kinds, "mergejoin") if kind not in enabled)
    return tuple(f"enable_{kind}=off" for kind in others)


def _parts(query: str) -> tuple[str, ...]:
    return tuple(query.format(i) for i in range(PARTS))


_KEY = f"\\set key random(1, {WRITTEN_ROWS})\n"

PATTERNS = (
    Pattern(
        "aggregation over a narrow table, 226 rows a page: hardly a reference",
        "Seq Scan",
        Workload("count", _parts("SELECT count(*) FROM narrow_{};\n"), turn=0.03),
    ),
    Pattern(
        "aggregation over a wide one: a reference for each 7 rows",
        "Seq Scan",
        Workload("sum, wide", _parts("SELECT sum(v) FROM wide_{};\n")),
    ),
    Pattern(
        "scan of rows of the usual width into a hash table of 100 groups",
        "HashAggregate",
        Workload(
            "group by",
            _parts("SELECT aid % 100, count(*), sum(abalance) FROM scanned_{} GROUP BY 1;\n"),
            turn=0.05,
        ),
    ),
    Pattern(
        "scan of a narrow table that probes a hash table",
        "Hash Join",
        Workload(
            "hash join",
            _parts("SELECT count(*) FROM narrow_{} JOIN dimension USING (d);\n"),
            turn=0.04,
            settings=_plans("seqscan", "hashjoin"),
        ),
    ),
    Pattern(
        "scan of a narrow table, and a sort in memory",
        "Sort",
        Workload(
            "sort",
            _parts(f"SELECT v FROM narrow_{{}} ORDER BY v OFFSET {NARROW_ROWS - 1};\n"),
            turn=0.05,
        ),
    ),
    Pattern(
        "index lookups: a hundred rows of one table, each with its row of another",
        "Nested Loop",
        Workload(
            "nested loop",
            (
                f"\\set visit random(1, {VISITS - 100})\n"
                "SELECT sum(abalance) FROM visits JOIN pgbench_accounts USING (aid)"
                " WHERE visit BETWEEN :visit AND :visit + 99;\n",
            ),
            settings=_plans("indexscan", "nestloop"),
        ),
    ),
    Pattern(
        "index range scan: a thousand rows, in the order of the table",
        "Index Scan",
        Workload(
            "index range",
            (
                "\\set aid random(1, 999000)\n"
                "SELECT sum(abalance) FROM pgbench_accounts"
                " WHERE aid BETWEEN :aid AND :aid + 999;\n",
            ),
            settings=_plans("indexscan"),
        ),
    ),
    Pattern(
        "index-only scan of five thousand entries: leaves and the visibility map",
        "Index Only Scan",
        Workload(
            "index only",
            (
                "\\set aid random(1, 995000)\n"
                "SELECT count(*) FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 4999;\n",
            ),
            settings=_plans("indexonlyscan", "indexscan"),
        ),
    ),
    Pattern(
        "bitmap heap scan: 200 rows, nearly each on a page of its own, read ahead",
        "Bitmap Heap Scan",
        Workload(
            "bitmap",
            (
                "\\set aid random(1, 999500)\n"
                "SELECT sum(visit) FROM visits WHERE aid BETWEEN :aid AND :aid + 499;\n",
            ),
            settings=_plans("bitmapscan"),
        ),
    ),
    Pattern(
        "point lookups in ten pages of the table",
        "Index Scan",
        Workload(
            "hot set",
            (
                "\\set aid random(1, 610)\n"
                "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
            ),
            settings=_plans("indexscan"),
        ),
    ),
    Pattern(
        "four point lookups by a Zipfian distribution, then an update",
        "Index Scan",
        Workload(
            "zipfian",
            (
                "".join(
                    f"\\set aid{i} random_zipfian(1, 1000000, 1.07)\n"
                    f"SELECT abalance FROM pgbench_accounts WHERE aid = :aid{i};\n"
                    for i in range(4)
                )
                + f"\\set key random_zipfian(1, {WRITTEN_ROWS}, 1.07)\n"
                "UPDATE counted SET v = v + 1 WHERE key = :key;\n",
            ),
            settings=_plans("indexscan"),
        ),
    ),
    Pattern(
        "a page of the index, a page of the table, pruned now and then",
        "Index Scan",
        Workload(
            "HOT update",
            (f"{_KEY}UPDATE counted SET v = v + 1 WHERE key = :key;\n",),
            settings=_plans("indexscan"),
        ),
    ),
    Pattern(
        "an indexed column is updated: a new entry in each index",
        "Index Scan",
        Workload(
            "index update",
            (
                f"{_KEY}\\set place random(1, 1000000)\n"
                "UPDATE moved SET place = :place WHERE key = :key;\n",
            ),
            settings=_plans("indexscan"),
        ),
    ),
    Pattern(
        "single rows with random keys: the table's last page, any leaf of the index",
        "Insert",
        Workload(
            "insert",
            ("\\set key random(1, 1000000000)\nINSERT INTO arrived VALUES (:key, 1, 'a row');\n",),
        ),
    ),
    Pattern(
        "a short OLTP transaction: pgbench's own, after TPC-B",
        "Index Scan",
        Workload(
            "tpcb-like",
            (
                f"{_KEY}\\set teller random(1, 100)\n\\set branch random(1, 10)\n"
                "\\set delta random(-5000, 5000)\n"
                "BEGIN;\n"
                "UPDATE accounts SET balance = balance + :delta WHERE account = :key;\n"
                "SELECT balance FROM accounts WHERE account = :key;\n"
                "UPDATE tellers SET balance = balance + :delta WHERE teller = :teller;\n"
                "UPDATE branches SET balance = balance + :delta WHERE branch = :branch;\n"
                "INSERT INTO history VALUES (:teller, :branch, :key, :delta, now());\n"
                "END;\n",
            ),
            settings=_plans("indexscan"),
        ),
    ),
)

_READ = (
    *(
        f"CREATE TABLE narrow_{i} AS SELECT hashint4(n + {i}) AS v, n % 1000 AS d"
        f" FROM generate_series(1, {NARROW_ROWS}) AS n"
        for i in range(PARTS)
    ),
    *(
        f"CREATE TABLE wide_{i} AS SELECT n AS v, CAST('' AS char(1000)) AS filler"
        f" FROM generate_series(1, {WIDE_ROWS}) AS n"
        for i in range(PARTS)
    ),
    "CREATE TABLE dimension AS SELECT n AS d FROM generate_series(0, 999) AS n",
    "CREATE TABLE visits AS SELECT n AS visit, hashint4(n)::bigint & 1048575 AS aid"
    f" FROM generate_series(1, {VISITS}) AS n",
    "ALTER TABLE visits ALTER aid TYPE int, ADD PRIMARY KEY (visit)",
    "CREATE INDEX visits_aid ON visits (aid)",
)

# a table, its columns, its rows' columns from n, how many rows
_WRITTEN = (
    ("counted", "key int PRIMARY KEY, v int", "n, 0", WRITTEN_ROWS),
    ("moved", "key int PRIMARY KEY, place int", "n, hashint4(n) & 1048575", WRITTEN_ROWS),
    ("arrived", "key int, v int, filler char(80)", "hashint4(n), 1, 'a row'", WRITTEN_ROWS),
    ("accounts", "account int PRIMARY KEY, balance int, filler char(80)", "n, 0, ''", WRITTEN_ROWS),
    ("tellers", "teller int PRIMARY KEY, balance int, filler char(80)", "n, 0, ''", 100),
    ("branches", "branch int PRIMARY KEY, balance int, filler char(80)", "n, 0, ''", 10),
    ("history", "teller int, branch int, account int, delta int, at timestamptz", "", 0),
)


def make(instance: Instance) -> None:
    """Make all tables except those that pgbench.fill makes."""
    written = (
        f"CREATE UNLOGGED TABLE {table} ({columns}) WITH (fillfactor = 50)"
        for table, columns, _, _ in _WRITTEN
    )
    indexes = ("CREATE INDEX ON moved (place)", "CREATE INDEX ON arrived (key)")
    instance.query(*_READ, *written, *indexes)
    refill(instance)
    instance.query("VACUUM (FREEZE, ANALYZE)")


def refill(instance: Instance) -> None:
    """Fill the tables that are written, as they were in the beginning."""
    for table, _, columns, rows in _WRITTEN:
        queries = [f"TRUNCATE {table}"]
        if rows:
            queries.append(
                f"INSERT INTO {table} SELECT {columns} FROM generate_series(1, {rows}) n"
            )
        instance.query(*queries, f"VACUUM (FREEZE, ANALYZE) {table}")


def warm(instance: Instance) -> None:
    """Bring all in that is read, and fill what is written."""
    refill(instance)
    tables = [f"{name}_{i}" for name in ("narrow", "wide") for i in range(PARTS)]
    for table in (*tables, "visits", "dimension"):
        instance.query(f"SELECT count(*) FROM {table}")
    instance.query(
        "SET enable_seqscan = off; SET enable_bitmapscan = off;"
        " SELECT count(*) FROM visits WHERE visit > 0; SELECT count(*) FROM visits WHERE aid >= 0"
    )


def check_plans(instance: Instance) -> None:
    """Raise TidepoolError unless every query is executed in the way that is meant."""
    for pattern in PATTERNS:
        for script in pattern.work.scripts:
            lines = [line for line in script.splitlines() if not line.startswith("\\")]
            first = next(line for line in lines if line != "BEGIN;")
            query = re.sub(r":\w+", "77", first)
            settings = ";".join(f"SET {setting}" for setting in pattern.work.settings)
            plan = instance.query(f"{settings}; EXPLAIN (COSTS off) {query}")
            if not re.search(rf"(^|->) *{pattern.node}\b", plan, re.MULTILINE):
                raise TidepoolError(f"this is no {pattern.node}:\n{query}\n{plan}")
