"""The tables and indexes of TPC-C: where each row is, and the orders placed so far.

Cardinalities are those of clause 1.2, row widths the typical ones given
there, keys are of 4-byte integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidepool.generators.storage import Btree, Heap, entries_per_page, rows_per_page
from tidepool.generators.transactions import Statements
from tidepool.traces.draws import Integers, Random, below, hashed, nurand
from tidepool.traces.model import Kind

DISTRICTS = 10  # of a warehouse
CUSTOMERS = 3000  # of a district
ITEMS = 100_000
LAST_NAMES = 1000
LOADED = 3000  # orders of a district at first, one of each customer
DELIVERED = 2100  # of these, the ones already delivered
LINES = 10  # of an order, in the mean

INTEGER = 4  # bytes
NAME = 2 * INTEGER + 17 + 17  # warehouse, district, last and first name

RELATIONS = dict(
    enumerate(
        (
            "warehouse",
            "warehouse_pkey",
            "district",
            "district_pkey",
            "customer",
            "customer_pkey",
            "customer_name",
            "history",
            "orders",
            "orders_pkey",
            "orders_customer",
            "new_order",
            "new_order_pkey",
            "order_line",
            "order_line_pkey",
            "item",
            "item_pkey",
            "stock",
            "stock_pkey",
        ),
        start=1,
    )
)
NUMBER = {name: number for number, name in RELATIONS.items()}

# What is remembered of an order: where its rows are, whose it is.
ORDER = np.dtype(
    [
        ("row", np.int64),
        ("new_order_row", np.int64),
        ("first_line", np.int64),
        ("lines", np.int8),
        ("customer", np.int16),
    ]
)


@dataclass(frozen=True)
class Keyed:
    """A table whose rows lie in the order of its primary key, and the key's index."""

    heap: Heap
    pkey: Btree

    def look_up(
        self, statements: Statements, place: Integers, row: Integers, kind: Kind = Kind.READ
    ) -> None:
        """Go down the index to rows, and read or update them."""
        statements.descend(place, self.pkey, self.pkey.leaf(row))
        statements.touch(place, self.heap.page(row), kind)


@dataclass(frozen=True)
class OrderIndex:
    """An index by district and order.

    The entries loaded lie in the order of districts.  Those of later orders
    come after their district's, in leaves that are added as the districts
    fill them, all districts at about the same pace.
    """

    tree: Btree
    districts: int
    first: int  # the first order of each district that is in it
    per_order: int  # entries of an order

    def leaf(self, district: Integers, order: Integers) -> tuple[Integers, Integers]:
        """Return the leaves with these orders, and the initial leaves next to which they hang."""
        loaded = (LOADED - self.first) * self.per_order  # entries of a district
        entry = np.minimum((order - self.first) * self.per_order, loaded - 1)
        under = self.tree.leaf(district * loaded + entry)
        filled = (order - LOADED) * self.per_order // self.tree.per_page
        added = self.tree.levels[0] + filled * self.districts + district
        return np.where(order < LOADED, under, added), under

    def descend(
        self, statements: Statements, place: Integers, district: Integers, order: Integers
    ) -> None:
        """Go down to orders."""
        statements.descend(place, self.tree, *self.leaf(district, order))

    def enter(
        self, statements: Statements, place: Integers, district: Integers, order: Integers
    ) -> None:
        """Put an entry of an order in."""
        statements.enter(place, self.tree, *self.leaf(district, order))


def _heap(name: str, width: int) -> Heap:
    return Heap(NUMBER[name], rows_per_page(width))


def _index(name: str, entries: int, key_width: int) -> Btree:
    return Btree(NUMBER[name], entries, entries_per_page(key_width))


def _keyed(name: str, rows: int, width: int, key_columns: int) -> Keyed:
    return Keyed(_heap(name, width), _index(f"{name}_pkey", rows, key_columns * INTEGER))


def _by_order(
    name: str, districts: int, first: int, per_order: int, key_columns: int
) -> OrderIndex:
    loaded = districts * (LOADED - first) * per_order
    return OrderIndex(_index(name, loaded, key_columns * INTEGER), districts, first, per_order)


class Database:
    """The database, changed by New-Order, Payment and Delivery."""

    def __init__(self, warehouses: int, seed: int, rng: Random) -> None:
        self.warehouses = warehouses
        districts = warehouses * DISTRICTS
        self.warehouse = _keyed("warehouse", warehouses, 89, 1)
        self.district = _keyed("district", districts, 95, 2)
        self.customer = _keyed("customer", districts * CUSTOMERS, 655, 3)
        self.customer_name = _index("customer_name", districts * CUSTOMERS, NAME)
        self.history = _heap("history", 46)
        self.orders = _heap("orders", 24)
        self.orders_pkey = _by_order("orders_pkey", districts, 0, 1, 3)
        self.orders_customer = _index("orders_customer", districts * LOADED, 4 * INTEGER)
        self.new_order = _heap("new_order", 8)
        self.new_order_pkey = _by_order("new_order_pkey", districts, DELIVERED, 1, 3)
        self.order_line = _heap("order_line", 54)
        self.order_line_pkey = _by_order("order_line_pkey", districts, 0, LINES, 4)
        self.item = _keyed("item", ITEMS, 82, 1)
        self.stock = _keyed("stock", warehouses * ITEMS, 306, 2)

        self._seed = seed
        self.c_customer, self.c_item, self.c_name = (
            int(below(rng, a + 1, 1)[0]) for a in (1023, 8191, 255)
        )
        self._load_customers(rng)
        self._load_orders(districts, rng)

    def _load_customers(self, rng: Random) -> None:
        """Name a district's customers (clause 4.3.3.1); all districts alike."""
        count = CUSTOMERS - LAST_NAMES
        c_load = int(below(rng, 256, 1)[0])  # not the one with which customers are looked for
        drawn = nurand((rng.random(count), rng.random(count)), 255, c_load, 0, LAST_NAMES - 1)
        name = np.concatenate([np.arange(LAST_NAMES), drawn])
        self.by_name = np.argsort(name, kind="stable")  # customers in the order of their names
        self.count_of_name = np.bincount(name, minlength=LAST_NAMES)
        self.first_of_name = np.cumsum(self.count_of_name) - self.count_of_name

    def _load_orders(self, districts: int, rng: Random) -> None:
        """Place each district's first orders, in the order of districts."""
        number = np.arange(districts * LOADED).reshape(districts, LOADED)
        self.order = np.zeros((districts, LOADED), ORDER)  # by district and number in it
        self.order["row"] = number
        self.order["new_order_row"] = (
            number - (np.arange(districts)[:, None] + 1) * DELIVERED  # of the pending ones
        )
        self.order["lines"] = 5 + below(rng, 11, number.shape)
        lines = np.cumsum(self.order["lines"], dtype=np.int64).reshape(number.shape)
        self.order["first_line"] = lines - self.order["lines"]
        self.order["customer"] = np.argsort(rng.random(number.shape), axis=1, kind="stable")
        self.last_order = np.argsort(self.order["customer"], axis=1)  # by district and customer
        self.next_order = np.full(districts, LOADED)
        self.delivered = np.full(districts, DELIVERED)
        self._orders = number.size
        self._lines = self._loaded_lines = int(lines[-1, -1])
        self._history = number.size

    def place_orders(
        self, district: Integers, order: Integers, customer: Integers, lines: Integers
    ) -> NDArray[Any]:
        """Append orders, each the next one of its district; return what is remembered of them."""
        placed = np.zeros(len(district), ORDER)
        placed["row"] = self._orders + np.arange(len(district))
        placed["new_order_row"] = placed["row"] - len(self.next_order) * DELIVERED
        placed["first_line"] = self._lines + np.cumsum(lines) - lines
        placed["lines"] = lines
        placed["customer"] = customer
        self._orders += len(district)
        self._lines += int(lines.sum())

        np.add.at(self.next_order, district, 1)
        room = self.order.shape[1]
        if self.next_order.max() > room:
            more = np.zeros((len(self.order), room // 2), ORDER)
            self.order = np.concatenate([self.order, more], axis=1)
        self.order[district, order] = placed
        self.last_order[district, customer] = order
        return placed

    def new_history(self, count: int) -> Integers:
        """Append rows to the history; return their numbers."""
        self._history += count
        return np.arange(self._history - count, self._history)

    def item_of(self, line: Integers) -> Integers:
        """Return the items on these rows of order_line: uniform when loaded, later skewed."""
        uniform = hashed(self._seed, 2 * line), hashed(self._seed, 2 * line + 1)
        loaded = (uniform[0] * ITEMS).astype(np.int64)
        placed = nurand(uniform, 8191, self.c_item, 1, ITEMS)
        return np.where(line < self._loaded_lines, loaded, placed)

    def customer_leaf(self, district: Integers, customer: Integers) -> Integers:
        """Return the leaves of orders_customer with these customers' orders."""
        return self.orders_customer.leaf(district * CUSTOMERS + customer)
