"""The pools' counters, read when all sessions have added theirs."""

from __future__ import annotations

from pathlib import Path

from server.load import children, postmaster, wait_for
from tidepool.server import Instance

# Processes that will not add anything soon.  A session adds what it has counted a second
# after it has gone idle, and when it ends.
SETTLED = """
SELECT pid FROM pg_stat_activity
WHERE pid = pg_backend_pid() OR backend_type NOT IN ('client backend', 'parallel worker')
    OR backend_type = 'client backend' AND (state = 'active'
        OR state LIKE 'idle%' AND state_change < clock_timestamp() - interval '1.5 seconds')
"""


def settle(server: Instance, *then: str) -> None:
    """Wait until no session or parallel worker is about to add counters.

    The last session that looks also runs the statements in ``then``; without them it
    adds what it has counted itself some time later.

    psql returns before its backend has ended.  So this waits until each process that
    runs now has ended or is settled: it is neither a session nor a parallel worker, or it
    is a session that runs a statement or has been idle for 1.5 seconds.  It looks at the
    processes themselves, since a backend leaves pg_stat_activity before it adds its counters.
    """

    def settled() -> bool:
        before = set(children(postmaster(server)))
        out = server.query(SETTLED, *then)
        return before <= {int(line) for line in out.splitlines() if line}

    wait_for("all sessions have added their counters", settled)


def wait_for_sessions_to_end(server: Instance) -> None:
    """Wait until there are no sessions, which add what they have counted when they end."""

    def title(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    wait_for(
        "all sessions have ended",
        lambda: not any(b"[local]" in title(pid) for pid in children(postmaster(server))),
    )


def stat_now(server: Instance, *columns: str, pool: str = "DEFAULT") -> list[int]:
    """Statistics of one pool, while others add to them."""
    query = f"SELECT {', '.join(columns)} FROM pg_stat_bufferpool WHERE name = '{pool}'"
    return [int(value) for value in server.query(query).split("|")]


def stat(server: Instance, *columns: str, pool: str = "DEFAULT") -> list[int]:
    """Statistics of one pool, with what ended sessions have counted."""
    settle(server)
    return stat_now(server, *columns, pool=pool)


def reset_counters(server: Instance) -> None:
    """Count from now on, without what ended sessions have counted."""
    settle(server, "SELECT pg_stat_reset_bufferpools()")
