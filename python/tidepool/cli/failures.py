"""Error messages; and errors in one of many traces, which do not end the others' work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tidepool.amounts import printable_lines
from tidepool.errors import TidepoolError
from tidepool.experiments.plan import MissingError


def report(message: str, hint: str | None = None) -> None:
    """Print an error on standard error, with a hint."""
    click.echo(f"tidepool: error: {printable_lines(message)}", err=True)
    if hint:
        click.echo(f"HINT:  {printable_lines(hint)}", err=True)


class Failures:
    """Errors in single traces: reported at once, exit status 1 at the end."""

    def __init__(self) -> None:
        self._any = False

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Report a TidepoolError of the block, and continue after it."""
        try:
            yield
        except TidepoolError as error:
            report(str(error), error.hint)
            self._any = True

    def exit(self) -> None:
        """Exit with status 1 if an error was reported."""
        if self._any:
            click.get_current_context().exit(1)


OPTIONS = {"policies": "--policy", "frames": "--frames"}


@contextmanager
def missing_option() -> Iterator[None]:
    """Turn a MissingError of the block into an error of usage."""
    try:
        yield
    except MissingError as error:
        raise click.UsageError(
            f"Missing option '{OPTIONS[error.missing]}':"
            f" {error.trace.name} is not a server's recording.",
            click.get_current_context(),
        ) from None
