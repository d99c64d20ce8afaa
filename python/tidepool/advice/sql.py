"""The lines to paste: settings, and statements with names that were read from a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.policies import PolicySpec
from tidepool.simulation.layouts import PoolSpec

# As the recorder writes names: each part quoted where SQL needs it.  Anything else
# in a file was not written by it, and is not pasted into a session.
_PART = r'(?:[a-z_][a-z0-9_]*|"(?:[^"\x00-\x1f\x7f-\x9f\u2028\u2029]|"")+")'
_NAME = re.compile(rf"({_PART})\.({_PART})")
_TOAST = re.compile(r"pg_toast\.(pg_toast_([0-9]{1,10}))(_index)?")  # with its table's OID
FIRST_NORMAL_OID = 16384  # tables below were made by initdb, as catalogs are
_SYSTEM = ("pg_catalog", "information_schema", "pg_toast")
BLOCK_KB = 8
RECYCLE = "RECYCLE"  # the pool that a setting makes


@dataclass(frozen=True)
class Lines:
    """What to paste, and where.

    Attributes:
        settings: lines of postgresql.conf; they take a restart.
        sql: statements for psql, in the relations' database.
    """

    settings: tuple[str, ...] = ()
    sql: tuple[str, ...] = ()


def assignable(name: str | None) -> bool:
    """Whether a relation can be given a pool: known by this name, and no part of a catalog."""
    if name is None:
        return False
    if toast := _TOAST.fullmatch(name):
        return int(toast[2]) >= FIRST_NORMAL_OID
    found = _NAME.fullmatch(name)
    return found is not None and found[1] not in _SYSTEM


def unit_of(name: str) -> str:
    """Return what a relation is assigned with: a TOAST table and its index are one."""
    found = _TOAST.fullmatch(name)
    return f"pg_toast.{found[1]}" if found else name


def size_text(frames: int) -> str:
    """Return a number of buffers as PostgreSQL takes it."""
    kilobytes = frames * BLOCK_KB
    return f"{kilobytes // 1024}MB" if kilobytes % 1024 == 0 else f"{kilobytes}kB"


def size_setting(frames: int) -> str:
    """Return the line for so many buffers."""
    return f"shared_buffers = '{size_text(frames)}'"


def algorithm_settings(spec: PolicySpec, today: PolicySpec) -> tuple[str, ...]:
    """Return the lines for another algorithm of the whole, or of DEFAULT."""
    return (*_libraries([spec]), *_algorithm(spec, today))


def _algorithm(spec: PolicySpec, today: PolicySpec) -> list[str]:
    lines = [f"bufferpool.algorithm = '{spec.policy.name}'"]
    parameters = str(spec).partition(":")[2]
    if parameters or today.values:
        lines.append(f"bufferpool.parameters = '{parameters}'")
    return lines


def pool_lines(
    spec: PolicySpec, today: PolicySpec, pools: Sequence[PoolSpec], units: Iterable[Sequence[str]]
) -> Lines:
    """Return the lines for pools, each with the names of its units."""
    specs = [spec, *(pool.spec for pool in pools)]
    libraries = _libraries(specs)
    settings = [*libraries]
    if spec != today:
        settings += _algorithm(spec, today)
    if not libraries:
        settings.append("bufferpool.max_pools = 16")
    statements = []
    for pool, names in zip(pools, units, strict=True):
        policy, _, parameters = str(pool.spec).partition(":")
        pairs = [item.partition("=") for item in parameters.split(",") if item]
        options = ", ".join(f"{key} = '{value}'" for key, _, value in pairs)
        statements.append(
            f"CREATE BUFFER POOL {pool.name} HANDLER {policy} SIZE '{size_text(pool.frames)}'"
            + (f" WITH ({options})" if options else "")
            + ";"
        )
        statements += [_assignment(name, pool.name) for name in names]
    return Lines(tuple(settings), tuple(statements))


def without_pools(spec: PolicySpec, today: PolicySpec, names: Iterable[str]) -> Lines:
    """Return the lines for one pool instead of those of these names."""
    settings = () if spec == today else algorithm_settings(spec, today)
    statements = []
    for name in names:
        if name == RECYCLE:
            settings = (*settings, "bufferpool.recycle_buffers = 0")
        else:
            statements.append(f"DROP BUFFER POOL {_quoted(name)} CASCADE;")
    return Lines(settings, tuple(statements))


def resized(changed: Sequence[tuple[PoolSpec, PoolSpec]]) -> Lines:
    """Return the lines that make each pool, given as it is, the other; smaller ones come first."""
    ordered = sorted(changed, key=lambda each: each[1].frames - each[0].frames)
    return Lines(
        sql=tuple(
            f"ALTER BUFFER POOL {_quoted(pool.name)} SET SIZE '{size_text(pool.frames)}';"
            for _, pool in ordered
        )
    )


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _assignment(name: str, pool: str) -> str:
    if not _TOAST.fullmatch(name):
        # ALTER TABLE takes indexes, too
        return f"ALTER TABLE {name} SET (buffer_pool = '{pool}');"
    # a TOAST table is assigned through its table, whose name the recording does not say
    return (
        "SELECT format('ALTER TABLE %s SET (overflow_buffer_pool = %L)',"
        f" oid::regclass, '{pool}') FROM pg_catalog.pg_class"
        f" WHERE reltoastrelid = '{name}'::regclass \\gexec"
    )


def _libraries(specs: Iterable[PolicySpec]) -> list[str]:
    names = sorted({spec.policy.library for spec in specs if spec.policy.library})
    if not names:
        return []
    return [f"shared_preload_libraries = '{', '.join(names)}'  # beside those that are there"]
