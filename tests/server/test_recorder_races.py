"""Sessions that start and stop recordings at the same time, and are cut short at every point."""

from __future__ import annotations

import random
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from server.conftest import Make
from server.load import wait_for
from server.stress import unexpected
from server.test_recorder import STATE, STOP, path_of, start, whole
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.traces import open_trace

SECONDS = 3
SESSIONS = 4
STATEMENTS = 60  # of a session, then it begins anew

# of a session that is not this one, or of the recorder
END_ONE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    " AND backend_type IN ('client backend', 'buffer reference recorder')"
    " ORDER BY random() LIMIT 1;"
)
CANCEL_ONE = END_ONE.replace("terminate", "cancel")
END_RECORDER = f"SELECT pg_terminate_backend(pid) FROM ({STATE.format('pid')}) AS r WHERE pid > 0;"
TIMEOUTS = (0, 0, 0, 1, 2, 3, 5, 8, 13)


@dataclass
class Files:
    """Paths of recordings by how their start ended."""

    begun: set[Path] = field(default_factory=set)
    refused: set[Path] = field(default_factory=set)
    # canceled, perhaps when the function had returned, or the session ended first
    unknown: set[Path] = field(default_factory=set)

    def add(self, paths: list[Path], out: str) -> None:
        """Sort the paths of a session's starts by what it printed."""
        answers = dict(re.findall(r"^try (\d+)\n(begun|.*ERROR: .*)", out, re.M))
        for number, path in enumerate(paths):
            answer = answers.get(str(number), "canceling")
            if answer == "begun":
                self.begun.add(path)
            else:
                (self.unknown if "canceling" in answer else self.refused).add(path)


class Session(threading.Thread):
    """Statements at random, in one session after the other."""

    def __init__(self, server: Instance, seed: str, ends: bool, until: float) -> None:
        super().__init__()
        self.files = Files()
        self.error: Exception | None = None
        self._server = server
        self._name = seed
        self._rng = random.Random(seed)
        self._ends = ends
        self._until = until

    def run(self) -> None:
        try:
            number = 0
            while time.monotonic() < self._until:
                self._run_once(number)
                number += 1
        except Exception as error:
            self.error = error

    def _run_once(self, number: int) -> None:
        paths: list[Path] = []
        lines = []
        for _ in range(STATEMENTS):
            lines.append(f"SET statement_timeout = {self._rng.choice(TIMEOUTS)};")
            action = self._rng.random()
            if self._ends and action < 0.1:
                lines.append(self._rng.choice((END_ONE, CANCEL_ONE, END_RECORDER)))
            elif action < 0.6:
                path = path_of(self._server, f"{self._name}-{number}-{len(paths)}.rec")
                lines += [
                    f"\\echo try {len(paths)}",
                    f"SELECT 'begun', pg_bufferpool_trace_start('{path}');",
                ]
                paths.append(path)
            else:
                lines.append(STOP)
        script = path_of(self._server, f"{self._name}.sql")
        script.write_text("\n".join(lines))
        script.chmod(0o644)
        psql = (self._server.bin / "psql", "-XAtq", "-U", "postgres", "-d", "postgres")
        self.files.add(paths, self._server.run(*psql, "-f", script).stdout)


@pytest.mark.parametrize("ends", [False, True], ids=["timeouts", "terminations"])
def test_starts_and_stops_at_the_same_time(make: Make, ends: bool) -> None:
    server = make("lru")
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    until = time.monotonic() + SECONDS
    sessions = [Session(server, f"{seed}-{i}", ends, until) for i in range(SESSIONS)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    assert [session.error for session in sessions if session.error] == []
    begun = set.union(*(session.files.begun for session in sessions))
    refused = set.union(*(session.files.refused for session in sessions))
    unknown = set.union(*(session.files.unknown for session in sessions))
    assert begun and refused

    # whatever was going on, it can be ended, and another recording made
    if server.query(STATE.format("count(pid)")) == "1":
        try:
            server.query(STOP)
        except TidepoolError as error:  # a session's termination had yet to arrive
            assert "DETAIL:  The last one has ended: the recorder was terminated" in str(error)
    recorders = (
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'buffer reference recorder'"
    )
    wait_for("the recorder is gone", lambda: server.query(recorders) == "0")
    server.query(start(server, name="last.rec"), "SELECT count(*) FROM pg_class", STOP)
    last = open_trace(path_of(server, "last.rec"))
    assert len(whole(last)) > 0 and "pg_class" in last.relations.values()
    assert last.recorded is not None and last.recorded.dropped == 0
    assert server.query(STATE.format("error IS NULL")) == "t"

    there = set(server.directory.glob("*-*.rec"))
    assert there <= begun | unknown
    assert begun <= there
    for path in sorted(there):
        if path in begun:
            recorded = open_trace(path).recorded
            assert recorded is not None
            assert recorded.error in (None, "the recorder was terminated")
    lines = server.log.read_text(errors="replace").splitlines()
    assert [line for line in lines if unexpected(line)] == []
