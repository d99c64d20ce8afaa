"""Output files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

STANDARD_OUTPUT = "-"


@contextmanager
def new_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when all went well.

    Until then it is a temporary file in the same directory, deleted after a
    failure.  What exists and is not a regular file, a pipe or a device,
    is written to as it is; so is standard output (``-``).
    """
    if path == STANDARD_OUTPUT:
        with open(1, "wb", closefd=False) as file:
            yield file
        return
    try:
        special = not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        special = False
    if special:
        with open(path, "wb") as file:
            yield file
        return
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".tidepool-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
