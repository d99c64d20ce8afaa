"""The tables of TPC-H, loaded into an instance.

The data is what TPC's generator makes, by its faithful and faster port
``tpchgen-cli``, and depends on nothing but the scale factor.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO

from tidepool.errors import TidepoolError
from tidepool.server import Instance

GENERATOR = "tpchgen-cli"

# below it there would be tables without rows, which the generator cannot make
LEAST_SCALE = 0.001

# as in TPC-H's clause 1.4; the order is that in which they are loaded
COLUMNS = {
    "region": """
        r_regionkey integer PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152)
    """,
    "nation": """
        n_nationkey integer PRIMARY KEY, n_name char(25) NOT NULL,
        n_regionkey integer NOT NULL, n_comment varchar(152)
    """,
    "supplier": """
        s_suppkey integer PRIMARY KEY, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
        s_nationkey integer NOT NULL, s_phone char(15) NOT NULL, s_acctbal decimal(15,2) NOT NULL,
        s_comment varchar(101) NOT NULL
    """,
    "customer": """
        c_custkey integer PRIMARY KEY, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
        c_nationkey integer NOT NULL, c_phone char(15) NOT NULL, c_acctbal decimal(15,2) NOT NULL,
        c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL
    """,
    "part": """
        p_partkey integer PRIMARY KEY, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL,
        p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size integer NOT NULL,
        p_container char(10) NOT NULL, p_retailprice decimal(15,2) NOT NULL,
        p_comment varchar(23) NOT NULL
    """,
    "partsupp": """
        ps_partkey integer, ps_suppkey integer, ps_availqty integer NOT NULL,
        ps_supplycost decimal(15,2) NOT NULL, ps_comment varchar(199) NOT NULL,
        PRIMARY KEY (ps_partkey, ps_suppkey)
    """,
    "orders": """
        o_orderkey bigint PRIMARY KEY, o_custkey integer NOT NULL, o_orderstatus char(1) NOT NULL,
        o_totalprice decimal(15,2) NOT NULL, o_orderdate date NOT NULL,
        o_orderpriority char(15) NOT NULL, o_clerk char(15) NOT NULL,
        o_shippriority integer NOT NULL, o_comment varchar(79) NOT NULL
    """,
    "lineitem": """
        l_orderkey bigint, l_partkey integer NOT NULL, l_suppkey integer NOT NULL,
        l_linenumber integer, l_quantity decimal(15,2) NOT NULL,
        l_extendedprice decimal(15,2) NOT NULL, l_discount decimal(15,2) NOT NULL,
        l_tax decimal(15,2) NOT NULL, l_returnflag char(1) NOT NULL,
        l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL,
        l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL,
        l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL,
        PRIMARY KEY (l_orderkey, l_linenumber)
    """,
}
TABLES = tuple(COLUMNS)

# The last terms make the order, hence every page, the same each time.
_CLUSTER = (
    "CREATE INDEX arrival ON lineitem"
    " (greatest(l_receiptdate, l_commitdate), l_orderkey, l_linenumber)",
    "CLUSTER lineitem USING arrival",
    "DROP INDEX arrival",
    "CREATE INDEX lineitem_shipdate ON lineitem"
    " USING brin (l_shipdate) WITH (pages_per_range = 32)",
)


def load(
    instance: Instance,
    scale: float,
    tables: Collection[str] = TABLES,
    *,
    clustered: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Create tables of TPC-H with their primary keys, and fill them.

    They are left frozen and analyzed, so that queries write no page of them.

    Args:
        instance: it runs; the tables are made in its database ``postgres``.
            A table's rows as text are in its directory for the moment.
        scale: the scale factor: 1 is about 1.3 GB with all tables, of which
            lineitem is 0.9 GB.
        tables: which of ``TABLES``.
        clustered: lineitem's rows are in the order in which an operational
            database would get them, by greatest(l_receiptdate, l_commitdate),
            and a BRIN index on l_shipdate finds ranges of them.
        progress: told what begins, in a few words.

    Raises:
        TidepoolError: there is no generator, it failed, or the server did,
            as it does when a table exists.  Tables loaded before stay.
    """
    unknown = sorted(set(tables) - set(TABLES))
    if unknown:
        raise TidepoolError(
            f"TPC-H has no table {unknown[0]}", hint=f"its tables are {', '.join(TABLES)}"
        )
    if not scale >= LEAST_SCALE:
        raise TidepoolError(f"scale factor {scale:g}: must be at least {LEAST_SCALE:g}")
    for table in TABLES:
        if table in tables:
            progress(f"loading {table}")
            _fill(instance, table, scale, clustered=clustered and table == "lineitem")
            progress(f"vacuuming {table}")
            instance.query(f"VACUUM (FREEZE, ANALYZE) {table}")


def _fill(instance: Instance, table: str, scale: float, *, clustered: bool) -> None:
    """Create a table and load it, in one transaction."""
    queries = [
        f"CREATE TABLE {table} ({COLUMNS[table]})",
        f"COPY {table} FROM STDIN (FORMAT csv, HEADER match)",
        *(_CLUSTER if clustered else ()),
    ]
    with tempfile.TemporaryFile(dir=instance.directory) as rows:
        _generate(table, scale, rows)
        rows.seek(0)
        instance.query("BEGIN", *queries, "COMMIT", input_file=rows)


def _generate(table: str, scale: float, rows: IO[bytes]) -> None:
    """Write a table's rows."""
    path = Path(sys.executable).with_name(GENERATOR)
    if not path.exists():
        raise TidepoolError(
            f"{GENERATOR} is not installed", hint="install it: pip install 'tidepool[workloads]'"
        )
    run = subprocess.run(
        [path, "csv", f"--scale-factor={scale:f}", "--tables", table, "--stdout", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=rows,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        complaints = run.stderr.strip() or f"exit status {run.returncode}"
        raise TidepoolError(f"{GENERATOR} failed: {complaints.splitlines()[-1]}")
