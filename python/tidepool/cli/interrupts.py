"""Ctrl-C, also where a library swallows it.

Python raises KeyboardInterrupt wherever it is.  Within a library's conversions or
imports that may be lost, or come out as another error.  So it is noted, and raised
again when work goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

INTERRUPTED = 130  # the exit status

_noted = threading.Event()


def _note(signum: int, frame: FrameType | None) -> NoReturn:
    _noted.set()
    raise KeyboardInterrupt


def check() -> None:
    """Raise KeyboardInterrupt if there was one.  Callable from any thread."""
    if _noted.is_set():
        raise KeyboardInterrupt


def _leave() -> None:
    """End the process without waiting for threads of libraries, which abort it."""
    if _noted.is_set():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(INTERRUPTED)


@contextmanager
def noted() -> Iterator[None]:
    """Note interrupts in the block, which ends with click.Abort after one.

    Leaves signals alone outside the main thread, and where others handle them.
    """
    handled = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if handled:
        atexit.register(_leave)  # first, to be called last
        signal.signal(signal.SIGINT, _note)
    try:
        yield
    except Exception as error:
        if _noted.is_set():
            raise click.Abort from error
        raise
    finally:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if _noted.is_set():
        raise click.Abort
