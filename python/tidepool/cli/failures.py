"""Errors as people see them; those of one trace of many do not end the work on the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tidepool.errors import TidepoolError


def tell(message: str, hint: str | None = None) -> None:
    """Say on standard error what is wrong, and what to do about it."""
    click.echo(f"tidepool: error: {message}", err=True)
    if hint:
        click.echo(f"HINT:  {hint}", err=True)


class Failures:
    """The errors of single traces, told when they happen; in the end the exit status is 1."""

    def __init__(self) -> None:
        self._any = False

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell a TidepoolError, and go on after the block."""
        try:
            yield
        except TidepoolError as error:
            tell(str(error), error.hint)
            self._any = True

    def exit(self) -> None:
        """End the command with status 1 if there was an error."""
        if self._any:
            click.get_current_context().exit(1)
