"""The pages of the reference, made from a running server and the installed package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tidepool.cli.main import tidepool as command
from tidepool.policies import policies
from tidepool.scratch import scratch_instance
from tidepool.server import LIBRARIES, Instance

PAGES = ("settings", "views", "functions", "policies", "commands", "python")

CONTEXTS = {
    "postmaster": "at server start",
    "sighup": "with a reload of the configuration",
    "superuser": "by superusers, in any session",
    "user": "by anyone, in any session",
    "internal": "not at all",
}


def cell(text: str) -> str:
    """Text as it may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def table(*rows: tuple[str, ...]) -> Iterator[str]:
    """A table; the first row is its head."""
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in body:
        yield f"| {' | '.join(row)} |"
    yield ""


def rows(server: Instance, query: str) -> list[list[str]]:
    """The rows of a query whose columns have neither tabs nor line breaks."""
    out = server.query(
        "SET client_min_messages = error",
        f"SELECT concat_ws(E'\\t', {query}",
    )
    found = [line.split("\t") for line in out.splitlines()]
    # empty columns at the end of the last line are stripped with it
    return [row + [""] * (len(found[0]) - len(row)) for row in found]


def settings(server: Instance) -> Iterator[str]:
    """The settings whose names begin with bufferpool."""
    yield "# Settings\n"
    yield "As `pg_settings` has them. The guides explain when to change them.\n"
    query = (
        "name, vartype, coalesce(boot_val, ''), coalesce(unit, ''), coalesce(min_val, ''),"
        " coalesce(max_val, ''), coalesce(array_to_string(enumvals, ', '), ''), context,"
        " short_desc, coalesce(extra_desc, ''))"
        " FROM pg_settings WHERE name LIKE 'bufferpool.%' ORDER BY name"
    )
    for name, kind, default, unit, least, most, values, context, short, extra in rows(
        server, query
    ):
        yield f"## {name}\n"
        yield f"{cell(short)} {cell(extra)}\n"
        domain = values or (f"{least} to {most}" if least else "")
        yield from table(
            ("type", "default", "values", "unit", "can be changed"),
            (
                kind,
                f"`{default}`" if default else "empty",
                cell(domain),
                cell(unit),
                CONTEXTS[context],
            ),
        )


def views(server: Instance) -> Iterator[str]:
    """The views of pg_bufferpool, with their columns."""
    yield "# Views\n"
    yield "Of the extension `pg_bufferpool`.\n"
    query = (
        "c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''))"
        " FROM pg_class AS c JOIN pg_depend AS d ON d.objid = c.oid AND d.deptype = 'e'"
        " JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pg_bufferpool'"
        " WHERE c.relkind = 'v' ORDER BY c.relname"
    )
    for name, comment in rows(server, query):
        yield f"## {name}\n"
        yield f"{cell(comment)}.\n"
        columns = rows(
            server,
            "attname, format_type(atttypid, atttypmod), coalesce(col_description(attrelid,"
            f" attnum), '')) FROM pg_attribute WHERE attrelid = '{name}'::regclass"
            " AND attnum > 0 ORDER BY attnum",
        )
        yield from table(
            ("column", "type", ""),
            *((f"`{column}`", kind, cell(what)) for column, kind, what in columns),
        )


def functions(server: Instance) -> Iterator[str]:
    """The functions of pg_bufferpool that are no view's own."""
    yield "# Functions\n"
    yield "Of the extension `pg_bufferpool`, without those behind its views.\n"
    query = (
        "p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),"
        " coalesce(obj_description(p.oid, 'pg_proc'), ''))"
        " FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e'"
        " JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pg_bufferpool'"
        " WHERE NOT EXISTS (SELECT FROM pg_depend AS v JOIN pg_rewrite AS r ON r.oid = v.objid"
        " WHERE v.refobjid = p.oid AND v.classid = 'pg_rewrite'::regclass) ORDER BY p.proname"
    )
    for name, arguments, result, comment in rows(server, query):
        yield f"## {name}\n"
        yield f"{cell(comment)}.\n"
        yield f"```sql\n{name}({arguments}) RETURNS {result}\n```\n"


def of_policies() -> Iterator[str]:
    """The policies with their parameters."""
    yield "# Policies\n"
    for policy in policies():
        names = f"{policy.name} ({policy.alias})" if policy.alias else policy.name
        yield f"## {names}\n"
        yield f"{cell(policy.title)}. {cell(policy.source)}.\n"
        hits = "need no lock" if policy.lock_free_hits else "are queued"
        where = policy.library or ("the server itself" if policy.built_in else "the simulator only")
        yield (
            f"Hits {hits}. {policy.frame_bytes} bytes a frame, {policy.ghosts_per_frame:g} ghosts a"
            f" frame of {policy.ghost_bytes} bytes. In the server: {where}.\n"
        )
        if policy.params:
            yield from table(
                ("parameter", "default", "range", ""),
                *(
                    (
                        f"`{param.name}`",
                        param.format(param.default),
                        cell(
                            ", ".join(param.choices)
                            or f"{param.format(param.min)} to {param.format(param.max)}"
                        ),
                        cell(param.help),
                    )
                    for param in policy.params
                ),
            )


def of_commands(group: click.Group, name: str) -> Iterator[str]:
    """The help texts of a command's subcommands."""
    for sub in sorted(group.commands):
        one = group.commands[sub]
        full = f"{name} {sub}"
        if isinstance(one, click.Group):
            yield from of_commands(one, full)
            continue
        with click.Context(one, info_name=full, max_content_width=90) as context:
            yield f"## {full}\n"
            yield f"```text\n{one.get_help(context)}\n```\n"


def commands() -> Iterator[str]:
    """What each command's --help prints."""
    yield "# Commands\n"
    yield from of_commands(command, "tidepool")


def python() -> Iterator[str]:
    """The names of the package."""
    yield "# Python\n"
    yield "```{eval-rst}\n.. automodule:: tidepool\n   :members:\n   :imported-members:\n```\n"


def write(directory: Path, bin_directory: Path) -> None:
    """Write all pages of the reference into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    with scratch_instance("tidepool-site-", bin_directory) as server:
        server.create({"shared_preload_libraries": LIBRARIES})
        server.start()
        server.query("CREATE EXTENSION pg_bufferpool")
        made = {
            "settings": settings(server),
            "views": views(server),
            "functions": functions(server),
            "policies": of_policies(),
            "commands": commands(),
            "python": python(),
        }
        for name in PAGES:
            (directory / f"{name}.md").write_text("\n".join(made[name]))
