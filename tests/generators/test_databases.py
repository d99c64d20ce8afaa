"""The generators after database benchmarks: what their operations and transactions touch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from generators.generated import Columns, block, columns, fits, is_near, relation
from tidepool.generators import Tpcc, Ycsb
from tidepool.generators.storage import Btree, entries_per_page, rows_per_page
from tidepool.generators.tpcc import _Mix
from tidepool.generators.tpcc_database import (
    CUSTOMERS,
    DELIVERED,
    ITEMS,
    LOADED,
    NUMBER,
    Database,
)
from tidepool.generators.transactions import Statements
from tidepool.traces.model import Flag, Kind

# ---- YCSB

USERTABLE, USERTABLE_PKEY = 1, 2
ROOT = 1  # block of the index


def operations(trace: Ycsb) -> list[Columns]:
    """Return the events of each complete operation of a trace of one backend."""
    assert trace.backends == 1
    events = columns(trace)
    block_, index = block(events["page"]), relation(events["page"]) == USERTABLE_PKEY
    heap_insert = ~index & (events["flags"] == 0)
    root = index & (block_ == ROOT)
    # an operation begins with the root of an index scan, or with a row inserted
    begins = np.flatnonzero((root & (events["flags"] != 0)) | heap_insert)
    return [{name: column[a:b] for name, column in events.items()} for a, b in pairwise(begins)]


def ycsb(workload: str, **more: Any) -> Ycsb:
    return Ycsb(workload=workload, records=20_000, length=60_000, backends=1, **more)


@pytest.mark.parametrize(
    ("workload", "writes"), [("A", 0.5), ("B", 0.05), ("C", 0.0), ("D", 0.05), ("F", 1 / 3)]
)
def test_ycsb_point_operations(workload: str, writes: float) -> None:
    found = operations(ycsb(workload))
    written = [bool((o["kind"] == Kind.WRITE).any()) for o in found]
    assert is_near(np.mean(written), writes, len(found)) if writes else not any(written)
    tree = Btree(USERTABLE_PKEY, 20_000, entries_per_page(24))
    assert len(tree.levels) == 2
    for operation in found:
        where, kind = relation(operation["page"]).tolist(), operation["kind"].tolist()
        if operation["flags"][0] == 0:
            assert workload == "D"
            assert where == [USERTABLE, USERTABLE_PKEY, USERTABLE_PKEY]
            assert kind == [Kind.WRITE, Kind.READ, Kind.WRITE]
            assert not operation["flags"].any()
        else:
            assert where == [USERTABLE_PKEY, USERTABLE_PKEY, USERTABLE]
            assert kind[:2] == [Kind.READ, Kind.READ]
            assert (operation["flags"] == Flag.INDEX).all()
            assert block(operation["page"])[0] == ROOT


def test_ycsb_modify_reads_and_updates_one_record() -> None:
    found = operations(ycsb("F"))
    modified = 0
    for before, update in pairwise(found):
        if update["kind"][-1] == Kind.WRITE:
            modified += 1
            assert np.array_equal(before["page"], update["page"])
            assert before["kind"][-1] == Kind.READ
    assert is_near(modified / (len(found) - modified), 0.5, len(found) - modified)


def test_ycsb_requests_have_a_zipf_distribution() -> None:
    found = operations(ycsb("C", rows_per_page=1))
    record = np.array([block(o["page"])[-1] for o in found])
    probabilities = np.arange(1, 20_001) ** -0.99
    probabilities /= probabilities.sum()
    counts = np.sort(np.bincount(record, minlength=20_000))[::-1]
    for rank in range(3):
        assert is_near(counts[rank] / len(record), probabilities[rank], len(record))
    # a record has one leaf
    leaf = np.array([block(o["page"])[-2] for o in found])
    pairs = set(zip(record, leaf, strict=True))
    assert len(pairs) == len(set(record))
    # and popular records lie apart in the heap and in the index
    hot = np.argsort(np.bincount(record, minlength=20_000))[-20:]
    assert np.diff(np.sort(hot)).max() > 500
    assert len({leaf[record == r][0] for r in hot}) > 10


def test_ycsb_reads_the_latest() -> None:
    trace = ycsb("D", rows_per_page=1)
    newest = trace.records - 1
    ranks, inserted_leaf = [], {}
    for operation in operations(trace):
        at = block(operation["page"])
        if operation["flags"][0] == 0:
            newest += 1
            assert at[0] == newest
            inserted_leaf[newest] = at[-1]
        else:
            ranks.append(newest - at[-1])
            # a record inserted is found in the leaf where it was entered
            assert inserted_leaf.get(at[-1], at[-2]) == at[-2]
    counts = np.bincount(ranks, minlength=trace.records)
    assert fits(counts, np.arange(1, trace.records + 1) ** -0.99)
    assert len(inserted_leaf) > 100


def test_ycsb_scans() -> None:
    trace = Ycsb(workload="E", records=20_000, length=1_000_000, backends=1, rows_per_page=1)
    found = operations(trace)
    tree = Btree(USERTABLE_PKEY, 20_000, entries_per_page(24))
    scans = [o for o in found if o["flags"][0] != 0]
    assert is_near(len(scans) / len(found), 0.95, len(found))
    lengths, leaf_of = [], {}
    for scan in scans:
        index = relation(scan["page"]) == USERTABLE_PKEY
        at = block(scan["page"])
        assert index[:2].all() and not index[2]
        leaves = at[index][1:]
        assert (np.diff(leaves) == 1).all()  # the next leaf is the next block
        assert (scan["kind"] == Kind.READ).all()
        leaf = 0
        for is_index, b in zip(index[1:], at[1:], strict=True):
            if is_index:
                leaf = b
            else:
                assert leaf_of.setdefault(b, leaf) == leaf  # a record has one leaf
        lengths.append(int((~index).sum()))
    assert max(lengths) == 100
    assert np.mean(lengths) == pytest.approx(50.5, rel=0.03)
    counts = np.bincount(lengths, minlength=101)[1:]
    assert counts.min() > 0.5 * len(lengths) / 100
    # no leaf has more records than entries fit
    assert np.bincount(list(leaf_of.values())).max() <= tree.per_page


# ---- TPC-C


@pytest.fixture(scope="module")
def tpcc() -> Columns:
    return columns(Tpcc(warehouses=2, length=3_000_000, backends=1))


def of(events: Columns, table: str, kind: Kind, flags: int = Flag.INDEX) -> NDArray[np.bool_]:
    """Return which events reference a table's pages in this way, repeats not counted."""
    found: NDArray[np.bool_] = (
        (relation(events["page"]) == NUMBER[table])
        & (events["kind"] == kind)
        & (events["flags"] == flags)
    )
    return found


def test_tpcc_transactions_have_their_shares(tpcc: Columns) -> None:
    # what only one transaction does, once each time it runs
    counts = {
        "new_order": of(tpcc, "orders", Kind.WRITE, 0).sum(),
        "payment": of(tpcc, "history", Kind.WRITE, 0).sum(),
        "order_status": of(tpcc, "orders", Kind.READ).sum(),
        "delivery": of(tpcc, "new_order", Kind.WRITE).sum() / 10,
        "stock_level": of(tpcc, "district", Kind.READ).sum(),
    }
    total = sum(counts.values())
    shares = {"new_order": 0.45, "payment": 0.43}
    for name, count in counts.items():
        assert is_near(count / total, shares.get(name, 0.04), int(total)), name


def test_tpcc_statements_of_a_new_order(tpcc: Columns) -> None:
    orders = of(tpcc, "orders", Kind.WRITE, 0).sum()
    lines = of(tpcc, "order_line", Kind.WRITE, 0).sum()
    assert lines / orders == pytest.approx(10, rel=0.02)
    assert of(tpcc, "item", Kind.READ).sum() == pytest.approx(lines, abs=15)
    assert of(tpcc, "stock", Kind.WRITE).sum() == pytest.approx(lines, abs=15)
    assert of(tpcc, "new_order", Kind.WRITE, 0).sum() == pytest.approx(orders, abs=1)
    for index in ("orders_pkey", "orders_customer", "new_order_pkey"):
        assert of(tpcc, index, Kind.WRITE, 0).sum() == pytest.approx(orders, abs=1)
    assert of(tpcc, "order_line_pkey", Kind.WRITE, 0).sum() == pytest.approx(lines, abs=15)


def test_tpcc_order_tables_grow_at_their_ends(tpcc: Columns) -> None:
    for table, loaded, per_page in (
        ("orders", 60_000, rows_per_page(24)),
        ("new_order", 18_000, rows_per_page(8)),
        ("history", 60_000, rows_per_page(46)),
    ):
        inserted = block(tpcc["page"][of(tpcc, table, Kind.WRITE, 0)])
        expected = (loaded + np.arange(len(inserted))) // per_page
        # in the order of arrival, which a single backend keeps
        assert np.array_equal(inserted, expected), table
    inserted = block(tpcc["page"][of(tpcc, "order_line", Kind.WRITE, 0)])
    assert (np.diff(inserted) >= 0).all() and (np.diff(inserted) <= 1).all()
    assert np.bincount(inserted)[inserted[0] + 1 : inserted[-1]].tolist() == [rows_per_page(54)] * (
        inserted[-1] - inserted[0] - 1
    )
    # their indexes get new leaves, other indexes none
    leaves = block(tpcc["page"][of(tpcc, "order_line_pkey", Kind.WRITE, 0)])
    assert leaves.max() > -(-600_000 // entries_per_page(16)) + 20
    customer = block(tpcc["page"][relation(tpcc["page"]) == NUMBER["orders_customer"]])
    assert customer.max() <= -(-60_000 // entries_per_page(16)) + 1


def test_tpcc_stays_within_its_tables(tpcc: Columns) -> None:
    for table, rows, width in (
        ("warehouse", 2, 89),
        ("district", 20, 95),
        ("customer", 60_000, 655),
        ("item", 100_000, 82),
        ("stock", 200_000, 306),
    ):
        at = block(tpcc["page"][relation(tpcc["page"]) == NUMBER[table]])
        last = (rows - 1) // rows_per_page(width)
        assert at.min() == 0 and at.max() == last, table


def test_tpcc_repeats_are_correlated(tpcc: Columns) -> None:
    again = np.append(False, tpcc["page"][1:] == tpcc["page"][:-1])
    correlated = (tpcc["flags"] & Flag.CORRELATED) != 0
    assert (again | ~correlated).all()
    # what is not flagged is the page with which the next transaction begins
    starts = relation(tpcc["page"][again & ~correlated])
    assert len(starts) < 0.001 * len(again)


def test_tpcc_remote_warehouses() -> None:
    here = np.arange(50_000) % 4
    there = _Mix(database(4), np.random.default_rng(0))._elsewhere(here, 0.15)
    moved = there[there != here] - here[there != here]
    assert is_near(len(moved) / 50_000, 0.15, 50_000)
    assert fits(np.bincount(moved % 4, minlength=4)[1:], np.ones(3))
    only = np.zeros(100, np.int64)
    assert np.array_equal(_Mix(database(1), np.random.default_rng(0))._elsewhere(only, 1.0), only)


def database(warehouses: int = 1) -> Database:
    return Database(warehouses, 0, np.random.default_rng(0))


def test_tpcc_orders_loaded() -> None:
    db = database(2)
    assert db.order.shape == (20, LOADED)
    rows = db.order["row"]
    assert np.array_equal(rows.ravel(), np.arange(20 * LOADED))
    pending = db.order["new_order_row"][:, DELIVERED:]
    assert np.array_equal(pending.ravel(), np.arange(20 * (LOADED - DELIVERED)))
    lines = db.order["lines"].ravel().astype(int)
    assert fits(np.bincount(lines, minlength=16)[5:], np.ones(11))
    assert np.array_equal(db.order["first_line"].ravel(), np.cumsum(lines) - lines)
    # each customer has one order, and is found by it
    for district in range(20):
        assert sorted(db.order["customer"][district]) == list(range(CUSTOMERS))
        found = db.order["customer"][district, db.last_order[district]]
        assert np.array_equal(found, np.arange(CUSTOMERS))


def test_tpcc_order_status_sees_no_order_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    mix = _Mix(database(), np.random.default_rng(0))
    placed = []

    def order_status(transaction: NDArray[np.int64]) -> None:
        placed.append(mix.db.next_order.sum() - 10 * LOADED)

    monkeypatch.setattr(mix, "_order_status", order_status)
    for _, batch in zip(range(2), mix.batches(), strict=False):
        assert len(batch.sizes) == 1024
    assert placed[0] == 0 and placed[1] > 400


def told_of(mix: _Mix, district: list[int], order: list[int]) -> NDArray[np.int64]:
    """Prepare a batch of transactions entered in these districts; return their numbers."""
    mix.statements = Statements(len(district))
    mix.district = np.array(district)
    mix.warehouse = mix.district // 10
    mix.next_order = np.array(order)
    return np.arange(len(district))


def pages_by_transaction(mix: _Mix, table: str) -> list[list[int]]:
    """Return the blocks of a table that each transaction references, in order."""
    told = mix.statements.gather()
    parts = np.split(told.page, np.cumsum(told.sizes)[:-1])
    return [block(page[relation(page) == NUMBER[table]]).tolist() for page in parts]


def test_tpcc_delivery_takes_each_districts_oldest_order() -> None:
    events = columns(Tpcc(warehouses=1, length=1_000_000, backends=1))
    deleted = block(events["page"][of(events, "new_order", Kind.WRITE)])
    delivery, district = np.divmod(np.arange(len(deleted)), 10)
    assert delivery[-1] > 200
    row = district * (LOADED - DELIVERED) + delivery
    assert np.array_equal(deleted, row // rows_per_page(8))


def test_tpcc_stock_level_reads_the_stock_of_the_last_orders() -> None:
    db = database()
    mix = _Mix(db, np.random.default_rng(0))
    mix._stock_level(told_of(mix, [3, 7], [LOADED, LOADED - 100]))
    lines, stock = (pages_by_transaction(mix, table) for table in ("order_line", "stock"))
    for i, (district, last) in enumerate([(3, LOADED), (7, LOADED - 100)]):
        recent = db.order[district, last - 20 : last]
        first, end = recent[0]["first_line"], recent[-1]["first_line"] + recent[-1]["lines"]
        rows = np.arange(first, end)  # loaded orders lie one after the other
        assert sorted(set(lines[i])) == sorted(set(rows // rows_per_page(54)))
        items = np.unique(db.item_of(rows))
        assert len(items) > 100
        assert stock[i] == (items // rows_per_page(306)).tolist()


def test_tpcc_customers_are_found_by_number_or_by_name() -> None:
    db = database()
    mix = _Mix(db, np.random.default_rng(0))
    transaction = told_of(mix, [3] * 5000, [LOADED] * 5000)
    place = mix.statements.place(transaction)
    customer, by_number = mix._find_customer(place, mix.district)
    assert is_near(by_number.mean(), 0.4, 5000)
    read = pages_by_transaction(mix, "customer")
    position = np.argsort(db.by_name)
    name = np.repeat(np.arange(1000), db.count_of_name)[position]
    for i in transaction:
        same_name = np.flatnonzero(name == name[customer[i]])
        assert by_number[i] or customer[i] == same_name[(len(same_name) - 1) // 2]
        expected = [] if by_number[i] else (3 * CUSTOMERS + same_name) // rows_per_page(655)
        assert sorted(read[i]) == sorted(expected)


def test_tpcc_orders_placed() -> None:
    db = database()
    district = np.array([3, 7, 3])
    for _ in range(3000):
        order = db.next_order[district] + [0, 0, 1]
        placed = db.place_orders(district, order, np.array([5, 6, 7]), np.array([5, 15, 10]))
        assert np.array_equal(db.order[district, order], placed)
        assert (np.diff(placed["row"]) == 1).all()
        assert (np.diff(placed["first_line"]) == [5, 15]).all()
    assert db.next_order[[3, 7, 0]].tolist() == [LOADED + 6000, LOADED + 3000, LOADED]
    assert db.last_order[3, 7] == LOADED + 5999
    assert placed["row"][-1] == 10 * LOADED + 9000 - 1
    assert placed["new_order_row"][-1] == 10 * (LOADED - DELIVERED) + 9000 - 1


def test_tpcc_items() -> None:
    db = database()
    bits = np.arange(13)

    def mean_bits(line: NDArray[np.int64]) -> float:
        item = db.item_of(line)
        assert np.array_equal(item, db.item_of(line))
        assert item.min() >= 0 and item.max() < ITEMS
        drawn = (item - db.c_item) % ITEMS
        return float((drawn[:, None] >> bits & 1).sum(axis=1).mean())

    # of 13 bits, one half are set in a uniform number, three quarters by NURand's "or"
    assert mean_bits(np.arange(100_000)) == pytest.approx(6.5, abs=0.05)
    assert mean_bits(np.arange(10**6, 10**6 + 100_000)) == pytest.approx(9.75, abs=0.05)


def test_tpcc_names() -> None:
    db = database()
    assert db.count_of_name.sum() == CUSTOMERS and db.count_of_name.min() >= 1
    assert sorted(db.by_name) == list(range(CUSTOMERS))
    # the first thousand customers have the thousand names in turn
    for name in (0, 1, 999):
        first = db.first_of_name[name]
        assert name in db.by_name[first : first + db.count_of_name[name]]


def test_tpcc_index_by_order() -> None:
    db = database()
    index = db.order_line_pkey
    last = LOADED + 3000
    district, order = np.divmod(np.arange(10 * last), last)
    leaf, under = index.leaf(district, order)
    assert under.max() == index.tree.levels[0] - 1
    loaded = order < LOADED
    assert np.array_equal(leaf[loaded], under[loaded])
    assert (np.diff(leaf[loaded]) >= 0).all()
    # later leaves belong to one district each, and none is overfull
    for number in np.unique(leaf[~loaded]):
        owners = district[~loaded][leaf[~loaded] == number]
        assert len(set(owners)) == 1
        assert len(owners) * 10 <= index.tree.per_page + 10
    assert sorted(set(leaf)) == list(range(leaf.max() + 1))
