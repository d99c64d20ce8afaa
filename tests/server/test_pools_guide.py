"""docs/pools.md: its examples run, in their order."""

from __future__ import annotations

import re

import pytest

from server.conftest import ROOT, Make
from server.pools import violations

PAGE = (ROOT / "docs" / "pools.md").read_text()
EXAMPLES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("max_pools", ["-1", "16"])
def test_the_examples_run(make: Make, max_pools: str) -> None:
    server = make("clock", shared_buffers="256MB", bufferpool__max_pools=max_pools)
    said = []
    script = server.directory / "example.sql"
    for example in EXAMPLES:
        script.write_text(example)
        run = server.run(server.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script)
        assert run.returncode == 0, example + run.stdout
        said += re.findall(r"(?:NOTICE|WARNING): .*", run.stdout)
    assert said == [
        'NOTICE:  extension "pg_bufferpool" already exists, skipping',
        'NOTICE:  buffer pool "hot" already exists, skipping',
        'NOTICE:  buffer pool "rest" does not exist, skipping',
    ]
    assert violations(server) == []


def test_each_statement_has_an_example() -> None:
    text = "".join(EXAMPLES)
    for statement in (
        r"CREATE BUFFER POOL \w+ HANDLER \w+ SIZE",
        r"CREATE BUFFER POOL .* WITH \(",
        r"CREATE BUFFER POOL IF NOT EXISTS",
        r"CREATE BUFFER POOL \w+ REMAINDER",
        r"ALTER BUFFER POOL \w+ SET SIZE",
        r"ALTER BUFFER POOL \w+ SET HANDLER",
        r"ALTER BUFFER POOL \w+ SET \(",
        r"ALTER BUFFER POOL \w+ RESET \(",
        r"ALTER BUFFER POOL \w+ RENAME TO",
        r"ALTER BUFFER POOL DEFAULT",
        r"COMMENT ON BUFFER POOL",
        r"DROP BUFFER POOL \w+;",
        r"DROP BUFFER POOL IF EXISTS",
        r"bufferpool\.default_pool",
        r"pg_bufferpool_move",
        r"pg_bufferpool_reset_options",
    ):
        assert re.search(statement, text), statement


def test_all_settings_are_described(make: Make) -> None:
    server = make()
    names = server.query(
        "SELECT name FROM pg_settings WHERE name LIKE 'bufferpool.%'"
        " AND name ~ 'pool$|pools$|recycle|trickle|definitions'"
    ).splitlines()
    assert len(names) >= 5
    for name in names:
        assert f"`{name}`" in PAGE or name in PAGE


def test_all_columns_are_described(make: Make) -> None:
    """Each column of the views that have only a few."""
    server = make()
    for view in ("pg_bufferpool", "pg_stat_progress_bufferpool"):
        columns = server.query(
            f"SELECT attname FROM pg_attribute WHERE attrelid = '{view}'::regclass AND attnum > 0"
        ).splitlines()
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{view}`"))
        for column in columns:
            assert f"`{column}`" in row, f"{view}.{column}"
