"""``tidepool temperatures``: how warm a server's disk is, and what of it the SSD has."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

from tidepool.amounts import byte_size, count, percent
from tidepool.cli.options import format_option, plot_option
from tidepool.cli.printing import CsvPrinter, print_json, print_table
from tidepool.extents import Summary, Warmth, read_extents
from tidepool.simulation.sizes import PAGE_BYTES

MOST = 20  # relations of the table
GOALS = (0.5, 0.8, 0.95)  # shares of the heat


@click.command("temperatures")
@click.argument("extents", type=click.File(encoding="utf-8"))
@format_option
@plot_option
def temperatures(extents: TextIO, output: str, plot: Path | None) -> None:
    """Show how warm a server's disk is, and what of it its SSD has.

    EXTENTS is the view pg_ssd_tier_extents as CSV: a file, or - for standard input.
    An extent is 32 pages of the disk; its temperature is the time of reading that
    its pages on the SSD would have saved lately.  If the SSD is full and has little
    of the heat, a larger one would save more; if a smaller one could have as much,
    this one is larger than needed.

    \b
    Example:
      psql -c "COPY (SELECT * FROM pg_ssd_tier_extents) TO STDOUT CSV HEADER" |
        tidepool temperatures - --plot warmth.png
    """
    summary = read_extents(extents)
    if output == "json":
        print_json(summary.to_json())
    elif output == "csv":
        printer = CsvPrinter()
        for record in summary.to_json()["relations"]:
            printer.print(record)
    else:
        _print(summary)
    if plot:
        from tidepool.plots import save, temperature_figure

        save(temperature_figure(summary), plot)


def _print(summary: Summary) -> None:
    print_table(
        "extents that were read lately",
        ("relation", "extents", "heat, s", "heat", "on the SSD", "of its heat"),
        [_row(relation, summary.heat) for relation in summary.relations[:MOST]],
    )
    left_out = len(summary.relations) - MOST
    if left_out > 0:
        click.echo(f"({count(left_out)} colder relations are not shown)")
    click.echo(
        f"The SSD has {byte_size(summary.pages * PAGE_BYTES)} of them,"
        f" with {percent(summary.covered, 0)} of the heat."
    )
    if summary.heat:
        sizes = ", ".join(
            f"{percent(goal, 0)} of the heat in {byte_size(summary.bytes_for(goal))}"
            for goal in GOALS
        )
        click.echo(f"The warmest extents have {sizes}.")


def _row(relation: Warmth, heat: float) -> tuple[str, ...]:
    return (
        relation.relation,
        count(len(relation.extents)),
        f"{relation.heat / 1e6:.3g}",
        percent(relation.heat / heat, 1) if heat else "-",
        byte_size(relation.pages * PAGE_BYTES),
        percent(relation.covered / relation.heat, 0) if relation.heat else "-",
    )
