"""Options shared by the commands that simulate, and the values they take.

Values are checked while the command line is read, so that nothing is wrong
with them once work has begun.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from tidepool.errors import TidepoolError
from tidepool.policies import OPT, PolicySpec, parse_policy, policies
from tidepool.simulation import Size, parse_size
from tidepool.traces.formats.keys import KEYS

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv")


@dataclass(frozen=True)
class GivenSize:
    """A size, and how it was written."""

    text: str
    size: Size


@dataclass(frozen=True)
class Amount:
    """A number of references, or a share of a trace's."""

    references: int | None = None
    share: float | None = None

    def resolve(self, references: Callable[[], int]) -> int:
        """Return the number; ``references`` is asked for the trace's if that is needed."""
        if self.references is not None:
            return self.references
        assert self.share is not None
        return round(self.share * references())


@dataclass(frozen=True)
class Resize:
    """Before this reference the pool, or that of a name, is resized."""

    reference: int
    size: GivenSize
    pool: str | None = None


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

    ``words`` are what a shell may complete the text to.
    """

    def __init__(
        self, name: str, parse: Callable[[str], Any], words: Callable[[], list[str]] = list
    ) -> None:
        self.name = name
        self.parse = parse
        self.words = words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value; of a default that is one already, the default."""
        return self.parse(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        """Return the words that begin like this."""
        return [CompletionItem(word) for word in self.words() if word.startswith(incomplete)]


def parse_policies(text: str) -> tuple[PolicySpec, ...]:
    """Return the policy that NAME[:k=v,…] is, or every policy that ``all`` is."""
    return all_policies() if text == "all" else (parse_policy(text),)


def parse_given_size(text: str) -> GivenSize:
    """Return N frames, P% of the distinct pages, or bytes."""
    return GivenSize(text, parse_size(text))


def parse_amount(text: str) -> Amount:
    """Return N references, or P% of the trace's."""
    if re.fullmatch(r"[0-9]{1,18}", text):
        return Amount(references=int(text))
    share = _percentage(text)
    if share is None or not 0 <= share < 1:
        raise TidepoolError(
            f'invalid number of references "{text}"',
            "Use a whole number (100000) or a share of the trace below 100% (20%).",
        )
    return Amount(share=share)


def parse_number(least: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``least`` on that fit into 64 bits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) < 2**64:
            raise TidepoolError(
                f'invalid number "{text}"', f"Use a whole number, at least {least}."
            )
        return int(text)

    return parse


def parse_rate(text: str) -> float:
    """Return a share of the pages, written 0.01 or 1%."""
    rate = _percentage(text)
    if rate is None and re.fullmatch(r"[0-9]*\.?[0-9]+", text):
        rate = float(text)
    if rate is None or not 0 < rate <= 1:
        raise TidepoolError(
            f'invalid sampling rate "{text}"',
            "Use a share of the pages, above 0 and up to 1 (0.01) or 100% (1%).",
        )
    return rate


def parse_resize(text: str) -> Resize:
    """Return what REFERENCE:[NAME=]SIZE is."""
    reference, colon, rest = text.partition(":")
    name, equals, size = rest.rpartition("=")
    if not colon or not re.fullmatch(r"[0-9]{1,18}", reference):
        raise TidepoolError(
            f'invalid resize "{text}"',
            "Write it as REFERENCE:SIZE, as in 50000:2000 or 50000:64MB.",
        )
    return Resize(int(reference), parse_given_size(size), name if equals else None)


def parse_picture(text: str) -> Path:
    """Return the name of a picture that can be written."""
    from tidepool.plots import check_picture  # loads matplotlib, which only pictures need

    check_picture(text)
    return Path(text)


def parse_columns(text: str) -> dict[str, str]:
    """Return the map from fields of an event to columns, from FIELD=COLUMN,…."""
    pairs = [item.partition("=") for item in text.split(",")]
    columns = {field.strip(): column.strip() for field, _, column in pairs}
    if len(columns) < len(pairs) or not all(columns) or not all(columns.values()):
        raise TidepoolError(
            f'invalid columns "{text}"', "Write them as FIELD=COLUMN,…, each field once."
        )
    return columns


def all_policies() -> tuple[PolicySpec, ...]:
    """Return every online policy with its default parameters, and OPT."""
    return tuple(PolicySpec(policy) for policy in (*policies(), OPT))


def flat(given: tuple[tuple[PolicySpec, ...], ...]) -> list[PolicySpec]:
    """Return the policies of a repeatable option, each once, in the order given."""
    return list(dict.fromkeys(spec for specs in given for spec in specs))


def _percentage(text: str) -> float | None:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*%", text)
    return float(match[1]) / 100 if match else None


def _policy_names() -> list[str]:
    return [policy.name for policy in (*policies(), OPT)]


POLICY = Parsed("policy", parse_policy, _policy_names)
POLICIES = Parsed("policies", parse_policies, lambda: [*_policy_names(), "all"])
SIZE = Parsed("size", parse_given_size)
NUMBER = Parsed("number", parse_number(0))
POSITIVE = Parsed("number", parse_number(1))


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


traces_argument = click.argument("traces", nargs=-1, required=True, metavar="TRACE…")

policy_help = "A policy, as in lru_k or lru_k:k=3; all: every one, and opt. Repeatable."

frames_help = "Frames (1000), a share of the distinct pages (10%) or bytes (64MB). Repeatable."

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
    type=Parsed("rate", parse_rate),
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

columns_help = "Columns of a CSV or Parquet file to read, by name or by number from 1."

keys_option = click.option(
    "--keys",
    type=click.Choice(tuple(KEYS)),
    help="For keys that are not page numbers: hash them, or number them.",
)

reading_options = together(
    click.option(
        "--from",
        "source_format",
        metavar="FORMAT",
        help="Format of the traces, if detection fails.",
    ),
    click.option(
        "--columns",
        type=Parsed("columns", parse_columns),
        metavar="FIELD=COLUMN,…",
        help=columns_help,
    ),
    keys_option,
    gathered("reading", Reading, "source_format", "columns", "keys"),
)

running_options = together(
    click.option(
        "--workers",
        type=click.IntRange(min=1),
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
