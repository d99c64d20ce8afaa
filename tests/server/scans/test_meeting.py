"""Scans that begin where another one is."""

from __future__ import annotations

import pytest

from server.scans.tables import BITMAP, BLOCK, NO_INDEX
from tidepool.server import Instance

FIRST_BLOCK = f"SELECT {BLOCK} FROM t LIMIT 1"


@pytest.mark.parametrize(("setting", "first"), [("on", "496"), ("off", "0")])
def test_a_scan_begins_where_another_is(server: Instance, setting: str, first: str) -> None:
    shown = server.query(
        f"{NO_INDEX}; SET synchronize_seqscans = off; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t; MOVE 5000 FROM c;"
        f" SET synchronize_seqscans = {setting}; {FIRST_BLOCK}; COMMIT"
    )
    assert shown == first


@pytest.mark.parametrize("setting", [NO_INDEX, BITMAP], ids=["sequential", "bitmap"])
@pytest.mark.parametrize(("meet", "shown"), [("on", "f|t"), ("off", "f|f")], ids=["meets", "off"])
def test_a_scan_shows_whom_it_met(server: Instance, setting: str, meet: str, shown: str) -> None:
    query = "SELECT * FROM t WHERE id BETWEEN 0 AND 9900"
    met = server.query(
        f"{setting}; BEGIN; DECLARE c CURSOR FOR {query}; MOVE 5000 FROM c;"
        f" SET synchronize_seqscans = {meet}; DECLARE d CURSOR FOR {query}; FETCH 1 FROM d;"
        " SELECT coalesce(met_pid, 0) = pg_backend_pid() FROM pg_stat_scans ORDER BY since; COMMIT"
    )
    assert "|".join(met.splitlines()[1:]) == shown


def test_scans_that_have_hardly_begun_begin_together(server: Instance) -> None:
    shown = server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT ctid FROM t; FETCH 1 FROM c;"
        " MOVE 50 FROM c; DECLARE d CURSOR FOR SELECT ctid FROM t; FETCH 1 FROM d; COMMIT"
    ).splitlines()
    assert shown[0] == shown[1]


def test_a_scan_that_meets_reads_all(server: Instance) -> None:
    assert server.query(
        f"{NO_INDEX}; BEGIN; DECLARE c CURSOR FOR SELECT * FROM t; MOVE 7000 FROM c;"
        " SELECT count(*), sum(id), min(id), max(id) FROM t; MOVE ALL FROM c; COMMIT"
    ) == "|".join(str(n) for n in (10000, sum(range(10000)), 0, 9999))


@pytest.mark.parametrize(
    ("seqscans", "bitmaps", "first"),
    [("on", "on", 512), ("on", "off", 300), ("off", "on", 300)],
    ids=["meets", "off", "off-with-seqscans"],
)
def test_a_bitmap_scan_begins_where_another_is(
    server: Instance, seqscans: str, bitmaps: str, first: int
) -> None:
    """And reads the blocks before that afterwards, each once."""
    shown = server.query(
        f"{BITMAP}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM t WHERE id BETWEEN 0 AND 9000; MOVE 5300 FROM c;"
        f" SET synchronize_seqscans = {seqscans};"
        f" SET bufferpool.synchronize_bitmap_scans = {bitmaps};"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id FROM t"
        " WHERE id BETWEEN 3000 AND 9999; COMMIT",
        "SELECT (SELECT block FROM seen WHERE row_number = 1), count(*), count(DISTINCT id),"
        " count(*) FILTER (WHERE block < before) FROM"
        " (SELECT *, lag(block) OVER (ORDER BY row_number) AS before FROM seen) AS s",
        "DROP TABLE seen",
    ).splitlines()[-1]
    assert shown == f"{first}|7000|7000|{0 if first == 300 else 1}"


def test_lossy_bitmap_scans_meet(server: Instance, lossy: str) -> None:
    """The second one begins in the middle of a chunk of 256 blocks, and reads each row once."""
    shown = server.query(
        f"{lossy}; BEGIN;"
        " DECLARE c CURSOR FOR SELECT * FROM large WHERE id BETWEEN 0 AND 2500; MOVE 1000 FROM c;"
        f" CREATE TEMP TABLE seen AS SELECT row_number() OVER (), {BLOCK} AS block, id FROM large"
        " WHERE id BETWEEN 128 AND 2431; COMMIT",
        "SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE block < before) FROM"
        " (SELECT *, lag(block) OVER (ORDER BY row_number) AS before FROM seen) AS s",
        "DROP TABLE seen",
    ).splitlines()[-1]
    assert shown == "2304|2304|1"
