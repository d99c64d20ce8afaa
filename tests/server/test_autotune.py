"""Self-tuning: buffers go to the pools where they save most reading."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest

from server.conftest import Make
from server.load import wait_for
from server.machine import Machine
from server.pools import create, definitions, fails, fill, pool, sizes, violations
from server.sessions import Session
from server.test_advice_view import ADVISOR, LOOKUPS, advisor
from tidepool.server import Instance

MOVES = (
    "SELECT from_pool, to_pool, buffers_wanted, buffers_moved, gain > 0.02"
    " FROM pg_bufferpool_moves ORDER BY moved_at"
)
# a loop over all rows of a table, by the index, again and again
LOOP = (
    "DO $$ BEGIN FOR i IN 1..100000 LOOP"
    " PERFORM count(pad) FROM {} WHERE id > 0; PERFORM pg_sleep(0.05); END LOOP; END $$"
)


TUNED = {
    "bgwriter_delay": "100ms",
    "bufferpool__autotune_interval": "1s",
    "bufferpool__advice_algorithms": "",
}


def server_to_tune(make: Make, autotune: str = "on", **settings: str) -> Instance:
    """A pool that is too small for its table, and one that is too large."""
    server = make(
        **TUNED
        | {"shared_buffers": "8MB", "max_connections": "20", "bufferpool__autotune": autotune}
        | settings
    )
    create(server, "small", "lru", "2MB")
    create(server, "large", "arc", "4MB")
    fill(server, "wanting", 400, ", buffer_pool = 'small'")
    fill(server, "content", 20, ", buffer_pool = 'large'")
    if settings.get("bufferpool__advice") != "off":
        advisor(server)
    return server


def loop(server: Instance, table: str) -> Session:
    return Session(server, LOOKUPS, LOOP.format(table))


def stop(server: Instance, session: Session) -> None:
    server.query(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    session.result()


def test_buffers_move_to_where_they_are_needed(make: Make) -> None:
    server = server_to_tune(make)
    before = sizes(server)
    session = loop(server, "wanting")
    try:
        wait_for("the table fits", lambda: sizes(server)["small"] >= 400)
        first = server.query(MOVES).splitlines()[0].split("|")
        assert first[1] == "small"
        assert int(first[2]) >= int(first[3]) > 0
        assert first[4] == "t"
        # enough is enough: the rest stays where it is
        moves = server.query("SELECT count(*) FROM pg_bufferpool_moves")
        assert int(moves) <= 6
    finally:
        stop(server, session)
    assert 'to "small"' in server.log.read_text()
    assert sum(sizes(server).values()) == sum(before.values())
    assert sizes(server)["DEFAULT"] >= 128  # its floor
    assert violations(server) == []
    # what was defined stays defined
    assert pool(server, "small", "defined_size, target = size, state") == "2097152|t|ready"
    assert definitions(server)[0] == "CREATE BUFFER POOL small HANDLER lru SIZE '2097152';"
    server.restart({})
    assert sizes(server) == before


def test_a_statement_about_sizes_ends_it(make: Make) -> None:
    server = server_to_tune(make)
    session = loop(server, "wanting")
    try:
        wait_for("something has moved", lambda: sizes(server)["small"] > 256)
        server.query("ALTER BUFFER POOL large SET SIZE '3MB'")
        assert sizes(server) == {"DEFAULT": 384, "small": 256, "large": 384}
        # and then goes on
        wait_for("something has moved again", lambda: sizes(server)["small"] > 256)
        # a statement that fails changes nothing
        tuned = sizes(server)
        assert "not enough shared buffers" in fails(
            server, "ALTER BUFFER POOL large SET SIZE '100MB'"
        )
        assert sizes(server)["small"] >= tuned["small"]
        assert pool(server, "small", "state") == "ready"
    finally:
        stop(server, session)
    assert violations(server) == []


def test_advise_moves_nothing(make: Make) -> None:
    server = server_to_tune(make, "advise")
    before = sizes(server)
    session = loop(server, "wanting")
    try:
        wait_for("there is advice", lambda: server.query(MOVES) != "")
    finally:
        stop(server, session)
    rows = [row.split("|") for row in server.query(MOVES).splitlines()]
    assert {row[1] for row in rows} == {"small"}
    assert {row[3] for row in rows} == {""}
    assert sizes(server) == before
    assert "self-tuning would move" in server.log.read_text()


def test_limits(make: Make) -> None:
    server = server_to_tune(make, "off")
    server.query(
        "ALTER BUFFER POOL small SET HANDLER lirs",  # which gains by each buffer
        "ALTER BUFFER POOL small SET (max_size = '2560kB')",
        "ALTER BUFFER POOL large SET (min_size = '4MB')",
        "ALTER SYSTEM SET bufferpool.autotune = on",
        "SELECT pg_reload_conf()",
    )
    assert pool(server, "small", "min_size, max_size, options") == "|2621440|"
    session = loop(server, "wanting")
    try:
        wait_for("the limit is reached", lambda: sizes(server)["small"] > 300)
        assert sizes(server)["small"] <= 320
        assert sizes(server)["large"] == 512
    finally:
        stop(server, session)
    assert definitions(server) == [
        "CREATE BUFFER POOL small HANDLER lirs SIZE '2097152' WITH (max_size = '2621440');",
        "CREATE BUFFER POOL large HANDLER arc SIZE '4194304' WITH (min_size = '4194304');",
    ]
    server.restart({})
    assert pool(server, "large", "min_size") == "4194304"
    server.query("ALTER BUFFER POOL large RESET (min_size)")
    assert pool(server, "large", "min_size") == ""
    # together with the algorithm's own
    server.query("ALTER BUFFER POOL small SET (hir = '3%', min_size = '1MB')")
    assert pool(server, "small", "min_size, max_size, options") == "1048576|2621440|hir=3%"


def test_limits_that_make_no_sense(make: Make) -> None:
    server = server_to_tune(make, "off")
    wrong = {
        "SET (min_size = '3MB', max_size = '2MB')": 'option "min_size" of buffer pool "small" is',
        "SET (max_size = 'much')": 'invalid size: "much"',
        "SET (max_size = '-1')": 'invalid value for option "max_size"',
        "RESET (max_size = '1MB')": "RESET must not include values",
    }
    for change, error in wrong.items():
        assert error in fails(server, f"ALTER BUFFER POOL small {change}")
    assert "DEFAULT can only be given" in fails(
        server, "ALTER BUFFER POOL DEFAULT SET (max_size = '1MB')"
    )
    assert pool(server, "small", "min_size, max_size") == "|"


def test_what_is_kept_is_not_tuned(make: Make) -> None:
    """KEEP's memory is a promise; a REMAINDER pool has what others leave."""
    server = server_to_tune(make)
    server.query("ALTER BUFFER POOL large SET HANDLER keep")
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER lru")
    before = sizes(server)
    session = loop(server, "wanting")
    try:
        with pytest.raises(TimeoutError):
            wait_for("something has moved", lambda: sizes(server) != before, 12)
    finally:
        stop(server, session)
    assert server.query(MOVES) == ""


def test_nothing_moves_for_nothing(make: Make) -> None:
    """Where all pages are resident there is nothing to gain."""
    server = server_to_tune(make)
    before = sizes(server)
    session = loop(server, "content")
    try:
        with pytest.raises(TimeoutError):
            wait_for("something has moved", lambda: sizes(server) != before, 6)
    finally:
        stop(server, session)


# ---- a move that takes long, or cannot be made ----


@pytest.fixture
def moving(make: Make, machine: Machine) -> Iterator[Instance]:
    """A server in the middle of a move of 256 buffers, whose dirty pages take ten seconds."""
    server = server_to_tune(
        make,
        "off",
        bgwriter_lru_maxpages="0",
        bufferpool__trickle_write_batch_size="0",
        checkpoint_timeout="1h",
    )
    fill(server, "dirty", 450, ", buffer_pool = 'large'")
    fill(server, "also_dirty", 400)
    machine.is_like(write_time=40000, slow_process=int(advisor(server)))
    session = loop(server, "wanting")
    server.query("ALTER SYSTEM SET bufferpool.autotune = on", "SELECT pg_reload_conf()")
    wait_for("buffers move", lambda: sizes(server)["small"] > 256)
    yield server
    session.end()


def last_move(server: Instance) -> tuple[int, int]:
    """The buffers that the last move wanted, and those that it has moved."""
    wanted, moved = server.query(
        "SELECT buffers_wanted, buffers_moved FROM pg_bufferpool_moves"
        " ORDER BY moved_at DESC LIMIT 1"
    ).split("|")
    return int(wanted), int(moved)


def test_a_statement_ends_a_move(make: Make, moving: Instance) -> None:
    moving.query("ALTER BUFFER POOL large SET (min_size = '1MB')")
    wait_for("the move has ended", lambda: moving.query(MOVES) != "")
    wanted, moved = last_move(moving)
    assert 0 < moved < wanted
    assert sizes(moving)["small"] >= 256 + moved  # and it goes on


def test_a_reload_ends_a_move(moving: Instance) -> None:
    moving.query("ALTER SYSTEM SET bufferpool.autotune = off", "SELECT pg_reload_conf()")
    wait_for("the move has ended", lambda: moving.query(MOVES) != "")
    wanted, moved = last_move(moving)
    assert 0 < moved < wanted
    assert sizes(moving)["small"] == 256 + moved


def test_a_shutdown_ends_a_move(moving: Instance) -> None:
    moving.stop()
    moved = re.search("self-tuning moved ([0-9]+) buffers", moving.log.read_text())
    assert moved and 0 < int(moved[1]) < 256


def test_a_cancelled_move_is_counted(moving: Instance) -> None:
    """Sizes and targets agree, and the view has what has moved."""
    pid = advisor_of(moving)
    moving.query(f"SELECT pg_cancel_backend({pid})")
    wait_for("the advisor has ended", lambda: advisor_of(moving) != pid)
    wanted, moved = last_move(moving)
    assert 0 < moved < wanted
    assert sizes(moving)["small"] == 256 + moved
    assert moving.query("SELECT count(*) FROM pg_bufferpool WHERE target <> size") == "0"


def advisor_of(server: Instance) -> str:
    """The advisor's process ID, whatever it does."""
    return server.query(ADVISOR)


def directions(server: Instance) -> list[str]:
    """From which pool to which each move was, sorted."""
    return sorted(row.rsplit("|", 3)[0] for row in server.query(MOVES).splitlines())


def test_what_cannot_move_is_said_once(make: Make) -> None:
    """Where the buffers of the only pool that could give some are pinned."""
    server = make(
        **TUNED,
        shared_buffers="4MB",
        max_connections="10",
        bufferpool__autotune="on",
    )
    create(server, "small", "lirs", "1MB")
    create(server, "large", "lru", "512kB")
    too_much = fails(server, "CREATE BUFFER POOL kept HANDLER keep SIZE '4MB'")
    more = re.search("([0-9]+) more than", too_much)
    assert more
    create(server, "kept", "keep", str(8192 * (512 - int(more[1]))))  # DEFAULT has its floor
    fill(server, "wanting", 300, ", buffer_pool = 'small'")
    fill(server, "content", 100, ", buffer_pool = 'large'")
    pin = (
        f"DECLARE c{i} CURSOR FOR SELECT * FROM content WHERE ctid = '({i},1)'; FETCH c{i}"
        for i in range(64)
    )
    pinning = Session(server, "BEGIN", *pin, "SELECT pg_sleep(600)")
    session = loop(server, "wanting")
    try:
        wait_for("it is said", lambda: server.query(MOVES) != "")
        time.sleep(4.5)
        moves = [row.split("|") for row in server.query(MOVES).splitlines()]
        assert {move[3] for move in moves} == {"0"}
        assert directions(server) == sorted(set(directions(server)))
    finally:
        stop(server, session)
        pinning.result()


def test_changing_advice_is_said_once(make: Make) -> None:
    """How many buffers it is about may change each time."""
    server = server_to_tune(make, "advise")
    server.query("ALTER BUFFER POOL small SET HANDLER lirs")
    session = loop(server, "wanting")
    try:
        wait_for("there is advice", lambda: server.query(MOVES) != "")
        for most in (2560, 8192, 2560):
            server.query(f"ALTER BUFFER POOL small SET (max_size = '{most}kB')")
            time.sleep(1.2)
    finally:
        stop(server, session)
    assert directions(server) == sorted(set(directions(server)))


def test_nothing_moves_before_an_interval_has_passed(make: Make) -> None:
    server = server_to_tune(
        make, "on", bufferpool__autotune_interval="5s", bufferpool__advice="off"
    )
    server.restart({})  # nor does tuning rest, as after a statement about sizes
    session = loop(server, "wanting")
    try:
        server.query("ALTER SYSTEM SET bufferpool.advice = on", "SELECT pg_reload_conf()")
        wait_for("buffers move", lambda: server.query(MOVES) != "")
        assert (
            server.query(
                "SELECT min(moved_at) - min(since) > '5 s'"
                " FROM pg_bufferpool_moves, pg_stat_bufferpool_advice WHERE pool = to_pool"
            )
            == "t"
        )
    finally:
        stop(server, session)


def test_tuning_without_advice(make: Make) -> None:
    """It does nothing, and the log says so."""
    server = make(bufferpool__autotune="on", bufferpool__advice="off")
    said = '"bufferpool.autotune" does nothing while "bufferpool.advice" is off'
    wait_for("it is said", lambda: said in server.log.read_text())
    server.query("ALTER SYSTEM SET bufferpool.advice = on", "SELECT pg_reload_conf()")
    advisor(server)
    assert server.log.read_text().count(said) == 1


def test_tuning_without_a_library(make: Make) -> None:
    server = make(bufferpool__autotune="on", shared_preload_libraries="")
    said = '"bufferpool.autotune" does nothing without a library of replacement algorithms'
    wait_for("it is said", lambda: said in server.log.read_text())
    assert server.query(ADVISOR) == ""


def test_privileges(make: Make) -> None:
    server = make()
    server.query("CREATE ROLE watcher LOGIN IN ROLE pg_monitor", "CREATE ROLE anybody LOGIN")
    server.query("SELECT * FROM pg_bufferpool_moves", user="watcher")
    with pytest.raises(Exception, match="permission denied"):
        server.query("SELECT * FROM pg_bufferpool_moves", user="anybody")
