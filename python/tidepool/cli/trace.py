"""``tidepool trace``: look at traces, convert and sample them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import click

from tidepool.amounts import aligned, byte_size, duration
from tidepool.cli.bar import watched
from tidepool.cli.failures import Failures
from tidepool.cli.inputs import open_file
from tidepool.cli.options import NUMBER, RATE, Reading, reading_options
from tidepool.traces import (
    FORMATS,
    RelationInfo,
    RenumberedTrace,
    ScanInfo,
    Trace,
    TraceInfo,
    sample_trace,
    trace_info,
    write_trace,
)
from tidepool.traces.formats import WRITABLE
from tidepool.traces.formats.redset import RedsetOptions
from tidepool.traces.provenance import Recorded

SHOWN_RELATIONS = 20  # in a table; JSON has more


def _format_list() -> str:
    rows = [(f.name, " ".join(f.extensions), f.title) for f in FORMATS.values()]
    return "\b\n" + "\n".join(aligned(rows))


def _option_list() -> str:
    fields = dataclasses.fields(RedsetOptions)
    rows = [(f.name, f"{f.default:g}", f.metadata["help"]) for f in fields]
    return "\b\n" + "\n".join(aligned(rows))


class HelpfulGroup(click.Group):
    """Shows its help when no subcommand is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take no arguments for --help."""
        return super().parse_args(ctx, args or ["--help"])


@click.group(cls=HelpfulGroup)
def trace() -> None:
    """Look at page traces, convert, sample and generate them."""


to_option = click.option(
    "--to", "target_format", type=click.Choice(WRITABLE), help="Format to write."
)


FORMATS_EPILOG = f"""\
Formats:

{_format_list()}

Output files ending in .gz, .xz or .zst are compressed; compressed input is
detected.

Options of redset (read only) and their defaults:

{_option_list()}
"""


@trace.command(epilog=FORMATS_EPILOG)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE…")
@click.option(
    "--format",
    "output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print; json is an object a line for each trace.",
)
@reading_options
def info(
    traces: tuple[str, ...],
    output: str,
    reading: Reading,
) -> None:
    """Show what is in traces: events, pages, relations, time.

    \b
    Examples:
      tidepool trace info orders.parquet
      tidepool trace info --columns page=lbn,time=ts:s disk.csv.gz
      tidepool trace info --format json *.parquet | jq .pages
    """
    show = _as_json if output == "json" else _as_table
    failures = Failures()
    for path in traces:
        with failures.reported():
            opened = open_file(path, reading)
            with watched("reading", opened) as read:
                found = trace_info(read)
            click.echo(show(path, opened.format, found))
    failures.exit()


def _as_json(path: str, format: str, found: TraceInfo) -> str:
    return json.dumps(
        {
            "path": path,
            "format": format,
            **dataclasses.asdict(found),
            "one_touch_fraction": found.one_touch_fraction,
            "seconds": found.seconds,
        }
    )


def _as_table(path: str, format: str, found: TraceInfo) -> str:
    events = ", ".join(f"{n:,} {kind}" for kind, n in found.events.items() if n)
    rows = [
        ("format", format),
        ("events", f"{sum(found.events.values()):,} ({events})"),
        ("pages", f"{found.pages:,} ({byte_size(found.bytes)})"),
        ("referenced once", f"{found.one_touch:,} ({found.one_touch_fraction:.1%} of the pages)"),
        ("time", duration(found.seconds) if found.timed else "not recorded"),
        ("backends", f"{found.backends:,}"),
        ("scans", _scans(found.scans)),
    ]
    if found.recorded is not None:
        rows.append(("recorded by", _server(found.recorded)))
    lines = [path, *(f"  {line}" for line in aligned(rows))]
    if found.relation_count > 1 or any(r.name for r in found.relations):
        lines += ["", *(f"  {line}" for line in _relations(found))]
    return "\n".join(lines) + "\n"


def _server(recorded: Recorded) -> str:
    sample = f", {recorded.sample_rate:.3g} of the pages" if recorded.sample_rate < 1 else ""
    parameters = f":{recorded.parameters}" if recorded.parameters else ""
    return (
        f"PostgreSQL {recorded.server_version}, {recorded.algorithm}{parameters},"
        f" {recorded.buffers:,} buffers{sample}"
        + "".join(f"; {pool.name}: {pool.policy}, {pool.buffers:,}" for pool in recorded.pools)
        + (f"; SSD: {recorded.ssd.spec}, {recorded.ssd.pages:,} pages" if recorded.ssd else "")
    )


def _scans(found: ScanInfo) -> str:
    kinds = [
        (found.bitmap, "bitmap"),
        (found.index, "index"),
        (found.backward, "backward"),
        (found.wrapping, "wrapping"),
    ]
    parts = [f"{n:,} {kind}" for n, kind in kinds if n]
    if found.at_once > 1:
        parts.append(f"{found.at_once:,} at once")
    if found.references:
        parts.append(f"{found.references:,} references")
    return f"{found.count:,}" + (f" ({', '.join(parts)})" if parts else "")


def _relations(found: TraceInfo) -> Iterator[str]:
    def row(r: RelationInfo) -> tuple[str, ...]:
        return (str(r.relation), r.name or "", f"{r.references:,}", f"{r.writes:,}", f"{r.pages:,}")

    head = ("relation", "name", "references", "writes", "pages")
    rows = [row(r) for r in found.relations[:SHOWN_RELATIONS]]
    yield from aligned([head, *rows], right=(2, 3, 4))
    if found.relation_count > SHOWN_RELATIONS:
        yield f"… and {found.relation_count - SHOWN_RELATIONS:,} more"


@trace.command(epilog=FORMATS_EPILOG)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@reading_options
@to_option
@click.option(
    "--renumber",
    is_flag=True,
    help="Number the pages from 0 in the order of their first reference.",
)
def convert(
    source: str,
    target: str,
    reading: Reading,
    target_format: str | None,
    renumber: bool,
) -> None:
    """Convert a trace into another format.

    IN's contents determine its format, or else its name; OUT's name its own.
    What OUT's format cannot hold is left out, with a warning.  - is standard
    input, and output.

    \b
    Examples:
      tidepool trace convert multi1.trc.gz multi1.parquet
      tidepool trace convert orders.parquet orders.oracleGeneral.zst
      tidepool trace convert --columns page=2,time=1:s disk.csv disk.parquet
      tidepool trace convert --to watt --renumber orders.parquet orders.csv
    """
    opened: Trace = open_file(source, reading)
    write(RenumberedTrace(opened) if renumber else opened, target, target_format)


@trace.command()
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--rate", required=True, type=RATE, metavar="R|P%", help="Share of the pages: 0.01 or 1%."
)
@click.option("--seed", type=NUMBER, default=0, show_default=True, metavar="N", help="Which pages.")
@reading_options
@to_option
def sample(
    source: str,
    target: str,
    rate: float,
    seed: int,
    reading: Reading,
    target_format: str | None,
) -> None:
    """Keep the references to a part of the pages, chosen by a hash.

    A cache of RATE times the size sees about the same miss ratio.  Scan and
    forget events all stay.

    \b
    Examples:
      tidepool trace sample --rate 1% big.parquet small.parquet
      tidepool trace sample --rate 0.1 --seed 7 big.parquet other.parquet
      zcat big.csv.gz | tidepool trace sample --rate 1% - - | tidepool curve -
    """
    opened = open_file(source, reading)
    write(sample_trace(opened, rate, seed), target, target_format)


def write(source: Trace, target: str, format: str | None) -> None:
    """Write a trace; warn of what was lost."""
    with watched("writing", source) as read:
        written = write_trace(read, target, format)
    if written.lost:
        click.echo(
            f"tidepool: warning: {target}: the {written.format} format does not hold "
            + ", ".join(written.lost),
            err=True,
        )
