"""How relations, databases and roles are assigned to buffer pools."""

from __future__ import annotations

import itertools

import pytest

from server.conftest import Make
from server.pools import (
    create,
    fails,
    fill,
    pages,
    pool,
    server_with_pools,
    violations,
)
from tidepool.server import Instance

MISSING = 'WARNING:  buffer pool "{}" does not exist'
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server(make_once: Make) -> Instance:
    made = server_with_pools(make_once)
    create(made, "hot", size="2MB")
    create(made, "cold", size="2MB")
    made.query("CREATE EXTENSION bloom; CREATE EXTENSION pg_prewarm")
    return made


@pytest.fixture
def name() -> str:
    """Of a table that no other test has."""
    return f"t{next(numbers)}"


def options(server: Instance, relation: str) -> str:
    query = f"SELECT reloptions FROM pg_class WHERE oid = '{relation}'::regclass"
    return server.query(query)


def toast(server: Instance, table: str) -> tuple[str, str]:
    """Its TOAST table, and that one's index."""
    query = (
        "SELECT reltoastrelid::regclass, indexrelid::regclass"
        " FROM pg_class JOIN pg_index ON indrelid = reltoastrelid"
        f" WHERE pg_class.oid = '{table}'::regclass"
    )
    relation, index = server.query(query).split("|")
    return relation, index


# ---- relations of each kind ----


def test_tables(server: Instance, name: str) -> None:
    fill(server, name, 20, ", buffer_pool = 'hot'")
    assert pages(server, name).keys() == {"hot"}
    assert pages(server, f"{name}_id").keys() == {"DEFAULT"}  # an index does not follow
    assert options(server, name) == "{fillfactor=10,buffer_pool=hot}"


def test_a_table_that_is_assigned_later(server: Instance, name: str) -> None:
    fill(server, name, 20)
    before = pages(server, name)
    assert before.keys() == {"DEFAULT"}
    server.query(f"ALTER TABLE {name} SET (buffer_pool = 'hot')")
    server.query(f"INSERT INTO {name} SELECT i, repeat('x', 500) FROM generate_series(1, 20) i")
    after = pages(server, name)
    assert after["DEFAULT"] == before["DEFAULT"]
    assert after["hot"] >= 19
    server.query(f"ALTER TABLE {name} RESET (buffer_pool)")
    assert options(server, name) == "{fillfactor=10}"
    server.query(f"INSERT INTO {name} SELECT i, repeat('x', 500) FROM generate_series(1, 20) i")
    assert pages(server, name)["hot"] == after["hot"]


def test_a_rewritten_table_stays_in_its_pool(server: Instance, name: str) -> None:
    fill(server, name, 20, ", buffer_pool = 'hot'")
    server.query(f"VACUUM FULL {name}", f"SELECT count(*) FROM {name}")
    assert pages(server, name).keys() == {"hot"}
    server.query(f"TRUNCATE {name}", f"INSERT INTO {name} VALUES (1, '')")
    assert pages(server, name).keys() == {"hot"}
    server.query(f"ALTER TABLE {name} SET UNLOGGED", f"SELECT count(*) FROM {name}")
    assert pages(server, name).keys() == {"hot"}


def test_materialized_views(server: Instance, name: str) -> None:
    server.query(
        f"CREATE MATERIALIZED VIEW {name} WITH (buffer_pool = 'hot') AS"
        " SELECT i AS id FROM generate_series(1, 3000) i"
    )
    assert pages(server, name).keys() == {"hot"}
    server.query(f"ALTER MATERIALIZED VIEW {name} SET (buffer_pool = 'cold')")
    server.query(f"REFRESH MATERIALIZED VIEW {name}")
    assert pages(server, name).keys() == {"cold"}


@pytest.mark.parametrize(
    ("method", "column"),
    [
        ("btree", "id"),
        ("hash", "id"),
        ("gist", "place"),
        ("spgist", "place"),
        ("gin", "numbers"),
        ("brin", "id"),
        ("bloom", "id"),
    ],
)
def test_indexes(server: Instance, name: str, method: str, column: str) -> None:
    server.query(
        f"CREATE TABLE {name} (id int, place point, numbers int[])",
        f"CREATE INDEX {name}_i ON {name} USING {method} ({column}) WITH (buffer_pool = 'hot')",
        f"INSERT INTO {name} SELECT i, point(i, i), ARRAY[i, -i] FROM generate_series(1, 3000) i",
    )
    found = pages(server, f"{name}_i")
    assert found.keys() == {"hot"}
    server.query(f"ALTER INDEX {name}_i SET (buffer_pool = 'cold')")
    server.query(f"REINDEX INDEX {name}_i", f"SELECT pg_prewarm('{name}_i')")
    assert pages(server, f"{name}_i").keys() == {"cold"}
    server.query(f"REINDEX INDEX CONCURRENTLY {name}_i", f"SELECT pg_prewarm('{name}_i')")
    assert pages(server, f"{name}_i").keys() == {"cold"}
    server.query(f"ALTER INDEX {name}_i RESET (buffer_pool)")
    server.query(f"REINDEX INDEX {name}_i", f"SELECT pg_prewarm('{name}_i')")
    assert pages(server, f"{name}_i").keys() == {"DEFAULT"}
    assert "overflow_buffer_pool" in fails(
        server, f"ALTER INDEX {name}_i SET (overflow_buffer_pool = 'hot')"
    )


def test_indexes_of_constraints(server: Instance, name: str) -> None:
    server.query(f"CREATE TABLE {name} (id int PRIMARY KEY WITH (buffer_pool = 'hot'))")
    server.query(f"INSERT INTO {name} SELECT generate_series(1, 3000)")
    assert pages(server, f"{name}_pkey").keys() == {"hot"}
    server.query(f"CREATE TABLE {name}_copy (LIKE {name} INCLUDING ALL)")
    assert options(server, f"{name}_copy_pkey") == "{buffer_pool=hot}"


# ---- TOAST ----


def with_toast(server: Instance, name: str, text: str = "") -> None:
    server.query(f"CREATE TABLE {name} (id int, body text) {text}")
    server.query(f"ALTER TABLE {name} ALTER body SET STORAGE EXTERNAL")


def insert(table: str, rows: int = 20) -> str:
    return f"INSERT INTO {table} SELECT i, repeat('x', 20000) FROM generate_series(1, {rows}) i"


def test_the_overflow_pool_is_the_toast_tables(server: Instance, name: str) -> None:
    with_toast(server, name, "WITH (overflow_buffer_pool = 'cold')")
    server.query(insert(name))
    table, index = toast(server, name)
    assert pages(server, name).keys() == {"DEFAULT"}
    assert pages(server, table).keys() == {"cold"}
    assert pages(server, index).keys() == {"cold"}
    assert options(server, table) == "{buffer_pool=cold}"


def test_a_table_apart_from_its_toast(server: Instance, name: str) -> None:
    with_toast(server, name, "WITH (buffer_pool = 'hot')")
    server.query(insert(name))
    table, _ = toast(server, name)
    assert pages(server, name).keys() == {"hot"}
    assert pages(server, table).keys() == {"DEFAULT"}


def test_toast_follows_alter(server: Instance, name: str) -> None:
    """Also in a session that knows the TOAST table and its index already."""
    with_toast(server, name)
    server.query(insert(name))
    table, index = toast(server, name)
    before = pages(server, table)["DEFAULT"], pages(server, index)["DEFAULT"]
    server.query(
        insert(name, 1),
        f"ALTER TABLE {name} SET (overflow_buffer_pool = 'cold')",
        insert(name, 500),
    )
    after = pages(server, table)
    assert after["DEFAULT"] <= before[0] + 5
    assert after["cold"] > 100
    assert pages(server, index)["DEFAULT"] <= before[1] + 1
    assert pages(server, index)["cold"] > 2
    server.query(f"ALTER TABLE {name} RESET (overflow_buffer_pool)")
    assert options(server, table) == ""
    assert options(server, name) == ""


def test_toast_has_an_option_of_its_own(server: Instance, name: str) -> None:
    with_toast(server, name, "WITH (overflow_buffer_pool = 'cold', toast.buffer_pool = 'hot')")
    server.query(insert(name))
    table, index = toast(server, name)
    assert pages(server, table).keys() == pages(server, index).keys() == {"hot"}
    server.query(f"ALTER TABLE {name} RESET (toast.buffer_pool)")
    assert options(server, table) == ""
    assert options(server, name) == "{overflow_buffer_pool=cold}"


def test_toast_of_a_rewritten_table(server: Instance, name: str) -> None:
    with_toast(server, name, "WITH (overflow_buffer_pool = 'cold')")
    server.query(insert(name), f"VACUUM FULL {name}", insert(name))
    table, index = toast(server, name)
    assert options(server, table) == "{buffer_pool=cold}"
    assert pages(server, table).keys() == {"cold"}
    assert "cold" in pages(server, index)


def test_a_toast_table_that_is_made_later(server: Instance, name: str) -> None:
    server.query(f"CREATE TABLE {name} (id int) WITH (overflow_buffer_pool = 'cold')")
    server.query(f"ALTER TABLE {name} ADD body text")
    table, _ = toast(server, name)
    assert options(server, table) == "{buffer_pool=cold}"


# ---- partitions ----


def test_partitions_follow_their_parent_when_made(server: Instance, name: str) -> None:
    server.query(
        f"CREATE TABLE {name} (id int, body text) PARTITION BY RANGE (id)"
        " WITH (buffer_pool = 'hot', overflow_buffer_pool = 'cold')",
        f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (10)",
        f"CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM (10) TO (20)"
        " WITH (buffer_pool = 'cold')",
        f"CREATE TABLE {name}_3 PARTITION OF {name} FOR VALUES FROM (20) TO (30)"
        " PARTITION BY RANGE (id)",
        f"CREATE TABLE {name}_4 PARTITION OF {name}_3 FOR VALUES FROM (20) TO (30)",
    )
    both = "{buffer_pool=hot,overflow_buffer_pool=cold}"
    assert options(server, f"{name}_1") == both
    assert options(server, f"{name}_2") == "{buffer_pool=cold,overflow_buffer_pool=cold}"
    assert options(server, f"{name}_3") == both
    assert options(server, f"{name}_4") == both
    table, _ = toast(server, f"{name}_1")
    assert options(server, table) == "{buffer_pool=cold}"
    server.query(f"INSERT INTO {name} SELECT i, '' FROM generate_series(1, 25) i")
    assert pages(server, f"{name}_1").keys() == pages(server, f"{name}_4").keys() == {"hot"}
    assert pages(server, f"{name}_2").keys() == {"cold"}
    # later changes are for partitions made later
    server.query(f"ALTER TABLE {name} SET (buffer_pool = 'cold')")
    assert options(server, f"{name}_1") == both
    server.query(f"CREATE TABLE {name}_5 PARTITION OF {name} FOR VALUES FROM (30) TO (40)")
    assert "buffer_pool=cold" in options(server, f"{name}_5")
    server.query(f"ALTER TABLE {name} RESET (buffer_pool, overflow_buffer_pool)")
    assert options(server, name) == ""


def test_indexes_of_partitions(server: Instance, name: str) -> None:
    server.query(
        f"CREATE TABLE {name} (id int) PARTITION BY RANGE (id)",
        f"CREATE TABLE {name}_1 PARTITION OF {name} FOR VALUES FROM (0) TO (10)",
        f"CREATE INDEX {name}_i ON {name} (id) WITH (buffer_pool = 'hot')",
        f"CREATE TABLE {name}_2 PARTITION OF {name} FOR VALUES FROM (10) TO (20)",
    )
    assert options(server, f"{name}_1_id_idx") == "{buffer_pool=hot}"
    assert options(server, f"{name}_2_id_idx") == "{buffer_pool=hot}"


def test_other_options_are_refused_for_partitioned_tables_still(
    server: Instance, name: str
) -> None:
    text = f"CREATE TABLE {name} (id int) PARTITION BY RANGE (id) WITH (fillfactor = 10)"
    assert "cannot specify storage parameters for a partitioned table" in fails(server, text)
    text = text.replace("WITH (", "WITH (buffer_pool = 'hot', ")
    assert "cannot specify storage parameters for a partitioned table" in fails(server, text)


# ---- what has no pages, and other mistakes ----


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v WITH (buffer_pool = 'hot') AS SELECT 1",
        "ALTER TABLE refused ALTER id SET (buffer_pool = 'hot')",
        "ALTER TABLESPACE pg_default SET (buffer_pool = 'hot')",
        "ALTER TABLESPACE pg_default SET (overflow_buffer_pool = 'hot')",
        "CREATE INDEX ON refused USING gist (words tsvector_ops (buffer_pool = 'hot'))",
        "CREATE INDEX ON refused (id) WITH (overflow_buffer_pool = 'hot')",
        "CREATE TABLE v (id int, t text) WITH (toast.overflow_buffer_pool = 'hot')",
        "ALTER TABLE refused SET (toast.overflow_buffer_pool = 'hot')",
        "CREATE TABLE v (id int) WITH (buffer_pools = 'hot')",
    ],
)
def test_where_there_are_no_pages(server: Instance, statement: str) -> None:
    server.query("CREATE TABLE IF NOT EXISTS refused (id int, words tsvector)")
    assert "unrecognized parameter" in fails(server, statement)


def test_values_that_make_no_sense(server: Instance, name: str) -> None:
    text = f"CREATE TABLE {name} (id int) WITH ({{}})"
    twice = text.format("buffer_pool = 'hot', buffer_pool = 'cold'")
    assert 'parameter "buffer_pool" specified more than once' in fails(server, twice)
    assert (
        'invalid value for option "buffer_pool": ""\n'
        "DETAIL:  The name of a buffer pool has 1 to 63 bytes."
    ) in fails(server, text.format("buffer_pool = ''"))
    long = 64 * "x"
    assert f'invalid value for option "overflow_buffer_pool": "{long}"' in fails(
        server, text.format(f"overflow_buffer_pool = '{long}'")
    )


def test_default_may_be_named(server: Instance, name: str) -> None:
    server.query("ALTER ROLE postgres SET bufferpool.default_pool = 'cold'")
    try:
        for number, value in enumerate(("'DEFAULT'", "default", "'Default'")):
            table = f"{name}_{number}"
            said = server.query(f"CREATE TABLE {table} (id int) WITH (buffer_pool = {value})")
            assert said == ""
            server.query(f"INSERT INTO {table} VALUES (1)")
            assert pages(server, table).keys() == {"DEFAULT"}
    finally:
        server.query("ALTER ROLE postgres RESET ALL")


def test_owners_may_assign(server: Instance, name: str) -> None:
    server.query(f"CREATE ROLE {name} LOGIN; GRANT ALL ON SCHEMA public TO {name}")
    server.query(f"CREATE TABLE {name} (id int) WITH (buffer_pool = 'hot')", user=name)
    server.query(f"ALTER TABLE {name} SET (buffer_pool = 'cold')", user=name)
    assert options(server, name) == "{buffer_pool=cold}"


# ---- pools that do not exist ----


def test_unknown_pools_are_one_warning(server: Instance, name: str) -> None:
    said = server.query(f"CREATE TABLE {name} (id int, t text) WITH (buffer_pool = 'later')")
    assert said == (
        MISSING.format("later") + "\n"
        "DETAIL:  Until it is created, the relation's pages go to the pool DEFAULT."
    )
    said = server.query(f"ALTER TABLE {name} SET (overflow_buffer_pool = 'much_later')")
    assert said.count(MISSING.format("much_later")) == 1
    assert "later" not in server.query(f"ALTER TABLE {name} SET (fillfactor = 50)")
    assert "later" not in server.query(f"ALTER TABLE {name} RESET (fillfactor)")
    said = server.query(f"CREATE INDEX {name}_i ON {name} (id) WITH (buffer_pool = 'later')")
    assert said.count(MISSING.format("later")) == 1


def test_unknown_pools_take_effect_when_created(make: Make) -> None:
    """In a session that has looked the name up in vain."""
    server = server_with_pools(make)
    fill(server, "t", 20, ", buffer_pool = 'later'")
    more = "INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 20) i"
    assert pages(server, "t").keys() == {"DEFAULT"}
    server.query(more, "CREATE BUFFER POOL later HANDLER lru SIZE '1MB'", more)
    assert pages(server, "t")["later"] >= 19
    assert "relations still name" in server.query("ALTER BUFFER POOL later RENAME TO earlier")
    before = pages(server, "t")
    server.query(more)
    assert pages(server, "t")["earlier"] == before["earlier"]
    server.query("CREATE BUFFER POOL later HANDLER lru SIZE '1MB'", more)
    assert pages(server, "t")["later"] >= 19
    assert violations(server) == []


# ---- relations that name a pool that goes away ----


def test_drop_and_rename_look_at_all_databases(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    server.query("CREATE DATABASE other")
    server.query("CREATE TABLE here (id int) WITH (buffer_pool = 'hot')")
    server.query(
        "CREATE TABLE \"There!\" (id int, t text) WITH (overflow_buffer_pool = 'hot')",
        database="other",
    )
    said = fails(server, "DROP BUFFER POOL hot")
    assert 'cannot drop buffer pool "hot" because relations name it' in said
    assert '"here" in database "postgres"' in said
    assert '"There!" in database "other"' in said
    assert "HINT:  Use DROP ... CASCADE to let their pages go to the pool DEFAULT." in said
    assert "because relations name it" in fails(server, "DROP BUFFER POOL hot RESTRICT")
    server.query("DROP TABLE here")
    assert '"here"' not in fails(server, "DROP BUFFER POOL hot")
    said = server.query("ALTER BUFFER POOL hot RENAME TO warm")
    assert 'WARNING:  relations still name buffer pool "hot"' in said
    assert '"There!" in database "other"' in said
    assert "HINT:  Use ALTER TABLE ... SET (buffer_pool = ...) to let them follow." in said
    server.query("ALTER BUFFER POOL warm RENAME TO hot")
    server.query("DROP BUFFER POOL hot CASCADE")
    server.query("DROP DATABASE other")
    create(server, "hot")
    server.query("DROP BUFFER POOL hot")
    assert violations(server) == []


def test_many_relations_are_not_all_listed(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    for number in range(13):
        server.query(f"CREATE TABLE t{number} (id int) WITH (buffer_pool = 'hot')")
    said = fails(server, "DROP BUFFER POOL hot")
    assert said.count("in database") == 10 and said.count(" and 3 more") == 1


def test_what_is_not_committed_does_not_count(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    server.query("BEGIN; CREATE TABLE t (id int) WITH (buffer_pool = 'hot'); ROLLBACK")
    server.query("DROP BUFFER POOL hot")


# ---- relations that name none ----


def test_default_pool_of_a_database(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    create(server, "cold")
    server.query("CREATE DATABASE tenant")
    server.query("ALTER DATABASE tenant SET bufferpool.default_pool = 'hot'")
    server.query("CREATE EXTENSION pg_bufferpool", database="tenant")
    server.query(
        "CREATE TABLE own (id int)",
        "CREATE TABLE named (id int, t text) WITH (buffer_pool = 'cold')",
        "INSERT INTO own SELECT generate_series(1, 1000)",
        "INSERT INTO named SELECT generate_series(1, 1000)",
        database="tenant",
    )
    assert pages(server, "own", "tenant").keys() == {"hot"}
    assert pages(server, "named", "tenant").keys() == {"cold"}
    assert pages(server, "pg_class", "tenant").keys() == {"DEFAULT"}
    assert pages(server, "pg_proc", "tenant").keys() == {"DEFAULT"}
    server.query("CREATE TABLE own (id int)", "INSERT INTO own VALUES (1)")
    assert pages(server, "own").keys() == {"DEFAULT"}


def test_default_pool_of_a_role(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    server.query("CREATE ROLE reporting LOGIN; GRANT ALL ON SCHEMA public TO reporting")
    server.query("ALTER ROLE reporting SET bufferpool.default_pool = 'hot'")
    server.query("CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)", user="reporting")
    assert pages(server, "t").keys() == {"hot"}
    assert 'permission denied to set parameter "bufferpool.default_pool"' in fails(
        server, "SET SESSION AUTHORIZATION reporting", "SET bufferpool.default_pool = ''"
    )


def test_default_pool_may_change_and_be_unknown(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    insert_into = "INSERT INTO {} SELECT generate_series(1, 1000)"
    server.query(
        "CREATE TABLE a (id int)",
        "CREATE TABLE b (id int)",
        "CREATE TABLE c (id int)",
        "SET bufferpool.default_pool = 'hot'",
        insert_into.format("a"),
        "SET bufferpool.default_pool = 'unknown'",
        insert_into.format("b"),
        "RESET bufferpool.default_pool",
        insert_into.format("c"),
    )
    assert [pages(server, name).popitem()[0] for name in "abc"] == ["hot", "DEFAULT", "DEFAULT"]


# ---- back to stock ----


def test_reset_options(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    with_toast(server, "a", "WITH (fillfactor = 50, buffer_pool = 'hot')")
    server.query(
        "ALTER TABLE a SET (overflow_buffer_pool = 'hot')",
        "CREATE INDEX i ON a (id) WITH (buffer_pool = 'hot')",
        "CREATE MATERIALIZED VIEW m WITH (buffer_pool = 'gone') AS SELECT 1 AS id",
        "CREATE TABLE p (id int) PARTITION BY RANGE (id) WITH (buffer_pool = 'hot')",
        "CREATE TABLE other (id int) WITH (fillfactor = 50)",
    )
    assert server.query("SELECT pg_bufferpool_reset_options()") == "5"  # with the TOAST table
    left = "SELECT relname, reloptions FROM pg_class WHERE reloptions::text ~ 'buffer_pool'"
    assert server.query(left) == ""
    assert options(server, "a") == options(server, "other") == "{fillfactor=50}"
    assert options(server, "i") == options(server, "m") == options(server, "p") == ""
    assert server.query("SELECT pg_bufferpool_reset_options()") == "0"
    server.query(insert("a"), "INSERT INTO a SELECT 1, repeat('y', 20000)")
    assert pages(server, "a").keys() == {"DEFAULT"}
    server.query("DROP BUFFER POOL hot")
    assert pool(server, "hot", "name") == ""
