"""Transactions like TPC-C's for pgbench: tables, functions, the mix of five.

Each transaction is a call of a function, with TPC-C's shares, keys by its NURand
and its 1 % of orders from other warehouses.  What differs: no terminals and no
waiting, customers are found by their number only, and no order is rolled back for
an item that does not exist.  Rows are as wide as TPC-C's.
"""

from __future__ import annotations

from pgbench import Workload

from tidepool.errors import TidepoolError
from tidepool.server import Instance

DISTRICTS = 10  # of a warehouse
CUSTOMERS = 3000  # of a district, and orders at first
ITEMS = 100_000
UNDELIVERED = 900  # orders of a district at first

_TABLES = (
    "CREATE TABLE warehouse (w int PRIMARY KEY, ytd bigint, pad char(76)) WITH (fillfactor = 10)",
    "CREATE TABLE district (w int, d int, ytd bigint, next_o int, pad char(76),"
    " PRIMARY KEY (w, d)) WITH (fillfactor = 10)",
    "CREATE TABLE customer (w int, d int, c int, balance bigint, payments int, pad char(620),"
    " PRIMARY KEY (w, d, c)) WITH (fillfactor = 90)",
    "CREATE TABLE item (i int PRIMARY KEY, price int, pad char(64))",
    "CREATE TABLE stock (w int, i int, quantity int, ytd int, pad char(290),"
    " PRIMARY KEY (w, i)) WITH (fillfactor = 90)",
    "CREATE TABLE orders (w int, d int, o int, c int, carrier int, lines int,"
    " PRIMARY KEY (w, d, o))",
    "CREATE TABLE new_order (w int, d int, o int, PRIMARY KEY (w, d, o))",
    "CREATE TABLE order_line (w int, d int, o int, line int, i int, amount int, delivered bool,"
    " pad char(24), PRIMARY KEY (w, d, o, line))",
    "CREATE TABLE history (w int, d int, c int, amount int, pad char(24))",
    "CREATE INDEX ON orders (w, d, c, o)",
)

_W = "generate_series(1, {warehouses}) AS w"
_D = f"{_W}, generate_series(1, {DISTRICTS}) AS d"
_ROWS = (
    f"INSERT INTO warehouse SELECT w, 0, '' FROM {_W}",
    f"INSERT INTO district SELECT w, d, 0, {CUSTOMERS} + 1, '' FROM {_D}",
    f"INSERT INTO customer SELECT w, d, c, 0, 0, '' FROM {_D}, generate_series(1, {CUSTOMERS}) c",
    f"INSERT INTO item SELECT i, 100 + i % 9900, '' FROM generate_series(1, {ITEMS}) i",
    f"INSERT INTO stock SELECT w, i, 50, 0, '' FROM {_W}, generate_series(1, {ITEMS}) i",
    # each customer has ordered once, in an order that is another in each district
    f"INSERT INTO orders SELECT w, d, o, 1 + (o * 7 + w + d) % {CUSTOMERS},"
    f" CASE WHEN o <= {CUSTOMERS - UNDELIVERED} THEN 1 END, 10"
    f" FROM {_D}, generate_series(1, {CUSTOMERS}) o",
    f"INSERT INTO new_order SELECT w, d, o"
    f" FROM {_D}, generate_series({CUSTOMERS - UNDELIVERED + 1}, {CUSTOMERS}) o",
    "INSERT INTO order_line SELECT w, d, o, line,"
    f" 1 + (hashint4(o * 16 + line) & 2147483647) % {ITEMS}, 100, carrier IS NOT NULL, ''"
    " FROM orders, generate_series(1, 10) line",
)

_FUNCTIONS = f"""
-- TPC-C's NURand(a, 1, most)
CREATE FUNCTION nurand(a int, most int) RETURNS int LANGUAGE sql VOLATILE AS
$$ SELECT 1 + ((random(0, a) | random(1, most)) + a / 3) % most $$;

CREATE FUNCTION new_order(my_w int, my_d int, warehouses int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    my_o int; my_line int := 0; total bigint := 0; wanted record;
    my_c int := nurand(1023, {CUSTOMERS}); my_lines int := random(5, 15);
BEGIN
    PERFORM ytd FROM warehouse WHERE w = my_w;
    PERFORM balance FROM customer WHERE (w, d, c) = (my_w, my_d, my_c);
    UPDATE district SET next_o = next_o + 1 WHERE (w, d) = (my_w, my_d)
        RETURNING next_o - 1 INTO my_o;
    INSERT INTO orders VALUES (my_w, my_d, my_o, my_c, NULL, my_lines);
    INSERT INTO new_order VALUES (my_w, my_d, my_o);
    -- in the order of keys, so that no two wait for each other
    FOR wanted IN
        SELECT CASE WHEN random() < 0.01 THEN random(1, warehouses) ELSE my_w END AS w,
            nurand(8191, {ITEMS}) AS i, random(1, 10) AS quantity
        FROM generate_series(1, my_lines) ORDER BY 1, 2
    LOOP
        my_line := my_line + 1;
        total := total + wanted.quantity * (SELECT price FROM item WHERE i = wanted.i);
        UPDATE stock SET ytd = ytd + wanted.quantity,
            quantity = quantity - wanted.quantity
                + CASE WHEN quantity >= wanted.quantity + 10 THEN 0 ELSE 91 END
            WHERE (w, i) = (wanted.w, wanted.i);
        INSERT INTO order_line
            VALUES (my_w, my_d, my_o, my_line, wanted.i, wanted.quantity, false, '');
    END LOOP;
    RETURN total;
END $$;

CREATE FUNCTION payment(my_w int, my_d int, amount int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE my_c int := nurand(1023, {CUSTOMERS});
BEGIN
    UPDATE district SET ytd = ytd + amount WHERE (w, d) = (my_w, my_d);
    UPDATE customer SET balance = balance - amount, payments = payments + 1
        WHERE (w, d, c) = (my_w, my_d, my_c);
    INSERT INTO history VALUES (my_w, my_d, my_c, amount, '');
    UPDATE warehouse SET ytd = ytd + amount WHERE w = my_w;
END $$;

CREATE FUNCTION order_status(my_w int, my_d int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE my_c int := nurand(1023, {CUSTOMERS}); my_o int;
BEGIN
    PERFORM balance FROM customer WHERE (w, d, c) = (my_w, my_d, my_c);
    SELECT o INTO my_o FROM orders
        WHERE (w, d, c) = (my_w, my_d, my_c) ORDER BY o DESC LIMIT 1;
    RETURN (SELECT sum(amount) FROM order_line WHERE (w, d, o) = (my_w, my_d, my_o));
END $$;

-- of one district; TPC-C's delivery does this for all ten
CREATE FUNCTION delivery(my_w int, my_d int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE my_o int; my_c int;
BEGIN
    SELECT o INTO my_o FROM new_order WHERE (w, d) = (my_w, my_d)
        ORDER BY o LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF my_o IS NULL THEN RETURN; END IF;
    DELETE FROM new_order WHERE (w, d, o) = (my_w, my_d, my_o);
    UPDATE orders SET carrier = 1 WHERE (w, d, o) = (my_w, my_d, my_o) RETURNING c INTO my_c;
    UPDATE order_line SET delivered = true WHERE (w, d, o) = (my_w, my_d, my_o);
    UPDATE customer SET balance = balance +
            (SELECT sum(amount) FROM order_line WHERE (w, d, o) = (my_w, my_d, my_o))
        WHERE (w, d, c) = (my_w, my_d, my_c);
END $$;

CREATE FUNCTION stock_level(my_w int, my_d int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE my_o int := (SELECT next_o FROM district WHERE (w, d) = (my_w, my_d));
BEGIN
    RETURN (SELECT count(DISTINCT s.i) FROM order_line l JOIN stock s ON s.w = my_w AND s.i = l.i
        WHERE (l.w, l.d) = (my_w, my_d) AND l.o >= my_o - 20 AND l.o < my_o AND quantity < 15);
END $$;
"""

_MIX = """\\set w random(1, {warehouses})
\\set d random(1, 10)
\\set amount random(1, 5000)
\\set kind random(1, 100)
\\if :kind <= 45
SELECT new_order(:w, :d, {warehouses});
\\elif :kind <= 88
SELECT payment(:w, :d, :amount);
\\elif :kind <= 92
SELECT order_status(:w, :d);
\\elif :kind <= 96
SELECT delivery(:w, :d);
\\else
SELECT stock_level(:w, :d);
\\endif
"""

# what holds in every state: TPC-C's consistency conditions 1, 2 and 4, and the lines of orders
_WRONG = """
SELECT (SELECT count(*) FROM warehouse w WHERE ytd <>
            (SELECT sum(ytd) FROM district d WHERE d.w = w.w))
    + (SELECT count(*) FROM district d WHERE next_o - 1 <>
            (SELECT max(o) FROM orders o WHERE (o.w, o.d) = (d.w, d.d)))
    + (SELECT abs((SELECT sum(lines) FROM orders) - (SELECT count(*) FROM order_line)))
"""

WORKLOAD = Workload("transactions", settings=("enable_seqscan=off",))


def scripts(warehouses: int) -> tuple[str, ...]:
    """Return the script of pgbench that is the mix."""
    return (_MIX.format(warehouses=warehouses),)


def load(instance: Instance, warehouses: int) -> None:
    """Make and fill all tables; a warehouse takes about 100 MB."""
    instance.query(*_TABLES)
    instance.query(*(rows.format(warehouses=warehouses) for rows in _ROWS))
    instance.query(_FUNCTIONS)
    instance.query("VACUUM (FREEZE, ANALYZE)")


def check(instance: Instance) -> None:
    """Raise TidepoolError unless the tables agree."""
    if (wrong := instance.query(_WRONG)) != "0":
        raise TidepoolError(f"{wrong} violations of TPC-C's consistency conditions")
