"""``tidepool server``: private PostgreSQL instances with buffer pools."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from tidepool.cli.options import Parsed
from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES, Instance, server_directory
from tidepool.simulation import parse_memory
from tidepool.simulation.sizes import PAGE_BYTES

_directory = click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
bin_option = click.option(
    "--bin",
    "bin_directory",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="TIDEPOOL_SERVER",
    help="Where the server's programs are; default: what make postgres has built.",
)


def parse_shared_buffers(text: str) -> str:
    """Return a size of memory as PostgreSQL takes it, which knows no 64M."""
    return f"{parse_memory(text) * PAGE_BYTES // 1024}kB"


def _settings(values: tuple[str, ...]) -> dict[str, str]:
    settings = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value}: write it as name=value", param_hint="--set")
        settings[name.strip()] = text.strip()
    return settings


def _instance(directory: Path, bin_directory: Path | None, *, must_exist: bool = True) -> Instance:
    instance = Instance(directory, bin_directory or server_directory())
    if must_exist and not instance.exists():
        raise TidepoolError(
            f"{directory}: no instance there", hint=f"make one: tidepool server start {directory}"
        )
    return instance


@click.group("server")
def server() -> None:
    """Make, start and stop private PostgreSQL instances.

    An instance lives in a directory and listens on a socket there and nowhere
    else.  All algorithms of the simulator can be chosen.
    """


@server.command("start")
@_directory
@click.option("--algorithm", help="Replacement algorithm of the shared buffers.")
@click.option(
    "--shared-buffers",
    type=Parsed("size", parse_shared_buffers),
    metavar="SIZE",
    help="Memory for them (128MB), or buffers of 8 kB (16384).",
)
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="Any other setting.")
@bin_option
def start_command(
    directory: Path,
    algorithm: str | None,
    shared_buffers: str | None,
    values: tuple[str, ...],
    bin_directory: Path | None,
) -> None:
    """Start the instance in DIRECTORY, making it first if there is none.

    Settings are kept: those given now replace earlier ones, after a restart if
    it is running.  If the server does not start with them, they are not kept.

    \b
    Examples:
      tidepool server start /tmp/try
      tidepool server start /tmp/try --algorithm arc --shared-buffers 64MB
      tidepool server start /tmp/try --set bufferpool.batch_size=1
    """
    instance = _instance(directory, bin_directory, must_exist=False)
    settings = _settings(values)
    if algorithm:
        settings["bufferpool.algorithm"] = algorithm
    if shared_buffers:
        settings["shared_buffers"] = shared_buffers
    new = not instance.exists()
    if new:
        instance.create({"shared_preload_libraries": LIBRARIES})
    try:
        if settings or not instance.running():
            instance.restart(settings, lambda: _check_algorithm(instance))
    except TidepoolError:
        if new:
            instance.remove()
        raise
    _tell(instance)


def _check_algorithm(instance: Instance) -> None:
    """Raise TidepoolError if the server had to take the clock for want of the algorithm."""
    instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
    wanted = instance.query(
        "SELECT setting FROM pg_file_settings WHERE name = 'bufferpool.algorithm'"
        " ORDER BY seqno DESC LIMIT 1"
    )
    if wanted and instance.query("SELECT handler FROM pg_bufferpool") != wanted.lower():
        known = instance.query("SELECT name FROM pg_bufferpool_algorithms() ORDER BY 1").split()
        raise TidepoolError(
            f'the server has no algorithm "{wanted}"', hint=f"it has {', '.join(known)}"
        )


@server.command("stop")
@_directory
@click.option("--remove", is_flag=True, help="Delete the directory, too.")
@bin_option
def stop_command(directory: Path, remove: bool, bin_directory: Path | None) -> None:
    """Stop the instance in DIRECTORY."""
    instance = _instance(directory, bin_directory)
    if instance.running():
        instance.stop()
    if remove:
        instance.remove()


@server.command("status")
@_directory
@bin_option
def status_command(directory: Path, bin_directory: Path | None) -> None:
    """Tell whether the instance runs, with which algorithm, and how to reach it.

    The exit status is 0 if it runs, 3 if not.
    """
    instance = _instance(directory, bin_directory)
    if not instance.running():
        click.echo("stopped")
        sys.exit(3)
    _tell(instance)


@server.command("psql", context_settings={"ignore_unknown_options": True})
@_directory
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@bin_option
def psql_command(directory: Path, arguments: tuple[str, ...], bin_directory: Path | None) -> None:
    """Run psql on the instance in DIRECTORY; ARGUMENTS are psql's.

    \b
    Examples:
      tidepool server psql /tmp/try
      tidepool server psql /tmp/try -c "SELECT * FROM pg_stat_bufferpool" -x
    """
    instance = _instance(directory, bin_directory)
    if not instance.running():
        raise TidepoolError(
            f"{directory}: the server is stopped",
            hint=f"start it: tidepool server start {directory}",
        )
    psql = instance.clients / "psql"
    sys.stdout.flush()
    os.execve(psql, [str(psql), *arguments], instance.environment())


def _tell(instance: Instance) -> None:
    query = (
        "SELECT current_setting('bufferpool.algorithm'), current_setting('shared_buffers'),"
        " current_setting('server_version')"
    )
    algorithm, buffers, version = instance.query(query).split("|")
    click.echo(f"running: PostgreSQL {version}, {algorithm}, shared_buffers {buffers}")
    click.echo(f"connect: host={instance.directory} user=postgres dbname=postgres")
