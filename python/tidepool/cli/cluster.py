"""Where replays run: threads here, or the workers of a dask.distributed cluster."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from tidepool.cli.bar import bar
from tidepool.cli.options import Running
from tidepool.errors import TidepoolError
from tidepool.experiments.backend import Backend

TIMEOUT = 10  # seconds to wait for a scheduler


@contextmanager
def backend(running: Running) -> Iterator[Backend]:
    """Provide what ``--workers`` or ``--scheduler`` ask for."""
    if running.scheduler is None:
        yield Backend(None, running.workers or os.cpu_count() or 1, bar)
        return
    if running.workers is not None:
        raise click.UsageError("--workers is for threads here: it cannot go with --scheduler")
    with _cluster(running.scheduler) as found:
        yield found


@contextmanager
def _cluster(address: str) -> Iterator[Backend]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise TidepoolError(
            "--scheduler needs the package dask.distributed",
            'Install it with: pip install "tidepool[cluster]".',
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    class Client(distributed.Client):  # type: ignore[misc]
        def __del__(self) -> None:
            """Do nothing: it is closed below, and one that never connected cannot be."""

    try:
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise TidepoolError(
            f'cannot reach the scheduler "{address}"',
            "Start one with: dask scheduler; then give its address, as in tcp://host:8786.",
        ) from error
    try:
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise TidepoolError(
                f'the scheduler "{address}" has no workers',
                f"Add some with: dask worker {address}.",
            )
        yield Backend(client.get_executor(), threads, bar)
    except ModuleNotFoundError as error:
        raise TidepoolError(
            f"the workers of the cluster have no module {error.name}",
            "Install tidepool where they run.",
        ) from error
    except Exception as error:
        theirs = type(error).__module__.partition(".")[0] == "distributed"
        if not theirs and type(error) is not RuntimeError:
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise TidepoolError(f"the cluster failed: {reason}") from error
    finally:
        client.close(timeout=TIMEOUT)
