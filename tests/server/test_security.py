"""What a role that may create objects cannot make a superuser run."""

from __future__ import annotations

import pytest

from server.conftest import Make
from server.test_recorder import STOP, path_of, start
from tidepool.server import Instance
from tidepool.traces import open_trace

# runs as whoever evaluates it, and says so
TRAP = (
    "CREATE TABLE run (by name);"
    "GRANT INSERT ON run TO PUBLIC;"
    "CREATE FUNCTION trap() RETURNS bool LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO public.run VALUES (current_user); RETURN true; END $$;"
)

CONCAT_WS = (
    "CREATE FUNCTION concat_ws(text, oid, oid, oid) RETURNS text LANGUAGE sql AS"
    " $$ SELECT public.trap()::text $$"
)
# nullif(c.reltablespace, 0) compares an oid with an integer, which PostgreSQL
# itself has no operator for
OPERATOR = (
    "CREATE FUNCTION same(oid, integer) RETURNS bool LANGUAGE sql AS $$ SELECT public.trap() $$;"
    "CREATE OPERATOR = (FUNCTION = same, LEFTARG = oid, RIGHTARG = integer)"
)
# a cast to it evaluates the check; in a path that names public first it is regclass
TYPE = "CREATE DOMAIN regclass AS oid CHECK (public.trap())"


def hostile(server: Instance, statements: str) -> None:
    """Let a role that may create objects in public set a trap there."""
    server.query("CREATE ROLE stranger LOGIN; GRANT CREATE ON SCHEMA public TO stranger;")
    server.query(TRAP + statements, user="stranger")


def ran(server: Instance) -> str:
    return server.query("SELECT DISTINCT by FROM public.run")


@pytest.mark.parametrize(
    ("statements", "path"),
    [
        (CONCAT_WS, '"$user", public'),
        (OPERATOR, '"$user", public'),
        (TYPE, "public, pg_catalog"),
    ],
    ids=["function", "operator", "type"],
)
def test_stop_runs_nothing_of_others(make: Make, statements: str, path: str) -> None:
    server = make()
    hostile(server, statements)
    server.query(f"SET search_path = {path}", start(server), STOP)
    assert ran(server) == ""


def test_extension_in_a_schema_of_others(make: Make) -> None:
    """What is there before it cannot become a part of it."""
    server = make()
    server.query("DROP EXTENSION pg_bufferpool")
    hostile(
        server,
        "CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE sql AS"
        " $$ SELECT public.trap()::int::text $$;"
        "CREATE FUNCTION current_setting(text, bool DEFAULT true) RETURNS text LANGUAGE sql AS"
        " $$ SELECT public.trap()::int::text $$;"
        "CREATE FUNCTION f(int8, int8) RETURNS int8 LANGUAGE sql AS"
        " $$ SELECT public.trap()::int::int8 $$;"
        "CREATE OPERATOR * (FUNCTION = f, LEFTARG = int8, RIGHTARG = int8);"
        "CREATE FUNCTION f(text, text) RETURNS bool LANGUAGE sql AS $$ SELECT public.trap() $$;"
        "CREATE OPERATOR = (FUNCTION = f, LEFTARG = text, RIGHTARG = text);"
        "CREATE DOMAIN text AS pg_catalog.text CHECK (public.trap());",
    )
    for path in ('"$user", public', "public, pg_catalog"):
        server.query(
            f"SET search_path = {path}",
            "CREATE EXTENSION pg_bufferpool SCHEMA public",
            "SELECT * FROM pg_bufferpool; SELECT * FROM pg_stat_bufferpool",
            start(server, name=f"{len(path)}.rec") + STOP,
            "SELECT * FROM pg_stat_bufferpool_trace; SELECT * FROM pg_bufferpool_check()",
            "DROP EXTENSION pg_bufferpool",
        )
    assert ran(server) == ""


def test_names_do_not_depend_on_who_stops(make: Make) -> None:
    """Nor on the database's encoding: in the file they are UTF-8."""
    server = make()
    for encoding, settings in (
        ("UTF8", ""),
        ("UTF8", "SET search_path = odd, public; SET quote_all_identifiers = on"),
        ("LATIN1", "SET search_path = odd, public; SET quote_all_identifiers = on"),
        ("SQL_ASCII", ""),
    ):
        server.query(
            "DROP DATABASE IF EXISTS other",
            f"CREATE DATABASE other TEMPLATE template0 ENCODING {encoding} LOCALE 'C'",
        )
        path_of(server).unlink(missing_ok=True)
        server.query(
            "SET client_encoding = UTF8" if encoding != "SQL_ASCII" else "SELECT",
            "CREATE EXTENSION pg_bufferpool",
            'CREATE SCHEMA odd; CREATE TABLE odd."schön" AS SELECT 1 AS i',
            start(server) + 'SELECT * FROM odd."schön"; SELECT count(*) FROM pg_class',
            settings or "SELECT",
            STOP,
            database="other",
        )
        names = set(open_trace(path_of(server)).relations.values())
        assert {'odd."schön"', "pg_class"} <= names
