"""Copies of a running server that pg_basebackup makes, and standbys."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.conftest import BIN
from server.load import wait_for
from tidepool.server import Instance


@contextmanager
def copy_of(server: Instance) -> Iterator[Instance]:
    """Give a copy of a server, which would be its standby, not started; delete it afterwards."""
    copy = Instance(Path(tempfile.mkdtemp(prefix="tidepool-test-")), BIN)
    owner = server.data.stat()
    shutil.chown(copy.directory, owner.st_uid, owner.st_gid)
    try:
        options = ("-D", copy.data, "-R", "-c", "fast", "-X", "stream")
        done = server.run(server.bin / "pg_basebackup", *options)
        assert done.returncode == 0, done.stdout
        copy.configure({"unix_socket_directories": str(copy.directory)})
        yield copy
    finally:
        if copy.running():
            copy.stop()  # with an SSD tier it would leave a segment of shared memory
        copy.remove()


@contextmanager
def standby_of(primary: Instance, **settings: str) -> Iterator[Instance]:
    """The same, started, with its primary's settings but for these (a dot in a name as __)."""
    with copy_of(primary) as standby:
        standby.configure({name.replace("__", "."): value for name, value in settings.items()})
        standby.start()
        yield standby


def catch_up(standby: Instance, primary: Instance) -> None:
    """Wait until the standby has replayed what the primary has written so far."""
    place = primary.query("SELECT pg_current_wal_lsn()")
    query = f"SELECT pg_last_wal_replay_lsn() >= '{place}'::pg_lsn"
    wait_for("the standby has replayed it", lambda: standby.query(query) == "t")
