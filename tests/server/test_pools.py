"""Statements that make, change and drop buffer pools."""

from __future__ import annotations

import re

import pytest

from server.conftest import Make
from server.pools import (
    BUFFERS,
    FLOOR,
    create,
    definitions,
    fails,
    fill,
    pool,
    server_with_pools,
    sizes,
    violations,
)
from server.sessions import Session
from tidepool.errors import TidepoolError
from tidepool.server import Instance

LEFT = BUFFERS - FLOOR  # for pools other than DEFAULT


@pytest.fixture(scope="module")
def server(make_once: Make) -> Instance:
    """A server with pools that statements fail to change."""
    made = server_with_pools(make_once)
    create(made, "hot")
    create(made, "cold", "lirs", "512kB")
    made.query("CREATE BUFFER POOL rest REMAINDER HANDLER arc")
    made.query("CREATE ROLE owner LOGIN; GRANT pg_monitor TO owner")
    return made


# ---- each statement ----


def test_life_of_a_pool(make: Make) -> None:
    server = server_with_pools(make)
    assert sizes(server) == {"DEFAULT": BUFFERS}
    server.query("CREATE BUFFER POOL hot HANDLER lirs SIZE '2MB' WITH (hir = '5%')")
    assert sizes(server) == {"DEFAULT": BUFFERS - 256, "hot": 256}
    assert pool(server, "hot", "handler, options, size, target, remainder, state, comment") == (
        f"lirs|hir=5%|{2 << 20}|{2 << 20}|f|ready|"
    )
    server.query("ALTER BUFFER POOL hot SET SIZE '1MB'")
    assert sizes(server) == {"DEFAULT": BUFFERS - 128, "hot": 128}
    server.query("ALTER BUFFER POOL hot SET SIZE '3MB'")
    assert sizes(server) == {"DEFAULT": BUFFERS - 384, "hot": 384}
    server.query("ALTER BUFFER POOL hot SET (ghosts = 1.5)")
    assert pool(server, "hot", "options") == "hir=5%,ghosts=1.5"
    server.query("ALTER BUFFER POOL hot SET (hir = 0.02)")
    assert pool(server, "hot", "options") == "ghosts=1.5,hir=0.02"
    server.query("ALTER BUFFER POOL hot RESET (ghosts)")
    assert pool(server, "hot", "options") == "hir=0.02"
    server.query("ALTER BUFFER POOL hot SET HANDLER arc")
    assert pool(server, "hot", "handler, options, state") == "arc||ready"
    server.query("COMMENT ON BUFFER POOL hot IS 'it''s hot'")
    assert pool(server, "hot", "comment") == "it's hot"
    server.query("ALTER BUFFER POOL hot RENAME TO warm")
    assert pool(server, "warm", "handler, comment, buffers") == "arc|it's hot|384"
    server.query("COMMENT ON BUFFER POOL warm IS NULL")
    assert pool(server, "warm", "comment IS NULL") == "t"
    assert violations(server) == []
    server.query("DROP BUFFER POOL warm")
    assert sizes(server) == {"DEFAULT": BUFFERS}
    assert violations(server) == []
    assert not re.search("WARNING|PANIC|TRAP", server.log.read_text())


@pytest.mark.parametrize(
    ("size", "buffers"),
    [("1MB", 128), ("128kB", 16), ("131072", 16), ("200000", 24), (" 1 MB ", 128), ("7MB", LEFT)],
)
def test_sizes(make: Make, size: str, buffers: int) -> None:
    server = server_with_pools(make)
    create(server, "hot", size=size)
    assert sizes(server) == {"DEFAULT": BUFFERS - buffers, "hot": buffers}


@pytest.mark.parametrize(
    ("handler", "algorithm"),
    [("arc", "arc"), ("arc_pool_handler", "arc"), ("ARC", "arc"), ('"S3fifo"', "s3fifo")],
)
def test_names_of_handlers(make: Make, handler: str, algorithm: str) -> None:
    server = server_with_pools(make)
    create(server, "hot", handler)
    assert pool(server, "hot", "handler") == algorithm


def test_every_algorithm(make: Make) -> None:
    """As the handler of a new pool, of one in use, and of DEFAULT."""
    server = server_with_pools(make, bufferpool__bytes_per_buffer="200")
    create(server, "hot", size="512kB")
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    names = server.query("SELECT name FROM pg_bufferpool_algorithms()").splitlines()
    for name in names:
        create(server, "other", f'"{name}"', "128kB")
        server.query(
            "DROP BUFFER POOL other",
            f'ALTER BUFFER POOL hot SET HANDLER "{name}"',
            f'ALTER BUFFER POOL DEFAULT SET HANDLER "{name}"',
            "SELECT count(*) FROM t",
            "CREATE TABLE u AS SELECT * FROM t",
            "DROP TABLE u",
        )
        assert pool(server, "hot", "handler, state") == f"{name}|ready"
        assert pool(server, "DEFAULT", "handler, state") == f"{name}|ready"
        assert violations(server) == [], name
    assert server.query("SELECT count(*) FROM t") == "100"


def test_options_of_algorithms(server: Instance) -> None:
    of = "SELECT * FROM pg_bufferpool_options() WHERE algorithm = '{}' ORDER BY option"
    assert server.query(of.format("lirs")).splitlines() == [
        "lirs|ghosts|fraction|2|0|64||most non-resident HIR pages to remember, per frame",
        "lirs|hir|fraction|0.01|0|1||share of the frames for resident HIR pages, at least 2 frames",
    ]
    assert server.query(of.format("keep")).startswith("keep|on_full|enum|spill|||spill, error|")
    assert server.query(of.format("lru")) == ""
    other = "SELECT count(*) FROM pg_bufferpool_options() WHERE algorithm NOT IN"
    assert server.query(f"{other} (SELECT name FROM pg_bufferpool_algorithms())") == "0"


def test_if_exists_and_if_not_exists(server: Instance) -> None:
    said = server.query("CREATE BUFFER POOL IF NOT EXISTS hot HANDLER arc SIZE '2MB'")
    assert said == 'NOTICE:  buffer pool "hot" already exists, skipping'
    said = server.query("CREATE BUFFER POOL IF NOT EXISTS hot REMAINDER HANDLER arc")
    assert said == 'NOTICE:  buffer pool "hot" already exists, skipping'
    assert pool(server, "hot", "handler, buffers") == "lru|128"
    said = server.query("DROP BUFFER POOL IF EXISTS missing")
    assert said == 'NOTICE:  buffer pool "missing" does not exist, skipping'
    server.query("CREATE BUFFER POOL IF NOT EXISTS new HANDLER arc SIZE '128kB'")
    server.query("DROP BUFFER POOL IF EXISTS new CASCADE")


def test_words_are_names_still(server: Instance) -> None:
    """BUFFER, POOL, REMAINDER and SIZE are no reserved words."""
    query = "CREATE TEMP TABLE pool (buffer int, size int, remainder int); SELECT 1 AS size"
    assert server.query(query) == "1"
    create(server, "pool", "lru", "128kB")
    server.query("DROP BUFFER POOL pool")


# ---- errors ----

ERRORS = [
    # names
    ("CREATE BUFFER POOL hot HANDLER lru SIZE '128kB'", 'buffer pool "hot" already exists'),
    ("CREATE BUFFER POOL \"Default\" HANDLER lru SIZE '128kB'", 'name "Default" is reserved'),
    ("CREATE BUFFER POOL recycle HANDLER lru SIZE '128kB'", 'name "recycle" is reserved'),
    ("ALTER BUFFER POOL hot RENAME TO cold", 'buffer pool "cold" already exists'),
    ('ALTER BUFFER POOL hot RENAME TO "DEFAULT"', 'name "DEFAULT" is reserved'),
    ("ALTER BUFFER POOL missing SET SIZE '1MB'", 'buffer pool "missing" does not exist'),
    ("ALTER BUFFER POOL missing SET HANDLER lru", 'buffer pool "missing" does not exist'),
    ("ALTER BUFFER POOL missing SET (hir = 1)", 'buffer pool "missing" does not exist'),
    ("ALTER BUFFER POOL missing RENAME TO x", 'buffer pool "missing" does not exist'),
    ("COMMENT ON BUFFER POOL missing IS ''", 'buffer pool "missing" does not exist'),
    ("DROP BUFFER POOL missing", 'buffer pool "missing" does not exist'),
    # DEFAULT
    (
        "ALTER BUFFER POOL DEFAULT SET SIZE '1MB'",
        "buffer pool DEFAULT can only be given another handler or other options\n"
        "DETAIL:  It has the buffers that no other pool has.",
    ),
    ('ALTER BUFFER POOL "DEFAULT" RENAME TO x', "DEFAULT can only be given another handler"),
    ('DROP BUFFER POOL "DEFAULT"', "DEFAULT can only be given another handler"),
    ("DROP BUFFER POOL DEFAULT", "syntax error"),
    ("COMMENT ON BUFFER POOL DEFAULT IS ''", "DEFAULT can only be given another handler"),
    (
        "ALTER BUFFER POOL DEFAULT SET (hir = 1)",
        'buffer pool "DEFAULT" has no options\n'
        "DETAIL:  PostgreSQL's own clock replaces its pages.",
    ),
    # sizes
    (
        "CREATE BUFFER POOL x HANDLER lru SIZE '127kB'",
        'buffer pool "x" is too small\n'
        "DETAIL:  It would have 15 buffers of 8192 bytes; the minimum is 16.",
    ),
    ("ALTER BUFFER POOL hot SET SIZE '0'", 'buffer pool "hot" is too small'),
    ("ALTER BUFFER POOL hot SET SIZE '-1MB'", 'invalid size of buffer pool "hot": "-1MB"'),
    ("ALTER BUFFER POOL hot SET SIZE '1000PB'", 'invalid size of buffer pool "hot": "1000PB"'),
    ("ALTER BUFFER POOL hot SET SIZE 'big'", 'invalid size: "big"'),
    ("ALTER BUFFER POOL hot SET SIZE ''", 'invalid size: ""'),
    (
        # cold has 64, rest can be made as small as 16
        "ALTER BUFFER POOL hot SET SIZE '8MB'",
        'not enough shared buffers for buffer pool "hot"\n'
        f"DETAIL:  It would have 1024 buffers, {1024 - (LEFT - 64 - 16)} more than other pools"
        f" and the {FLOOR} that DEFAULT keeps leave.  Of {BUFFERS} buffers, the pools have:"
        f" DEFAULT {FLOOR}, hot 128, cold 64, rest {LEFT - 192}.\n"
        'HINT:  Make the pool or another one smaller, or raise "shared_buffers".',
    ),
    (
        "CREATE BUFFER POOL x REMAINDER HANDLER lru",
        'buffer pool "x" cannot have the remainder of the shared buffers\n'
        'DETAIL:  Buffer pool "rest" has it.\n'
        "HINT:  Give that pool a size first.",
    ),
    # algorithms
    (
        "CREATE BUFFER POOL x HANDLER arcane SIZE '128kB'",
        'replacement algorithm "arcane" does not exist\n'
        'HINT:  Add the library that has it to "shared_preload_libraries" and restart the server.',
    ),
    ("ALTER BUFFER POOL hot SET HANDLER _pool_handler", '"_pool_handler" does not exist'),
    # options
    (
        "CREATE BUFFER POOL x HANDLER lru SIZE '128kB' WITH (hir = 1)",
        'invalid options of replacement algorithm "lru": there is no parameter "hir"',
    ),
    ("ALTER BUFFER POOL cold SET (hir = 2)", '"hir" must be from 0 to 1'),
    ("ALTER BUFFER POOL cold SET (hir = 0.1, hir = 0.2)", '"hir" is given twice'),
    ("ALTER BUFFER POOL cold SET (hir = much)", '"much" of "hir" is not a number'),
    ("ALTER BUFFER POOL cold SET (hir)", "hir requires a parameter"),
    (
        "ALTER BUFFER POOL cold SET (hir = '0.1,ghosts=1')",
        'invalid value for option "hir": "0.1,ghosts=1"',
    ),
    (
        f"ALTER BUFFER POOL cold SET (hir = '0.{250 * '1'}')",
        'options of replacement algorithm "lirs" are longer than 255 bytes',
    ),
    ("ALTER BUFFER POOL cold RESET (hot)", 'replacement algorithm "lirs" has no option "hot"'),
    (
        "ALTER BUFFER POOL cold RESET (hir = 1)",
        "RESET must not include values for parameters",
    ),
    (
        "ALTER BUFFER POOL cold SET (ghosts = 1000)",
        "ghosts",
    ),
    # comments
    (
        f"COMMENT ON BUFFER POOL hot IS '{256 * 'x'}'",
        'comment on buffer pool "hot" is too long\nDETAIL:  It has 256 bytes; the maximum is 255.',
    ),
]


@pytest.mark.parametrize(("statement", "error"), ERRORS)
def test_errors(server: Instance, statement: str, error: str) -> None:
    before = definitions(server), server.query("TABLE pg_bufferpool")
    assert error in fails(server, statement)
    assert (definitions(server), server.query("TABLE pg_bufferpool")) == before


def test_memory_for_options(make: Make) -> None:
    """Memory is reserved for the default options of all algorithms."""
    server = server_with_pools(make, shared_preload_libraries="pg_bp_lirs")
    create(server, "hot", "lirs")
    assert "not enough memory for replacement algorithm" in fails(
        server, "ALTER BUFFER POOL hot SET (ghosts = 10)"
    )
    assert pool(server, "hot", "options") == ""
    server.query("ALTER BUFFER POOL hot SET (ghosts = 0.5)")


def test_too_many_pools(make: Make) -> None:
    server = server_with_pools(make, bufferpool__max_pools="2")
    create(server, "one")
    create(server, "two")
    assert (
        "too many buffer pools\nDETAIL:  There is memory for 2 besides DEFAULT.\n"
        'HINT:  Raise "bufferpool.max_pools" and restart the server.'
    ) in fails(server, "CREATE BUFFER POOL three HANDLER lru SIZE '1MB'")
    server.query("DROP BUFFER POOL one")
    create(server, "three")


def test_most_pools(make: Make) -> None:
    server = server_with_pools(make, bufferpool__max_pools="64", shared_buffers="16MB")
    for number in range(64):
        create(server, f"p{number}", "lru", "160kB")
    assert "too many buffer pools" in fails(
        server, "CREATE BUFFER POOL one_more HANDLER lru SIZE '128kB'"
    )
    assert violations(server) == []
    before = definitions(server)
    server.stop()
    server.start()
    assert definitions(server) == before


def test_no_memory_for_pools(make: Make) -> None:
    server = server_with_pools(make, shared_preload_libraries="")
    assert (
        "there is no memory for buffer pools\n"
        'HINT:  Set "bufferpool.max_pools", or add a library with replacement algorithms'
        ' to "shared_preload_libraries", and restart the server.'
    ) in fails(server, "CREATE BUFFER POOL hot HANDLER jam SIZE '1MB'")
    assert sizes(server) == {"DEFAULT": BUFFERS}
    assert pool(server, "DEFAULT", "memory") == "0"


def test_pools_without_a_library(make: Make) -> None:
    server = server_with_pools(make, shared_preload_libraries="", bufferpool__max_pools="3")
    for handler in ("jam", "keep", "clock"):
        create(server, handler, handler)
    assert violations(server) == []


# ---- when, and by whom ----

STATEMENTS = [
    ("CREATE BUFFER POOL", "CREATE BUFFER POOL x HANDLER lru SIZE '128kB'"),
    ("ALTER BUFFER POOL", "ALTER BUFFER POOL hot SET SIZE '1MB'"),
    ("ALTER BUFFER POOL", "ALTER BUFFER POOL hot SET HANDLER arc"),
    ("ALTER BUFFER POOL", "ALTER BUFFER POOL cold SET (hir = 0.1)"),
    ("ALTER BUFFER POOL", "ALTER BUFFER POOL cold RESET (hir)"),
    ("ALTER BUFFER POOL", "ALTER BUFFER POOL hot RENAME TO x"),
    ("COMMENT", "COMMENT ON BUFFER POOL hot IS ''"),
    ("DROP BUFFER POOL", "DROP BUFFER POOL hot"),
]


@pytest.mark.parametrize(("tag", "statement"), STATEMENTS)
def test_not_in_a_transaction(server: Instance, tag: str, statement: str) -> None:
    before = definitions(server)
    block = f"{tag} cannot run inside a transaction block"
    assert block in fails(server, "BEGIN", statement)
    assert block in fails(server, f"SELECT 1; {statement}")
    quoted = statement.replace("'", "''")
    assert f"{tag} cannot be executed from a function" in fails(
        server, f"DO $$BEGIN EXECUTE '{quoted}'; END$$"
    )
    assert definitions(server) == before


@pytest.mark.parametrize("statement", [statement for _, statement in STATEMENTS])
def test_only_superusers(server: Instance, statement: str) -> None:
    with pytest.raises(
        TidepoolError,
        match="permission denied to change buffer pools\nDETAIL:  Only superusers may do that",
    ):
        server.query(statement, user="owner")


@pytest.mark.parametrize(
    "view",
    [
        *("pg_bufferpool", "pg_stat_bufferpool", "pg_stat_progress_bufferpool", "pg_stat_scans"),
        *("pg_bufferpool_relations", "pg_bufferpool_algorithms()", "pg_bufferpool_options()"),
    ],
)
def test_who_may_read(server: Instance, view: str) -> None:
    server.query("DROP ROLE IF EXISTS nosy; CREATE ROLE nosy LOGIN")
    server.query(f"SELECT count(*) FROM {view}", user="owner")
    with pytest.raises(TidepoolError, match="permission denied"):
        server.query(f"SELECT count(*) FROM {view}", user="nosy")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM pg_bufferpool_buffers",
        "SELECT pg_bufferpool_move('pg_class')",
        "SELECT pg_bufferpool_reset_options()",
    ],
)
def test_what_only_superusers_may_call(server: Instance, query: str) -> None:
    with pytest.raises(TidepoolError, match="permission denied"):
        server.query(query, user="owner")


def test_one_at_a_time(make: Make) -> None:
    server = server_with_pools(make, shared_buffers="16MB")
    sessions = [
        Session(
            server,
            *(
                statement
                for _ in range(5)
                for statement in (
                    f"CREATE BUFFER POOL p{i} HANDLER lru SIZE '1MB'",
                    f"ALTER BUFFER POOL p{i} SET SIZE '512kB'",
                    f"ALTER BUFFER POOL p{i} SET HANDLER arc",
                    f"DROP BUFFER POOL p{i}",
                )
            ),
            f"CREATE BUFFER POOL p{i} HANDLER lru SIZE '1MB'",
        )
        for i in range(6)
    ]
    assert [session.result() for session in sessions] == 6 * [""]
    assert sizes(server) == {"DEFAULT": 2048 - 6 * 128} | {f"p{i}": 128 for i in range(6)}
    assert violations(server) == []


# ---- the remainder ----


def test_remainder_gives_and_takes(make: Make) -> None:
    server = server_with_pools(make)
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER lru")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": LEFT}
    create(server, "hot", size="2MB")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": LEFT - 256, "hot": 256}
    server.query("ALTER BUFFER POOL hot SET SIZE '1MB'")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": LEFT - 128, "hot": 128}
    server.query("ALTER BUFFER POOL hot SET SIZE '6MB'")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": LEFT - 768, "hot": 768}
    server.query("DROP BUFFER POOL hot")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": LEFT}
    server.query("ALTER BUFFER POOL rest SET SIZE '1MB'")
    assert sizes(server) == {"DEFAULT": BUFFERS - 128, "rest": 128}
    assert pool(server, "rest", "remainder") == "f"
    server.query("CREATE BUFFER POOL other REMAINDER HANDLER lru")
    assert sizes(server) == {"DEFAULT": FLOOR, "rest": 128, "other": LEFT - 128}
    assert violations(server) == []


def test_remainder_is_what_is_left_after_a_restart(make: Make) -> None:
    server = server_with_pools(make)
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER lru")
    create(server, "hot", size="2MB")
    server.configure({"shared_buffers": "16MB"})
    server.stop()
    server.start()
    assert sizes(server) == {"DEFAULT": 256, "rest": 2048 - 256 - 256, "hot": 256}


# ---- definitions ----


def test_definitions_make_the_same_pools(make: Make) -> None:
    server = server_with_pools(make)
    server.query("CREATE BUFFER POOL \"Hot 'one'\" HANDLER lirs SIZE '1MB' WITH (hir = '5%')")
    server.query("COMMENT ON BUFFER POOL \"Hot 'one'\" IS 'it''s \\ a comment'")
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER arc")
    create(server, "small", "keep", "128kB")
    server.query("ALTER BUFFER POOL small SET (on_full = 'error')")
    before = definitions(server)
    table = server.query("TABLE pg_bufferpool")
    assert len(before) == 4
    for name in ("\"Hot 'one'\"", "rest", "small"):
        server.query(f"DROP BUFFER POOL {name}")
    assert definitions(server) == []
    server.query(*before)
    assert definitions(server) == before
    assert server.query("TABLE pg_bufferpool") == table


def test_who_may_see_definitions(server: Instance) -> None:
    server.query("DROP ROLE IF EXISTS nosy; CREATE ROLE nosy LOGIN")
    server.query("SHOW bufferpool.definitions", user="owner")  # as pg_read_all_settings
    with pytest.raises(TidepoolError, match="permission denied"):
        server.query("SHOW bufferpool.definitions", user="nosy")


def test_names_of_the_proposal(make: Make) -> None:
    server = server_with_pools(
        make,
        buffer_pool_algorithm="arc",
        recycle_pool_buffers="32",
        trickle_write_batch_size="7",
        trickle_flush_after="16",
    )
    settings = {
        "bufferpool.recycle_buffers": "256kB",
        "bufferpool.trickle_write_batch_size": "7",
        "bufferpool.trickle_flush_after": "128kB",
    }
    for name, value in settings.items():
        assert server.query(f"SHOW {name}") == value
    assert server.query("SHOW recycle_pool_buffers") == "256kB"
    assert sizes(server)["RECYCLE"] == 32


def test_the_pool_of_rings_cannot_be_changed(make: Make) -> None:
    server = server_with_pools(make, bufferpool__recycle_buffers="32")
    assert sizes(server) == {"DEFAULT": BUFFERS - 32, "RECYCLE": 32}
    for statement in (
        "ALTER BUFFER POOL \"RECYCLE\" SET SIZE '1MB'",
        'ALTER BUFFER POOL "RECYCLE" SET HANDLER lru',
        'DROP BUFFER POOL "RECYCLE"',
    ):
        assert (
            "buffer pool RECYCLE cannot be changed\n"
            'HINT:  Set "bufferpool.recycle_buffers" and restart the server.'
        ) in fails(server, statement)
    assert definitions(server) == []
    create(server, "hot")
    server.stop()
    server.start()
    assert sizes(server) == {"DEFAULT": BUFFERS - 160, "RECYCLE": 32, "hot": 128}
