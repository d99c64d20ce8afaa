"""Instances that are gone when the process that made them is, however it ends.

A guard, a process of its own session that no interrupt at the terminal
reaches, holds one end of a pipe and does nothing until the other end is
closed: by whom it guards or, if that was killed, by the system.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tidepool.errors import TidepoolError
from tidepool.server import Instance

ATTEMPTS = 60
PAUSE = 0.5  # seconds


@contextmanager
def scratch_instance(prefix: str, bin_directory: Path) -> Iterator[Instance]:
    """Name an instance in a new temporary directory; stop and delete it in the end.

    It has yet to be created and started.  Nothing of it is left when this is
    over, be it by an error, an interrupt or a kill -9 of this process.
    """
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        instance = Instance(directory, bin_directory)
    except TidepoolError:
        directory.rmdir()
        raise
    command = [
        sys.executable,
        "-m",
        "tidepool.scratch",
        str(instance.directory),
        str(bin_directory),
    ]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield instance
    finally:
        guard.communicate()  # closes the pipe


def _guard(instance: Instance) -> None:
    sys.stdin.buffer.read()
    for _ in range(ATTEMPTS):
        # What was under way, such as initdb, may still write or start something; and a
        # server may stop by itself before it is stopped.
        with suppress(TidepoolError):
            instance.remove()
        if not instance.directory.exists():
            return
        time.sleep(PAUSE)
    sys.exit(f"tidepool: error: could not delete {instance.directory}")


if __name__ == "__main__":
    _guard(Instance(Path(sys.argv[1]), Path(sys.argv[2])))
