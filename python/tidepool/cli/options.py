"""Options that commands share.

Their values are read by tidepool.options, and checked while the command line is
read, so that nothing is wrong with them once work has begun.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from tidepool.errors import TidepoolError
from tidepool.options import (
    parse_amount,
    parse_columns,
    parse_given_size,
    parse_number,
    parse_numbers,
    parse_policies,
    parse_rate,
    parse_share,
    parse_sizes,
)
from tidepool.policies import OPT, parse_policy, policies
from tidepool.traces.formats import parse_format
from tidepool.traces.formats.keys import KEYS

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv")


@dataclass(frozen=True)
class Reading:
    """How trace files are read."""

    format: str | None
    columns: dict[str, str] | None
    keys: str | None


@dataclass(frozen=True)
class Running:
    """Where replays run: so many threads here, or a cluster."""

    workers: int | None
    scheduler: str | None


# click's types are generic for type checkers only, and that since 8.2
_ParamType: Any = click.ParamType


class Parsed(_ParamType):  # type: ignore[misc]
    """Text that a function makes a value of; it raises TidepoolError if it cannot.

    ``words`` are what a shell may complete the text to.  The option's name is put
    before the error, unless ``errors_name_it``.
    """

    def __init__(
        self,
        name: str,
        parse: Callable[[str], Any],
        words: Callable[[], list[str]] = list,
        *,
        errors_name_it: bool = False,
    ) -> None:
        self.name = name
        self.parse = parse
        self.words = words
        self.errors_name_it = errors_name_it

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value; of a default that is one already, the default."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except TidepoolError as error:
            if self.errors_name_it:
                raise
            raise TidepoolError(f"{param.opts[0]}: {error}", error.hint) from None

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Return the words that the last item of a list may become."""
        before, comma, item = incomplete.rpartition(",")
        words = (word for word in self.words() if word.startswith(item))
        return [CompletionItem(f"{before}{comma}{word}") for word in words]


def parse_picture(text: str) -> Path:
    """Return the name of a picture that can be written."""
    from tidepool.plots import check_picture  # loads matplotlib, which only pictures need

    check_picture(text)
    return Path(text)


def _policy_names() -> list[str]:
    return [policy.name for policy in (*policies(), OPT)]


def _parse_source_format(text: str) -> str:
    parse_format(text)
    return text


POLICY = Parsed("policy", parse_policy, _policy_names)
POLICIES = Parsed("policies", parse_policies, lambda: [*_policy_names(), "all"])
SIZE = Parsed("size", parse_given_size)
SIZES = Parsed("sizes", parse_sizes)
NUMBER = Parsed("number", parse_number(0))
NUMBERS = Parsed("numbers", parse_numbers)
POSITIVE = Parsed("number", parse_number(1))
RATE = Parsed("rate", parse_rate)
SHARE = Parsed("share", parse_share)


# ---- options, in the order in which help shows them ----


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return several options as one decorator."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def gathered(name: str, kind: type, *parts: str) -> Callable[[Command], Command]:
    """Hand several options to the command as one object."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(**values: Any) -> Any:
            values[name] = kind(*(values.pop(part) for part in parts))
            return command(**values)

        return wrapper  # type: ignore[return-value]

    return decorate


def list_option(
    *names: str,
    kind: Parsed,
    metavar: str,
    help: str,
    default: tuple[str, ...] = (),
    or_else: str = "",
    last_counts: bool = False,
) -> Callable[[Command], Command]:
    """Return an option of a list, which may be repeated.

    ``kind`` makes tuples; the command gets the items of all, each once: where
    it comes first, or last if a later item can replace an earlier one
    (``last_counts``).  ``or_else`` says what an empty list means.
    """

    def flat(ctx: click.Context, param: click.Parameter, given: Any) -> tuple[Any, ...]:
        all_items = [item for items in given for item in items]
        if last_counts:
            return tuple(reversed(dict.fromkeys(reversed(all_items))))
        return tuple(dict.fromkeys(all_items))

    otherwise = or_else or ",".join(default)
    shown = f"  [default: {otherwise}]" if otherwise else ""
    return click.option(
        *names,
        type=kind,
        multiple=True,
        default=default or None,
        callback=flat,
        metavar=metavar,
        help=help + shown,
    )


def policies_option(
    help: str = "Policies, as in arc or arc,2q:kin=0.3,kout=0.5; all: every one, and opt.",
    default: tuple[str, ...] = (),
    or_else: str = "",
) -> Callable[[Command], Command]:
    """Return --policy."""
    return list_option(
        "--policy",
        "policies",
        kind=POLICIES,
        metavar="NAME[:k=v,…],…",
        help=help,
        default=default,
        or_else=or_else,
    )


def sizes_option(
    name: str = "--frames",
    help: str = "Frames (1000, 1e6), shares of the distinct pages (10%) or bytes (64MB).",
    default: tuple[str, ...] = (),
    or_else: str = "",
) -> Callable[[Command], Command]:
    """Return --frames, or another option of sizes."""
    return list_option(
        name,
        kind=SIZES,
        metavar="N|P%|SIZE,…",
        help=help,
        default=default,
        or_else=or_else,
    )


traces_argument = click.argument("traces", nargs=-1, required=True, metavar="TRACE…")

seed_option = click.option(
    "--seed",
    type=NUMBER,
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of randomized policies and of the sample.",
)

warmup_option = click.option(
    "--warmup",
    type=Parsed("amount", parse_amount),
    default="0",
    metavar="N|P%",
    help="References at the beginning to replay without counting.",
)

sample_option = click.option(
    "--sample",
    type=RATE,
    metavar="R|P%",
    help="Simulate only this share of the pages, in proportionally fewer frames; states the error.",
)

format_option = click.option(
    "--format",
    "output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Output format; json is one object per line.",
)

plot_option = click.option(
    "--plot",
    type=Parsed("picture", parse_picture),
    metavar="FILE",
    help="Draw a picture: .png, .pdf or .svg.",
)

reading_options = together(
    click.option(
        "--from",
        "source_format",
        type=Parsed("format", _parse_source_format),
        metavar="FORMAT[:OPTION=VALUE,…]",
        help="Format of the traces, if detection fails or to give it options.",
    ),
    click.option(
        "--columns",
        type=Parsed("columns", parse_columns),
        metavar="FIELD=COLUMN,…",
        help="Columns of a CSV or Parquet file to read, by name or by number from 1.",
    ),
    click.option(
        "--keys",
        type=click.Choice(tuple(KEYS)),
        help="For keys that are not page numbers: hash them, or number them.",
    ),
    gathered("reading", Reading, "source_format", "columns", "keys"),
)

running_options = together(
    click.option(
        "--workers",
        type=POSITIVE,
        metavar="N",
        help="Threads; by default one per core.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on the dask.distributed cluster of this scheduler.",
    ),
    gathered("running", Running, "workers", "scheduler"),
)
