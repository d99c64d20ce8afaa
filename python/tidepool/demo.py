"""What `make demo` shows: a database-like mix, simulated under all policies.

It runs `tidepool` commands and says which, so that each can be repeated with
another trace, policy or size.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import textwrap
from pathlib import Path

import click

from tidepool.cli.main import run, tidepool
from tidepool.traces.generators import OltpScan

FEW = ("clock", "arc", "lirs", "w_tinylfu", "opt")  # as many lines as one picture can bear
INTERVALS = 100  # of the picture over time


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "directory", type=click.Path(file_okay=False, writable=True, path_type=Path), metavar="DIR"
)
@click.option(
    "--length",
    type=click.IntRange(min=1),
    default=OltpScan().length,
    show_default=True,
    metavar="N",
    help="Events in the trace.",
)
def demo(directory: Path, length: int) -> None:
    """Simulate a database-like mix under all policies.

    The trace and the pictures are left in DIR, which is made if need be;
    those of an earlier demo are replaced.
    """
    # what is wrong with the parameters is known before a file is touched
    mix = OltpScan(length=length)
    directory.mkdir(parents=True, exist_ok=True)
    trace, compared, curves, over_time = (
        str(directory / name)
        for name in ("mix.parquet", "compare.png", "curves.png", "over-time.png")
    )
    few = [word for policy in FEW for word in ("--policy", policy)]
    interval = str(max(1, length // INTERVALS))

    _say(
        f"""
        1. A trace: {mix.backends} backends read and update single pages of a table of
        {mix.pages:,} pages, some pages far more often than others, while
        {mix.scanners} more scan a part of it now and then.
        """
    )
    _run("trace", "generate", "oltp_scan", trace, "--length", str(length))
    _run("trace", "info", trace)

    _say(
        """
        2. Every policy with memory for 1 % to 80 % of the pages; then how far each is above
        PostgreSQL's own, clock, and how far below opt, which knows the future.
        """
    )
    _run("compare", trace, "--plot", compared)

    _say("3. A few of them more closely: the miss ratio by size.")
    _run("curve", trace, *few, "--points", "12", "--plot", curves)

    _say("4. The same in the course of time, with memory for a tenth of the pages.")
    _run(
        *("simulate", trace, *few, "--frames", "10%", "--interval", interval),
        *("--format", "csv", "--plot", over_time),
        into=directory / "over-time.csv",
    )

    _say(f"The pictures are in {directory}: compare.png, curves.png, over-time.png.  Go on with:")
    for words in (
        ("policies",),
        ("policies", "lirs"),
        ("simulate", trace, "--policy", "2q", "--policy", "2q:kin=0.5", "--frames", "64MB"),
        ("compare", "YOUR-TRACE", "--plot", "yours.pdf"),
        ("--help",),
    ):
        click.echo(f"  {_command()} {shlex.join(words)}")


def _say(text: str) -> None:
    """Print a paragraph, and an empty line."""
    click.secho(textwrap.fill(" ".join(text.split()), 88) + "\n", bold=True)


def _run(*words: str, into: Path | None = None) -> None:
    """Print a command, and run it; its output goes to the screen or into a file."""
    redirection = f" > {shlex.quote(str(into))}" if into else ""
    click.echo(f"$ {_command()} {shlex.join(words)}{redirection}\n")
    with contextlib.ExitStack() as stack:
        if into:
            file = stack.enter_context(into.open("w", encoding="utf-8", newline=""))
            stack.enter_context(contextlib.redirect_stdout(file))
        tidepool.main(args=words, prog_name="tidepool", standalone_mode=False)


def _command() -> str:
    """Return how to call the command from here, be it on the shell's path or not."""
    return os.path.relpath(Path(sys.executable).with_name("tidepool"))


if __name__ == "__main__":
    run(demo, "python -m tidepool.demo")
