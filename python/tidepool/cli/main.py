"""The command's entry point: the group of subcommands, errors, exit statuses."""

from __future__ import annotations

import os
import sys

import click

from tidepool.cli import interrupts
from tidepool.cli.advise import advise
from tidepool.cli.compare import compare
from tidepool.cli.curve import curve
from tidepool.cli.failures import report
from tidepool.cli.forecast import forecast
from tidepool.cli.generate import generate
from tidepool.cli.policies import policies_command
from tidepool.cli.pools import pools
from tidepool.cli.server import server
from tidepool.cli.simulate import simulate
from tidepool.cli.temperatures import temperatures
from tidepool.cli.trace import HelpfulGroup, trace
from tidepool.errors import TidepoolError


@click.group(cls=HelpfulGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tidepool", message="tidepool %(version)s")
def tidepool() -> None:
    """Buffer replacement: policies, traces, miss-ratio curves; servers to try them in."""


tidepool.add_command(advise)
tidepool.add_command(policies_command)
tidepool.add_command(simulate)
tidepool.add_command(curve)
tidepool.add_command(compare)
tidepool.add_command(pools)
tidepool.add_command(forecast)
tidepool.add_command(temperatures)
tidepool.add_command(trace)
tidepool.add_command(server)
trace.add_command(generate)


def main(args: list[str] | None = None) -> None:
    """Run the tidepool command and exit."""
    run_command(tidepool, "tidepool", args)


def run_command(command: click.Command, name: str, args: list[str] | None = None) -> None:
    """Run a command and exit: 0 success, 1 bad input, 2 bad usage, 130 interrupted."""
    try:
        with interrupts.noted():
            status = command.main(args=args, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status if isinstance(status, int) else 0)
    except click.UsageError as error:
        report(
            error.format_message(), f'Try "{error.ctx.command_path} --help".' if error.ctx else None
        )
        sys.exit(2)
    except click.Abort:
        sys.exit(interrupts.INTERRUPTED)
    except TidepoolError as error:
        report(str(error), error.hint)
        sys.exit(1)
    except MemoryError as error:
        report(f"out of memory: {error}" if str(error) else "out of memory")
        sys.exit(1)
    except BrokenPipeError:
        # the reader of our output is gone: exit quietly
        _give_up_output()
        sys.exit(141)
    except OSError as error:
        report(f"{error.filename or 'input/output'}: {error.strerror or error}")
        try:
            sys.stdout.flush()
        except OSError:
            _give_up_output()
        sys.exit(1)


def _give_up_output() -> None:
    """Discard unwritten output, so that Python does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
