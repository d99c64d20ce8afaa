"""PostgreSQL's client programs and buffer pools: psql completes them, dumps carry them.

Dumps are restored on our server and on one as PostgreSQL comes.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.conftest import ROOT, Make
from tidepool.server import Instance, server_account

STOCK = ROOT / "build" / "pgsql-stock" / "bin"
PROMPT = "ready> "
PATIENCE = 30  # seconds for psql to answer

# all that a scanner of SQL may stumble over
ODD = """ "Odd; ''pool"" (" """.strip()
ODD_LITERAL = """ 'Odd; ''''pool" (' """.strip()

POOLS = (
    "CREATE BUFFER POOL hot HANDLER arc_pool_handler SIZE '1MB'",
    "COMMENT ON BUFFER POOL hot IS 'it''s hot;\nnot \\cold'",
    f"CREATE BUFFER POOL {ODD} HANDLER lru_k SIZE '512kB' WITH (k = 3)",
    'CREATE BUFFER POOL rest REMAINDER HANDLER "2q"',
)
TABLES = f"""
CREATE TABLE kept (
    id int PRIMARY KEY WITH (fillfactor = 70, buffer_pool = 'hot'),
    place circle, note text,
    UNIQUE (note, id) WITH (buffer_pool = {ODD_LITERAL}),
    EXCLUDE USING gist (place WITH &&) WITH (buffer_pool = {ODD_LITERAL}, fillfactor = 80)
        WHERE (note <> ' WITH (it''s "'))
WITH (buffer_pool = {ODD_LITERAL}, overflow_buffer_pool = 'hot', fillfactor = 50,
    toast.autovacuum_enabled = off);
CREATE INDEX "odd WITH (" ON kept (lower(note || ') WITH (')) WITH (buffer_pool = {ODD_LITERAL})
    WHERE note <> 'it''s (';
CREATE INDEX covering ON kept USING btree (id) INCLUDE (note)
    WITH (fillfactor = 60, buffer_pool = hot);
CREATE INDEX plain ON kept USING brin (id) WITH (pages_per_range = 4);
CREATE MATERIALIZED VIEW seen WITH (buffer_pool = 'hot', fillfactor = 60) AS SELECT 1 AS one;
CREATE MATERIALIZED VIEW pooled WITH (buffer_pool = 'hot') AS SELECT 1 AS one;
CREATE TABLE toasted (note text) WITH (toast.buffer_pool = 'rest');
CREATE TABLE parts (id int) PARTITION BY RANGE (id) WITH (buffer_pool = 'rest');
CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (9) WITH (buffer_pool = 'hot');
CREATE TABLE follows PARTITION OF parts FOR VALUES FROM (9) TO (11);
CREATE INDEX ON parts (id) WITH (buffer_pool = 'hot');
CREATE VIEW shown WITH (security_barrier) AS SELECT id FROM kept;
INSERT INTO kept SELECT g, circle(point(g, 0), 0.1), 'note ' || g FROM generate_series(1, 9) g;
"""

ALL_OPTIONS = "SELECT o FROM unnest(c.reloptions) AS o"
OTHER_OPTIONS = f"{ALL_OPTIONS} WHERE o !~ '^(overflow_)?buffer_pool='"


def options(server: Instance, which: str = ALL_OPTIONS, database: str = "postgres") -> str:
    """The storage parameters of all relations; TOAST tables go by their owners' names."""
    return server.query(
        f"""SELECT * FROM (
            SELECT CASE WHEN t.oid IS NULL THEN c.relname ELSE t.relname || ' overflow' END AS name,
                array_to_string(ARRAY({which} ORDER BY o), ' ') AS options
            FROM pg_class AS c LEFT JOIN pg_class AS t ON t.reltoastrelid = c.oid
            WHERE c.oid >= 16384) AS s
        WHERE options <> '' ORDER BY 1""",
        database=database,
    )


def pools(server: Instance) -> str:
    return server.query("SHOW bufferpool.definitions")


@pytest.fixture
def ours(make: Make) -> Instance:
    server = make(shared_buffers="8MB")
    server.query(*POOLS)
    return server


@pytest.fixture
def stock() -> Iterator[Instance]:
    server = Instance(Path(tempfile.mkdtemp(prefix="tidepool-test-")), STOCK)
    try:
        server.create({"unix_socket_directories": str(server.directory), "fsync": "off"})
        server.start()
        yield server
    finally:
        server.remove()


# ---- psql ----


class Terminal:
    """psql of the one server, at a terminal, connected to the other."""

    def __init__(self, psql: Instance, server: Instance, user: str = "postgres") -> None:
        """Start it and wait for its prompt."""
        who = server_account(server.data)
        ours, theirs = pty.openpty()
        # so wide that no line is broken or scrolled
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 5000, 0, 0))
        self._terminal = ours
        self._process = subprocess.Popen(
            [psql.bin / "psql", "-XAtq", "-U", user, "-v", f"PROMPT1={PROMPT}"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            cwd=server.directory,
            env=server.environment()
            | {"TERM": "dumb", "INPUTRC": os.devnull, "PSQL_HISTORY": os.devnull},
            user=who.pw_uid if who else None,
            group=who.pw_gid if who else None,
            extra_groups=[] if who else None,
        )
        os.close(theirs)
        self._expect(f"{PROMPT}$")

    def _expect(self, pattern: str) -> re.Match[str]:
        """Read until what was read matches."""
        read = ""
        until = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, read)):
            ready, _, _ = select.select([self._terminal], [], [], until - time.monotonic())
            assert ready, f"psql did not answer with {pattern!r}: {read!r}"
            read += os.read(self._terminal, 65536).decode()
        return match

    def _keys(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def run(self, statement: str) -> None:
        """Run a statement without a result."""
        self._keys(f"{statement};\n")
        self._expect(f"\r\n{PROMPT}$")

    def completed(self, line: str, keys: str) -> str:
        """The line after these keys, which the server itself reads back to us."""
        beginning, end, enter = "\x01", "\x05", "\n"
        self._keys(f"{line}{keys}{beginning}SELECT $line$<{end}>$line$;{enter}")
        found = self._expect(f"\r\n(?:<(.*)>|(ERROR.*))\r\n{PROMPT}$")
        assert found[2] is None, found[2]
        return found[1]

    def all_completions(self, line: str) -> str:
        """The line with all completions of its last word."""
        return self.completed(line, "\x1b*").rstrip()

    def tab(self, line: str) -> str:
        """The line after a TAB."""
        return self.completed(line, "\t")

    def close(self) -> None:
        """End it."""
        os.close(self._terminal)
        self._process.wait(PATIENCE)


Open = Callable[..., Terminal]


@pytest.fixture
def open_terminal() -> Iterator[Open]:
    opened: list[Terminal] = []

    def open_one(psql: Instance, server: Instance, user: str = "postgres") -> Terminal:
        opened.append(Terminal(psql, server, user))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


STATEMENTS = {
    "CREATE BUFF": "CREATE BUFFER POOL",
    "CREATE BUFFER ": "CREATE BUFFER POOL",
    "CREATE BUFFER POOL p ": "CREATE BUFFER POOL p HANDLER REMAINDER HANDLER",
    "CREATE BUFFER POOL IF NOT EXISTS p ": (
        "CREATE BUFFER POOL IF NOT EXISTS p HANDLER REMAINDER HANDLER"
    ),
    "CREATE BUFFER POOL p REMAINDER ": "CREATE BUFFER POOL p REMAINDER HANDLER",
    "CREATE BUFFER POOL p HANDLER ar": "CREATE BUFFER POOL p HANDLER arc",
    "CREATE BUFFER POOL p REMAINDER HANDLER lir": (
        "CREATE BUFFER POOL p REMAINDER HANDLER lirs lirs2"
    ),
    'CREATE BUFFER POOL IF NOT EXISTS p HANDLER "2': (
        'CREATE BUFFER POOL IF NOT EXISTS p HANDLER "2q"'
    ),
    "CREATE BUFFER POOL p HANDLER arc ": "CREATE BUFFER POOL p HANDLER arc SIZE",
    "CREATE BUFFER POOL p HANDLER arc SIZE '1MB' ": (
        "CREATE BUFFER POOL p HANDLER arc SIZE '1MB' WITH ("
    ),
    "CREATE BUFFER POOL p REMAINDER HANDLER arc ": (
        "CREATE BUFFER POOL p REMAINDER HANDLER arc WITH ("
    ),
    "CREATE BUFFER POOL p HANDLER lirs SIZE '1MB' WITH (": (
        "CREATE BUFFER POOL p HANDLER lirs SIZE '1MB' WITH (ghosts hir"
    ),
    "CREATE BUFFER POOL p HANDLER lirs_pool_handler SIZE '1MB' WITH (hir = 0.1, g": (
        "CREATE BUFFER POOL p HANDLER lirs_pool_handler SIZE '1MB' WITH (hir = 0.1, ghosts"
    ),
    "ALTER BUFFER POOL no_such_pool SET (on_f": "ALTER BUFFER POOL no_such_pool SET (on_full",
    "ALTER BUFFER POOL hot SET (": "ALTER BUFFER POOL hot SET (",  # arc has no options
    "ALTER BUFFER POOL REST RESET (": "ALTER BUFFER POOL REST RESET (kin kout",
    f"ALTER BUFFER POOL {ODD} SET (k = 2, ": f"ALTER BUFFER POOL {ODD} SET (k = 2, crp history k",
    "ALTER BUFFER POOL no_such_pool SET (hir, ghosts": (
        "ALTER BUFFER POOL no_such_pool SET (hir, ghosts"
    ),
    "ALTER BUFF": "ALTER BUFFER POOL",
    "ALTER BUFFER POOL ": f"ALTER BUFFER POOL {ODD} DEFAULT hot rest",
    "ALTER BUFFER POOL h": "ALTER BUFFER POOL hot",
    'ALTER BUFFER POOL "': f'ALTER BUFFER POOL {ODD} "hot" "rest"',
    "ALTER BUFFER POOL hot ": "ALTER BUFFER POOL hot RENAME TO RESET ( SET",
    "ALTER BUFFER POOL DEFAULT ": "ALTER BUFFER POOL DEFAULT RESET ( SET",
    "ALTER BUFFER POOL hot SET ": "ALTER BUFFER POOL hot SET ( HANDLER SIZE",
    "ALTER BUFFER POOL DEFAULT SET ": "ALTER BUFFER POOL DEFAULT SET ( HANDLER",
    "ALTER BUFFER POOL hot SET HANDLER watt": "ALTER BUFFER POOL hot SET HANDLER watt",
    "ALTER BUFFER POOL hot RENAME ": "ALTER BUFFER POOL hot RENAME TO",
    "DROP BUFF": "DROP BUFFER POOL",
    "DROP BUFFER POOL ": f"DROP BUFFER POOL {ODD} hot rest",
    "DROP BUFFER POOL IF EXISTS h": "DROP BUFFER POOL IF EXISTS hot",
    "DROP BUFFER POOL hot ": "DROP BUFFER POOL hot CASCADE RESTRICT",
    "DROP BUFFER POOL IF EXISTS hot ": "DROP BUFFER POOL IF EXISTS hot CASCADE RESTRICT",
    "COMMENT ON BUFF": "COMMENT ON BUFFER POOL",
    "COMMENT ON BUFFER POOL ": f"COMMENT ON BUFFER POOL {ODD} hot rest",
    "COMMENT ON BUFFER POOL hot ": "COMMENT ON BUFFER POOL hot IS",
    "SET bufferpool.default_pool TO ": f"SET bufferpool.default_pool TO {ODD} DEFAULT hot rest",
    "ALTER DATABASE postgres SET bufferpool.default_pool TO h": (
        "ALTER DATABASE postgres SET bufferpool.default_pool TO hot"
    ),
}
PARAMETERS = {
    "CREATE TABLE t (i int) WITH (buf": "CREATE TABLE t (i int) WITH (buffer_pool",
    "CREATE TABLE t (i int) WITH (overf": "CREATE TABLE t (i int) WITH (overflow_buffer_pool",
    "CREATE TABLE t (i int) WITH (toast.buf": "CREATE TABLE t (i int) WITH (toast.buffer_pool",
    "CREATE TABLE t (i int) WITH (fillfactor = 70, overflow_buffer_pool = h": (
        "CREATE TABLE t (i int) WITH (fillfactor = 70, overflow_buffer_pool = hot"
    ),
    "ALTER TABLE t SET (buf": "ALTER TABLE t SET (buffer_pool",
    "ALTER TABLE t RESET (buf": "ALTER TABLE t RESET (buffer_pool",
    "ALTER TABLE t SET (toast.buffer_pool = ": (
        f"ALTER TABLE t SET (toast.buffer_pool = {ODD} hot rest"
    ),
    "CREATE INDEX ON t (i) WITH (buffer": "CREATE INDEX ON t (i) WITH (buffer_pool = buffering =",
    "CREATE UNIQUE INDEX j ON t USING btree (i) WITH (buffer_pool = r": (
        "CREATE UNIQUE INDEX j ON t USING btree (i) WITH (buffer_pool = rest"
    ),
    "ALTER INDEX j SET (buffer_": "ALTER INDEX j SET (buffer_pool =",
    "ALTER INDEX j RESET (buffer_": "ALTER INDEX j RESET (buffer_pool",
    "CREATE MATERIALIZED VIEW v ": "CREATE MATERIALIZED VIEW v AS USING WITH (",
    "CREATE MATERIALIZED VIEW v USING heap ": ("CREATE MATERIALIZED VIEW v USING heap AS WITH ("),
    "CREATE MATERIALIZED VIEW v WITH (buf": "CREATE MATERIALIZED VIEW v WITH (buffer_pool",
    "CREATE MATERIALIZED VIEW v WITH (buffer_pool = h": (
        "CREATE MATERIALIZED VIEW v WITH (buffer_pool = hot"
    ),
    "CREATE MATERIALIZED VIEW v WITH (buffer_pool = hot) ": (
        "CREATE MATERIALIZED VIEW v WITH (buffer_pool = hot) AS"
    ),
    "CREATE MATERIALIZED VIEW v WITH (buffer_pool = hot) AS ": (
        "CREATE MATERIALIZED VIEW v WITH (buffer_pool = hot) AS SELECT"
    ),
    "ALTER MATERIALIZED VIEW v SET (overf": "ALTER MATERIALIZED VIEW v SET (overflow_buffer_pool",
    # what merely looks like it
    "UPDATE t SET a = 1, buffer_pool = ": "UPDATE t SET a = 1, buffer_pool =",
}


def test_psql_completes(ours: Instance, open_terminal: Open) -> None:
    terminal = open_terminal(ours, ours)
    for line, expected in (STATEMENTS | PARAMETERS).items():
        assert terminal.all_completions(line) == expected
    assert terminal.tab("drop buffer pool h") == "drop buffer pool hot "
    assert terminal.tab("ALTER TABLE t SET (buffer_pool = 'h").startswith(
        "ALTER TABLE t SET (buffer_pool = 'hot"
    )


def test_psql_in_a_transaction(ours: Instance, open_terminal: Open) -> None:
    """Whoever may not see the pools is offered none, and no error ends a transaction."""
    ours.query("CREATE ROLE guest LOGIN", "CREATE ROLE auditor LOGIN IN ROLE pg_read_all_settings")
    guest = open_terminal(ours, ours, user="guest")
    guest.run("BEGIN")
    assert guest.all_completions("DROP BUFFER POOL ") == "DROP BUFFER POOL"
    assert guest.all_completions("ALTER BUFFER POOL ") == "ALTER BUFFER POOL DEFAULT"
    assert guest.all_completions("CREATE BUFFER POOL p HANDLER l") == (
        "CREATE BUFFER POOL p HANDLER lirs lru"
    )
    auditor = open_terminal(ours, ours, user="auditor")
    auditor.run("BEGIN")
    assert auditor.all_completions("DROP BUFFER POOL h") == "DROP BUFFER POOL hot"
    ours.query("DROP EXTENSION pg_bufferpool")
    superuser = open_terminal(ours, ours)
    superuser.run("BEGIN")
    assert superuser.all_completions("CREATE BUFFER POOL p HANDLER a") == (
        "CREATE BUFFER POOL p HANDLER arc"
    )


def test_psql_calls_no_function_of_others(ours: Instance, open_terminal: Open) -> None:
    ours.query(
        "DROP EXTENSION pg_bufferpool",
        "CREATE FUNCTION pg_bufferpool_algorithms() RETURNS SETOF text LANGUAGE sql"
        " AS $$ SELECT 'arctic' $$",
    )
    assert open_terminal(ours, ours).all_completions("CREATE BUFFER POOL p HANDLER ar") == (
        "CREATE BUFFER POOL p HANDLER arc"
    )


def test_psql_at_a_stock_server(ours: Instance, stock: Instance, open_terminal: Open) -> None:
    terminal = open_terminal(ours, stock)
    terminal.run("BEGIN")
    for line in (
        "DROP BUFFER POOL ",
        "COMMENT ON BUFFER POOL p",
        "ALTER TABLE t SET (buffer_pool = ",
    ):
        terminal.all_completions(line)
    assert terminal.all_completions("ALTER BUFFER POOL ") == "ALTER BUFFER POOL DEFAULT"
    assert (
        terminal.all_completions("SELECT 1 FROM pg_am") == "SELECT 1 FROM pg_am pg_amop pg_amproc"
    )


# ---- dumps ----


def run(server: Instance, *command: str | Path) -> str:
    """Run a program that must succeed; what it prints."""
    done = server.run(*command)
    assert done.returncode == 0, done.stdout
    return done.stdout


def dump(server: Instance, program: Instance, *arguments: str) -> str:
    """Run a program of the instance, such as pg_dump, on a server."""
    name, *rest = arguments
    return run(server, program.bin / name, *rest)


def restore(server: Instance, text: str, database: str = "postgres", stop: bool = True) -> str:
    """Run a dump's text through psql; the errors and warnings."""
    file = server.directory / "restored.sql"
    file.write_text(text)
    file.chmod(0o644)
    found = run(
        server,
        *(server.bin / "psql", "-Xq", "-d", database, "-f", file),
        *(("-v", "ON_ERROR_STOP=1") if stop else ()),
    )
    return "\n".join(line for line in found.splitlines() if re.search(r"ERROR|WARNING", line))


def test_dump_with_pools(ours: Instance) -> None:
    ours.query(TABLES, "CREATE DATABASE copy")
    assert restore(ours, dump(ours, ours, "pg_dump"), database="copy") == ""
    assert options(ours, database="copy") == options(ours)
    assert "overflow_buffer_pool=hot" in options(ours)
    assert "kept overflow|autovacuum_enabled=off buffer_pool=hot" in options(ours)
    assert "Odd; ''pool" in options(ours)


@pytest.mark.parametrize("quoting", [(), ("--quote-all-identifiers",)], ids=["bare", "quoted"])
def test_dump_without_pools(ours: Instance, stock: Instance, quoting: tuple[str, ...]) -> None:
    ours.query(TABLES)
    arguments = ("--no-buffer-pools", "--exclude-extension", "pg_bufferpool", *quoting)
    text = dump(ours, ours, "pg_dump", *arguments)
    assert "buffer_pool" not in text
    assert restore(stock, text) == ""
    assert options(stock) == options(ours, OTHER_OPTIONS)
    assert stock.query("SELECT count(*) FROM kept") == "9"

    # what the server itself makes of definitions without these parameters
    ours.query("SELECT pg_bufferpool_reset_options()")
    definitions = (
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1",
    )
    assert stock.query(*definitions) == ours.query(*definitions)


def test_archive_without_pools(ours: Instance, stock: Instance) -> None:
    ours.query(TABLES)
    archive = ours.directory / "archive"
    dump(
        *(ours, ours, "pg_dump", "-Fd", "-j2", "-f", str(archive)),
        *("--no-buffer-pools", "--exclude-extension", "pg_bufferpool"),
    )
    run(stock, stock.bin / "pg_restore", "-e", "-d", "postgres", archive)
    assert options(stock) == options(ours, OTHER_OPTIONS)


def test_dump_of_stored_assignments(ours: Instance, stock: Instance) -> None:
    """A stock server that took over a data directory keeps them, and cannot restore them."""
    stock.query(
        "CREATE TABLE kept (i int)",
        "CREATE INDEX kept_i ON kept (i)",
        "UPDATE pg_class SET reloptions = '{fillfactor=50,buffer_pool=hot}'"
        " WHERE relname ~ '^kept'",
        "CREATE DATABASE copy",
    )
    with_pools = dump(stock, ours, "pg_dump")
    assert "buffer_pool=hot" in with_pools
    text = dump(stock, ours, "pg_dump", "--no-buffer-pools")
    assert restore(stock, text, database="copy") == ""
    assert options(stock, database="copy") == "kept|fillfactor=50\nkept_i|fillfactor=50"


ROLE_EXISTS = 'role "postgres" already exists'


def errors_but_role(found: str) -> list[str]:
    """What went wrong except that, as always, the superuser exists."""
    return [line for line in found.splitlines() if ROLE_EXISTS not in line]


def test_globals(ours: Instance, make: Make) -> None:
    text = dump(ours, ours, "pg_dumpall", "--globals-only")
    target = make(shared_buffers="8MB")
    assert errors_but_role(restore(target, text, stop=False)) == []
    assert pools(target) == pools(ours)

    # again: what is there stays as it is
    target.query("ALTER BUFFER POOL hot SET SIZE '768kB'")
    changed = pools(target)
    assert errors_but_role(restore(target, text, stop=False)) == []
    assert pools(target) == changed != pools(ours)

    # over it
    target.query("CREATE TABLE named (i int) WITH (buffer_pool = 'hot')")
    over = dump(ours, ours, "pg_dumpall", "--globals-only", "--clean", "--if-exists")
    assert "DROP BUFFER POOL IF EXISTS hot CASCADE;\n" in over
    assert f"DROP BUFFER POOL IF EXISTS {ODD} CASCADE;\n" in over
    found = errors_but_role(restore(target, over, stop=False))
    assert [line for line in found if "current user cannot be dropped" not in line] == []
    assert pools(target) == pools(ours)
    assert "named|buffer_pool=hot" in options(target)


def test_globals_that_do_not_fit(ours: Instance, make: Make) -> None:
    """The rest of the dump is restored, and tables find the pools that are there."""
    ours.query(TABLES)
    text = dump(ours, ours, "pg_dumpall")
    target = make(shared_buffers="1MB")
    found = errors_but_role(restore(target, text, stop=False))
    assert any("ERROR" in line for line in found)
    assert all("buffer pool" in line for line in found)
    assert options(target) == options(ours)


def test_globals_without_some(ours: Instance) -> None:
    whole = dump(ours, ours, "pg_dumpall", "--globals-only")
    assert "COMMENT ON BUFFER POOL hot" in whole
    assert whole.count("CREATE BUFFER POOL IF NOT EXISTS ") == 3
    assert "DROP BUFFER POOL" not in whole
    for option in ("--no-buffer-pools", "--roles-only", "--tablespaces-only", "--no-schema"):
        assert "BUFFER POOL" not in dump(ours, ours, "pg_dumpall", option)
    assert "COMMENT ON" not in dump(ours, ours, "pg_dumpall", "-g", "--no-comments")
    quoted = dump(ours, ours, "pg_dumpall", "-gc", "--quote-all-identifiers")
    assert 'CREATE BUFFER POOL IF NOT EXISTS "hot" HANDLER "arc" ' in quoted
    assert 'DROP BUFFER POOL "hot" CASCADE;\n' in quoted


def test_globals_for_upgrade(ours: Instance) -> None:
    """pg_upgrade stops at an error, as a pool that does not fit would be."""
    text = dump(ours, ours, "pg_dumpall", "--globals-only", "--binary-upgrade")
    assert "CREATE ROLE" not in text
    assert "ALTER ROLE postgres" in text
    assert "BUFFER POOL" not in text


def test_globals_by_someone_else(ours: Instance) -> None:
    ours.query("CREATE ROLE guest LOGIN")
    text = dump(ours, ours, "pg_dumpall", "-U", "guest", "-g", "--no-role-passwords")
    assert "warning: buffer pools are not dumped: permission denied" in text
    assert "BUFFER POOL" not in text
    assert "CREATE ROLE guest" in text


def test_globals_of_a_stock_server(ours: Instance, stock: Instance) -> None:
    """Whatever a setting holds there that is called as ours is."""
    stock.query(
        "ALTER ROLE postgres SET bufferpool.definitions = 'CREATE BUFFER POOL p HANDLER arc; X;'",
        "ALTER ROLE postgres SET bufferpool.default_pool = 'p'",
    )
    text = dump(stock, ours, "pg_dumpall")
    assert not re.search(r"^(CREATE BUFFER POOL|X)", text, re.MULTILINE)


def test_whole_dump_to_a_stock_server(ours: Instance, stock: Instance) -> None:
    ours.query(
        TABLES,
        "ALTER DATABASE postgres SET bufferpool.default_pool = 'hot'",
        "DROP EXTENSION pg_bufferpool",
    )
    text = dump(ours, ours, "pg_dumpall", "--no-buffer-pools")
    assert errors_but_role(restore(stock, text, stop=False)) == []
    assert options(stock) == options(ours, OTHER_OPTIONS)
