"""Queries like those of an operational data store, for pgbench on live servers.

The live form of the generator of this name (docs/generators.md, "ods"): tables
with TPC-H's numbers of rows and widths, orders and their lines in the order of
their days, a BRIN index that finds the lines and orders of a range of days,
and the same mix.  Four tenths of the queries report on the lines of some days, three
also look up parts at random, two look up the customers and the lines of orders of some
days, one looks up whole orders.  The last day of the range is Zipf-distributed
backwards from today.

All of a query follows from pgbench's seed, so two runs with one seed do the same.
"""

from __future__ import annotations

from pgbench import Workload

from tidepool.generators.ods import (
    CUSTOMERS,
    DAYS,
    LINES,
    ORDERS,
    PARTS,
    RANGES,
    SUPPLIERS,
)
from tidepool.server import Instance

LOOKUPS = 40  # rows that a query looks up in each table
ALPHA = 1.001  # the least that pgbench has; the generator has 1

# nested loops over primary keys, ranges by BRIN
WORKLOAD = Workload(
    "ods",
    settings=(
        *("enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off"),
        *("enable_memoize=off", "enable_material=off", "enable_indexonlyscan=off"),
    ),
)

# rows are as wide as the generator's
_TABLES = """
CREATE TABLE customer AS SELECT c, 0 AS balance, repeat('c', 146) AS pad
    FROM generate_series(1, {customers}) AS c;
CREATE TABLE part AS SELECT p, p % 1000 AS price, repeat('p', 122) AS pad
    FROM generate_series(1, {parts}) AS p;
CREATE TABLE partsupp AS SELECT p, s, p % 500 AS available, repeat('s', 107) AS pad
    FROM generate_series(1, {parts}) AS p, generate_series(1, {suppliers}) AS s ORDER BY p, s;
CREATE TABLE orders AS
    SELECT o, ((o - 1) * {days}::bigint / {orders})::int AS day,
        1 + (hashint4(o) & 2147483647) % {customers} AS c, repeat('o', 63) AS pad
    FROM generate_series(1, {orders}) AS o;
CREATE TABLE lineitem AS
    SELECT o, line, ((o - 1) * {days}::bigint / {orders})::int AS day,
        1 + (hashint4(o * 8 + line) & 2147483647) % {parts} AS p, o % 97 AS price,
        repeat('l', 63) AS pad
    FROM generate_series(1, {orders}) AS o, generate_series(1, {lines}) AS line ORDER BY o, line;
ALTER TABLE customer ADD PRIMARY KEY (c);
ALTER TABLE part ADD PRIMARY KEY (p);
ALTER TABLE partsupp ADD PRIMARY KEY (p, s);
ALTER TABLE orders ADD PRIMARY KEY (o);
ALTER TABLE lineitem ADD PRIMARY KEY (o, line);
CREATE INDEX ON orders USING brin (day) WITH (pages_per_range = 16);
CREATE INDEX ON lineitem USING brin (day) WITH (pages_per_range = 16);
-- numbers from 0 on that look random, of a query's seed and a row's number
CREATE FUNCTION draw(seed int, n int, below int) RETURNS int LANGUAGE sql IMMUTABLE AS
$$ SELECT ((hashint4extended(n, seed) & 9223372036854775807) % below)::int $$;
"""

_SCRIPT = """\\set kind random(1, 10)
\\set back random_zipfian(1, {days}, {alpha})
\\set range random(1, 3)
\\set seed random(1, 2000000000)
\\set last {days} - :back
\\set length CASE WHEN :range = 1 THEN {short} WHEN :range = 2 THEN {middle} ELSE {long} END
\\set first greatest(0, :last - :length + 1)
\\set order 1 + :first * {orders} / {days}
\\set orders_of 1 + (:last + 1) * {orders} / {days} - :order
\\if :kind <= 7
SELECT count(*), sum(price) FROM lineitem WHERE day BETWEEN :first AND :last;
\\elif :kind <= 9
SELECT count(*), sum(c) FROM orders WHERE day BETWEEN :first AND :last;
\\endif
\\if :kind > 4 and :kind <= 7
SELECT sum(price)
    FROM (SELECT 1 + draw(:seed, i, {parts}) AS p
        FROM generate_series(1, {lookups}) AS i OFFSET 0) AS drawn
    JOIN part USING (p);
\\elif :kind > 7 and :kind <= 9
SELECT sum(balance), sum(price)
    FROM (SELECT 1 + draw(:seed, i, {customers}) AS c, :order + draw(:seed, -i, :orders_of) AS o
        FROM generate_series(1, {lookups}) AS i OFFSET 0) AS drawn
    JOIN customer USING (c) JOIN lineitem USING (o) WHERE line = 1;
\\elif :kind > 9
SELECT sum(balance), sum(lineitem.price), sum(available)
    FROM (SELECT :order + draw(:seed, i, :orders_of) AS o, 1 + draw(:seed, -i, {customers}) AS c,
            1 + draw(:seed + 1, i, {parts}) AS p, 1 + draw(:seed + 1, -i, {suppliers}) AS s
        FROM generate_series(1, {lookups}) AS i OFFSET 0) AS drawn
    JOIN orders USING (o) JOIN lineitem USING (o)
    JOIN customer ON customer.c = drawn.c
    JOIN partsupp ON (partsupp.p, partsupp.s) = (drawn.p, drawn.s)
    WHERE line = 1;
\\endif
"""


def _numbers(scale: float) -> dict[str, int]:
    return {
        "orders": round(ORDERS * scale),
        "customers": round(CUSTOMERS * scale),
        "parts": round(PARTS * scale),
        "suppliers": SUPPLIERS,
        "lines": LINES,
        "days": DAYS,
    }


def load(instance: Instance, scale: float) -> None:
    """Make and fill all tables; at scale 1 they take about 1.2 GB."""
    instance.query(_TABLES.format(**_numbers(scale)))
    instance.query("VACUUM (FREEZE, ANALYZE)")


def scripts(scale: float) -> tuple[str, ...]:
    """Return the script of pgbench that is the mix."""
    short, middle, long = RANGES
    return (
        _SCRIPT.format(
            **_numbers(scale), alpha=ALPHA, lookups=LOOKUPS, short=short, middle=middle, long=long
        ),
    )
