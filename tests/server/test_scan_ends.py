"""Scans that end half-way, in every way there is: nothing of them stays announced."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import Make
from server.counters import reset_counters, stat
from server.load import wait_for
from tidepool.server import Instance
from tidepool.workloads.scan_ends import check_plans, end_alone, end_many, load
from tidepool.workloads.scan_ways import KINDS, WAYS, Kind, Way, fits

BLOCKS = 800
SCANS = 16  # bufferpool.max_scans: as many relations at a time, half as many bitmaps
OTHERS = [f"other_{i}" for i in range(SCANS)]
BITMAP = "SET enable_seqscan = off; SET enable_indexscan = off"
ANNOUNCED = ("scans_begun", "scans_ended", "scans_abandoned", "scans_refused")
KIND = {kind.name: kind for kind in KINDS}


@pytest.fixture(scope="module")
def server(make_once: Make) -> Instance:
    """Buffers for two thirds of table scanned, and as many other tables as scans have places."""
    instance = make_once("pbm", shared_buffers="4MB", bufferpool__max_scans=str(SCANS))
    load(instance, BLOCKS)
    check_plans(instance, BLOCKS)
    for table in OTHERS:
        instance.query(f"CREATE TABLE {table} AS SELECT * FROM scanned WHERE id < 1300")
    return instance


@pytest.fixture(autouse=True)
def all_have_ended(server: Instance) -> Iterator[None]:
    """After each test no scan is announced, each has ended once, and all places are free."""
    reset_counters(server)
    yield
    wait_for_ends(server)
    begun, ended, abandoned, refused = stat(server, *ANNOUNCED)
    assert begun == ended + abandoned
    assert refused == 0
    check_places(server)


def wait_for_ends(server: Instance) -> None:
    """Wait until no scan is announced, since what began them has ended."""
    query = "SELECT count(*) FROM pg_stat_scans"
    wait_for("no scan is announced", lambda: server.query(query) == "0", 30)


def check_places(server: Instance) -> None:
    """The registry has a place for each relation's scan, and all its bitmaps."""
    cursors = "".join(
        f"DECLARE {table} CURSOR FOR SELECT * FROM {table}; MOVE 1 FROM {table};"
        for table in OTHERS
    )
    shown = server.query(f"BEGIN; {cursors} SELECT count(*) FROM pg_stat_scans; COMMIT")
    assert int(shown) == SCANS
    # two groups of 128 blocks; without a bitmap it would be the range from one to the other
    query = "SELECT * FROM scanned WHERE id < 1280 OR id BETWEEN 5120 AND 6399"
    cursors = "".join(
        f"DECLARE c{i} CURSOR FOR {query}; MOVE 1 FROM c{i};" for i in range(SCANS // 2)
    )
    shown = server.query(
        f"{BITMAP}; BEGIN; {cursors} SELECT kind, blocks_total FROM pg_stat_scans; COMMIT"
    )
    assert shown.splitlines() == ["bitmap|256"] * (SCANS // 2)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_a_scan_that_ends(server: Instance, way: Way) -> None:
    """PostgreSQL warns of no leak; scans whose query did not come to an end are abandoned."""
    printed = end_alone(server, KIND["sequential"], way, BLOCKS)
    begun, _, abandoned, _ = stat(server, *ANNOUNCED)
    assert begun > 0
    assert (abandoned > 0) == way.abandoned
    assert "WARNING" not in printed


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_scans_of_a_kind(server: Instance, kind: Kind) -> None:
    """Each is announced, however it ends; those that leave marks alone are not counted."""
    ways = [way for way in WAYS if fits(kind, way)]
    for way in ways:
        end_alone(server, kind, way, BLOCKS)
    (begun,) = stat(server, "scans_begun")
    if kind.name == "trailing":
        assert begun == 0
    else:
        assert begun >= len(ways)


def test_hundreds_of_scans_that_end_anyhow(server: Instance) -> None:
    """Four sessions at a time; clients are killed, processes cancelled and terminated."""
    number = 500
    done = end_many(server, number, 1, BLOCKS)
    assert done.total() == number
    begun, _, abandoned, _ = stat(server, *ANNOUNCED)
    assert begun > number // 2
    assert abandoned > number // 4


@pytest.fixture
def leave_scan(server: Instance) -> str:
    """Path of the library left_scan.c."""
    library = server.directory / "left_scan.so"
    include = server.run(server.bin / "pg_config", "--includedir-server").stdout.strip()
    source = Path(__file__).with_name("left_scan.c")
    command = ("cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-I", include)
    subprocess.run([*command, "-o", library, source], check=True)
    library.chmod(0o755)
    return str(library)


def test_scans_that_only_the_end_of_their_process_ends(server: Instance, leave_scan: str) -> None:
    """They are abandoned, as the scans of queries that fail are."""
    server.query(
        "CREATE FUNCTION leave_scan(regclass) RETURNS bool LANGUAGE c STRICT"
        f" AS '{leave_scan}', 'leave_scan'"
    )
    for _ in range(3):
        shown = server.query(
            "SELECT leave_scan('scanned')",
            "SELECT leave_scan('scanned')",
            "SELECT count(*) FROM pg_stat_scans",
        )
        assert shown.splitlines() == ["t", "t", "2"]
        wait_for_ends(server)
    assert stat(server, *ANNOUNCED) == [6, 0, 6, 0]
    server.query("DROP FUNCTION leave_scan")
