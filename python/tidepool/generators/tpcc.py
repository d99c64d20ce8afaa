"""A TPC-C-like mix: the five transactions, as the pages that they touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tidepool.generators.base import GeneratedTrace, length_parameter
from tidepool.generators.tpcc_database import (
    CUSTOMERS,
    DISTRICTS,
    ITEMS,
    LAST_NAMES,
    RELATIONS,
    Database,
)
from tidepool.generators.transactions import Statements, Transactions, ordinals, run
from tidepool.traces.draws import Integers, Random, below, choose, nurand, sources
from tidepool.traces.model import Chunk, Kind
from tidepool.traces.parameters import parameter, seed_parameter
from tidepool.traces.streams import cut

NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL = range(5)
SHARES = (0.45, 0.43, 0.04, 0.04, 0.04)  # clause 5.2.3
BATCH = 1024  # transactions generated at a time
RECENT_ORDERS = 20  # whose lines Stock-Level reads (clause 2.8)


@dataclass(frozen=True, kw_only=True)
class Tpcc(GeneratedTrace):
    """A TPC-C-like mix of transactions over nine tables and their indexes.

    About 12,550 pages a warehouse and 1,700 for the items; the tables of
    orders grow.
    """

    command = "tpcc"
    relations = MappingProxyType(RELATIONS)

    warehouses: int = parameter(5, "warehouses", low=1, high=1000)
    length: int = length_parameter(2_000_000)
    backends: int = parameter(16, "backends that run transactions", low=1, high=BATCH)
    rate: float = parameter(
        50_000.0, "references per second, of all backends together", low=1e-3, high=1e9
    )
    repeats: int = parameter(
        0, "correlated references that follow each reference", low=0, high=1000
    )
    seed: int = seed_parameter()

    def _events(self) -> Iterator[Chunk]:
        for_database, for_transactions, for_times = sources(self.seed, 3)
        database = Database(self.warehouses, self.seed, for_database)
        stream = run(
            _Mix(database, for_transactions).batches(),
            rng=for_times,
            backends=self.backends,
            rate=self.rate,
            repeats=self.repeats,
        )
        return cut(stream, self.length)


class _Mix:
    """Draws transactions and carries them out.

    Each method named after a transaction is given the numbers of those
    transactions in the batch and, by ``self.warehouse`` and ``self.district``,
    where each was entered.  Warehouses, districts (of all warehouses),
    customers and orders (of a district) and items are numbered from 0.
    """

    def __init__(self, database: Database, rng: Random) -> None:
        self.db = database
        self.rng = rng

    def batches(self) -> Iterator[Transactions]:
        while True:
            yield self._batch()

    def _batch(self) -> Transactions:
        kind = choose(self.rng, SHARES, BATCH)
        self.statements = Statements(BATCH)
        self.warehouse = below(self.rng, self.db.warehouses, BATCH)
        self.district = self.warehouse * DISTRICTS + below(self.rng, DISTRICTS, BATCH)
        # the order that comes next in the district when the transaction begins
        self.next_order = self.db.next_order[self.district] + _earlier(
            self.district, kind == NEW_ORDER
        )
        for transaction, carry_out in (
            (ORDER_STATUS, self._order_status),  # before this batch's orders are placed
            (NEW_ORDER, self._new_order),
            (PAYMENT, self._payment),
            (DELIVERY, self._delivery),
            (STOCK_LEVEL, self._stock_level),  # after: its orders may be of this batch
        ):
            carry_out(np.flatnonzero(kind == transaction))
        return self.statements.gather()

    def _new_order(self, transaction: Integers) -> None:
        """Clause 2.4: one step for the head of the order, one for each line."""
        db, work = self.db, self.statements
        warehouse, district = self.warehouse[transaction], self.district[transaction]
        customer = self._nurand(1023, db.c_customer, 1, CUSTOMERS, len(transaction))
        order = self.next_order[transaction]
        lines = 5 + below(self.rng, 11, len(transaction))
        placed = db.place_orders(district, order, customer, lines)

        head = work.place(transaction)
        db.warehouse.look_up(work, head, warehouse)
        db.district.look_up(work, head, district, Kind.WRITE)
        db.customer.look_up(work, head, district * CUSTOMERS + customer)
        work.insert(head, db.orders.page(placed["row"]))
        db.orders_pkey.enter(work, head, district, order)
        work.enter(head, db.orders_customer, db.customer_leaf(district, customer))
        work.insert(head, db.new_order.page(placed["new_order_row"]))
        db.new_order_pkey.enter(work, head, district, order)

        ordinal = ordinals(lines)
        place = work.place(np.repeat(transaction, lines), 1 + ordinal)
        row = np.repeat(placed["first_line"], lines) + ordinal
        item = db.item_of(row)
        supplier = self._elsewhere(np.repeat(warehouse, lines), 0.01)
        db.item.look_up(work, place, item)
        db.stock.look_up(work, place, supplier * ITEMS + item, Kind.WRITE)
        work.insert(place, db.order_line.page(row))
        db.order_line_pkey.enter(work, place, np.repeat(district, lines), np.repeat(order, lines))

    def _payment(self, transaction: Integers) -> None:
        """Clause 2.5."""
        db, work = self.db, self.statements
        place = work.place(transaction)
        warehouse, district = self.warehouse[transaction], self.district[transaction]
        payer = self._elsewhere(warehouse, 0.15)
        any_district = payer * DISTRICTS + below(self.rng, DISTRICTS, len(transaction))
        payer_district = np.where(payer == warehouse, district, any_district)

        db.warehouse.look_up(work, place, warehouse, Kind.WRITE)
        db.district.look_up(work, place, district, Kind.WRITE)
        customer, _ = self._find_customer(place, payer_district)
        db.customer.look_up(work, place, payer_district * CUSTOMERS + customer, Kind.WRITE)
        work.insert(place, db.history.page(db.new_history(len(transaction))))

    def _order_status(self, transaction: Integers) -> None:
        """Clause 2.6; the customer's last order is the last one of an earlier batch."""
        db, work = self.db, self.statements
        place = work.place(transaction)
        district = self.district[transaction]
        customer, by_number = self._find_customer(place, district)
        db.customer.look_up(work, place[by_number], (district * CUSTOMERS + customer)[by_number])
        order = db.last_order[district, customer]
        work.descend(place, db.orders_customer, db.customer_leaf(district, customer))
        work.touch(place, db.orders.page(db.order[district, order]["row"]))
        db.order_line_pkey.descend(work, place, district, order)
        self._lines(place, district, order, Kind.READ)

    def _delivery(self, transaction: Integers) -> None:
        """Clause 2.7: one step for each district's oldest order that is not yet delivered.

        There always is one: a district begins with 900 of them, and more
        orders are placed than delivered.
        """
        db, work = self.db, self.statements
        warehouse = self.warehouse[transaction]
        earlier = _earlier(warehouse, np.ones(len(transaction), bool))
        transaction = np.repeat(transaction, DISTRICTS)
        step = np.tile(np.arange(DISTRICTS), len(warehouse))
        district = np.repeat(warehouse * DISTRICTS, DISTRICTS) + step
        order = db.delivered[district] + np.repeat(earlier, DISTRICTS)
        np.add.at(db.delivered, district, 1)

        place = work.place(transaction, step)
        placed = db.order[district, order]
        db.new_order_pkey.descend(work, place, district, order)
        work.touch(place, db.new_order.page(placed["new_order_row"]), Kind.WRITE)
        db.orders_pkey.descend(work, place, district, order)
        work.touch(place, db.orders.page(placed["row"]), Kind.WRITE)
        db.order_line_pkey.descend(work, place, district, order)
        self._lines(place, district, order, Kind.WRITE)
        db.customer.look_up(work, place, district * CUSTOMERS + placed["customer"], Kind.WRITE)

    def _stock_level(self, transaction: Integers) -> None:
        """Clause 2.8: the district, the lines of its last orders, the stock of their items."""
        db, work = self.db, self.statements
        district = self.district[transaction]
        db.district.look_up(work, work.place(transaction), district)

        step = np.tile(np.arange(RECENT_ORDERS), len(transaction))
        place = work.place(np.repeat(transaction, RECENT_ORDERS), 1 + step)
        district = np.repeat(district, RECENT_ORDERS)
        order = np.repeat(self.next_order[transaction] - RECENT_ORDERS, RECENT_ORDERS) + step
        begins = step == 0
        db.order_line_pkey.descend(work, place[begins], district[begins], order[begins])
        leaf, under = db.order_line_pkey.leaf(district, order)
        next_leaf = ~begins & (np.diff(leaf, prepend=-1) != 0)
        *_, leaf_page = db.order_line_pkey.tree.path(leaf, under)
        work.touch(place[next_leaf], leaf_page[next_leaf])
        self._lines(place, district, order, Kind.READ)

        placed = db.order[district, order]
        lines = placed["lines"].astype(np.int64)
        item = db.item_of(np.repeat(placed["first_line"], lines) + ordinals(lines))
        reader = np.repeat(np.repeat(transaction, RECENT_ORDERS), lines)
        reader, item = np.divmod(np.unique(reader * ITEMS + item), ITEMS)
        place = work.place(reader, 1 + RECENT_ORDERS)
        db.stock.look_up(work, place, self.warehouse[reader] * ITEMS + item)

    def _find_customer(
        self, place: Integers, district: Integers
    ) -> tuple[Integers, NDArray[np.bool_]]:
        """Draw customers, 40 % by number, and find by last name those that are not.

        Finding by name reads the rows of all customers of that name; of these
        the one in the middle is meant.  Returns the customers and which were
        given by number.
        """
        db, work = self.db, self.statements
        by_number = self.rng.random(len(place)) < 0.4
        customer = self._nurand(1023, db.c_customer, 1, CUSTOMERS, len(place))
        name = self._nurand(255, db.c_name, 0, LAST_NAMES - 1, len(place))
        first, count = db.first_of_name[name], db.count_of_name[name]

        named = np.flatnonzero(~by_number)
        entry = district * CUSTOMERS + first
        work.descend(place[named], db.customer_name, db.customer_name.leaf(entry[named]))
        for i in range(db.count_of_name.max()):
            which = np.flatnonzero(~by_number & (i < count))
            row = district[which] * CUSTOMERS + db.by_name[first[which] + i]
            work.touch(place[which], db.customer.heap.page(row))
        middle = db.by_name[first + (count - 1) // 2]
        return np.where(by_number, customer, middle), by_number

    def _lines(self, place: Integers, district: Integers, order: Integers, kind: Kind) -> None:
        """Reference the pages with the lines of an order: one, or two if they cross its end."""
        placed = self.db.order[district, order]
        first = self.db.order_line.page(placed["first_line"])
        last = self.db.order_line.page(placed["first_line"] + placed["lines"] - 1)
        self.statements.touch(place, first, kind)
        two = first != last
        self.statements.touch(place[two], last[two], kind)

    def _elsewhere(self, warehouse: Integers, fraction: float) -> Integers:
        """Return the warehouses, this fraction of them exchanged for others if there are any."""
        count = self.db.warehouses
        if count == 1:
            return warehouse
        other = (warehouse + 1 + below(self.rng, count - 1, len(warehouse))) % count
        return np.where(self.rng.random(len(warehouse)) < fraction, other, warehouse)

    def _nurand(self, a: int, c: int, low: int, high: int, size: int) -> Integers:
        return nurand((self.rng.random(size), self.rng.random(size)), a, c, low, high)


def _earlier(group: Integers, marked: NDArray[np.bool_]) -> Integers:
    """Return, for each element, how many marked ones of its group come before it."""
    order = np.argsort(group, kind="stable")
    grouped, counted = group[order], marked[order].astype(np.int64)
    before = np.cumsum(counted) - counted
    result = np.empty_like(before)
    result[order] = before - before[np.searchsorted(grouped, grouped)]
    return result
