"""``tidepool trace generate``: a command for every generator, made from its parameters."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Mapping
from typing import Any

import click

from tidepool.cli.options import Parsed
from tidepool.cli.trace import HelpfulGroup, to_option, write
from tidepool.traces import Trace
from tidepool.traces.parameters import parse_parameter


class GeneratorGroup(HelpfulGroup):
    """A command for every generator; they are looked up only when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the generators' names."""
        return sorted(_generators())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a generator."""
        generators = _generators()
        return (
            _generator_command(cmd_name, generators[cmd_name]) if cmd_name in generators else None
        )


def _generators() -> Mapping[str, type[Trace]]:
    from tidepool.generators import GENERATORS

    return GENERATORS


@click.group(cls=GeneratorGroup)
def generate() -> None:
    """Generate a trace.

    \b
    Examples:
      tidepool trace generate zipf zipf.parquet
      tidepool trace generate zipf --alpha 0.8 --seed 3 zipf.parquet
      tidepool trace generate zipf --length 1e6 - | tidepool curve -
      tidepool trace generate zipf --help
    """


def _generator_command(name: str, generator: type[Trace]) -> click.Command:
    """Make the command of a generator: an option for each field of its dataclass."""

    def run(target: str, target_format: str | None, **parameters: Any) -> None:
        write(generator(**parameters), target, target_format)

    types = typing.get_type_hints(generator)
    parameters: list[click.Parameter] = [click.Argument(["target"], metavar="OUT")]
    parameters += [
        _generator_option(field, types[field.name])
        for field in dataclasses.fields(typing.cast(Any, generator))
        if field.init
    ]
    return to_option(click.Command(name, params=parameters, callback=run, help=generator.__doc__))


def _generator_option(field: dataclasses.Field[Any], kind: Any) -> click.Option:
    option = "--" + field.name.replace("_", "-")
    required = field.default is dataclasses.MISSING
    low, high = field.metadata.get("min"), field.metadata.get("max")
    limits = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
    attributes: dict[str, Any] = {
        "help": "; ".join([field.metadata["help"], *limits]),
        "metavar": "X|P%" if field.metadata.get("fraction") else {int: "N", float: "X"}.get(kind),
        "required": required,
        "show_default": not required,
    }
    if not required:
        attributes["default"] = field.default
    if kind is bool:
        return click.Option([f"{option}/--no-{option[2:]}", field.name], **attributes)
    return click.Option([option, field.name], type=_option_type(field, kind), **attributes)


def _option_type(field: dataclasses.Field[Any], kind: Any) -> Any:
    if choices := field.metadata.get("choices"):
        return click.Choice(list(choices))
    if kind is int or kind is float:
        parse = functools.partial(parse_parameter, field, kind)
        return Parsed("number", parse, errors_name_it=True)
    return str
