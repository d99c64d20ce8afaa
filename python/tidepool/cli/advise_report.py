"""Advice on a terminal."""

from __future__ import annotations

import textwrap

import click

from tidepool.advice.report import Advice, Report
from tidepool.advice.words import (
    GROUPS,
    gain_text,
    halves_text,
    milliseconds,
    price_texts,
    reads_text,
    verdict,
    where_rows,
)
from tidepool.amounts import aligned, count, megabytes, percent, printable
from tidepool.cli.printing import print_table

WIDTH = 88
HERE = "◀ you are here"


def print_report(report: Report) -> None:
    """Print the whole."""
    sample = "" if report.sample_rate == 1 else f", {percent(report.sample_rate, 1)} of the pages"
    click.secho(", ".join(map(printable, report.recordings)) + sample, bold=True)
    for line in aligned(where_rows(report.where)):
        click.echo(f"  {line}")
    click.echo()
    _print_sizes(report)
    click.secho(_wrapped(verdict(report)), bold=True)
    for needs, group in report.in_groups().items():
        click.echo()
        click.secho(GROUPS[needs], bold=True)
        for number, advice in group:
            click.echo()
            _print_advice(number, advice, report)
    if len(report.advice) > 1:
        click.echo()
        click.echo(_wrapped("Each of these is alone against today; they do not add up."))
    if report.notes:
        click.echo()
        click.secho("Mind", bold=True)
        for note in report.notes:
            click.echo(_wrapped(printable(note), "  - ", "    "))


def _print_sizes(report: Report) -> None:
    same = report.best == report.where.algorithm
    headers = ["size", "", "buffers", f"{report.where.algorithm}: reads", "read time", "±"]
    if not same:
        headers += [f"{report.best}: reads", "read time", "±"]
    headers.append("")
    rows = []
    for line in report.sizes:
        row = [percent(line.factor, 0), megabytes(line.frames), count(line.frames)]
        for point in (line.today,) if same else (line.today, line.best):
            row += [count(point.reads), milliseconds(point.read_ms), percent(point.error, 1)]
        rows.append([*row, HERE if line.here else ""])
    print_table("Sizes", headers, rows, left=0, keys=1)


def _print_advice(number: int, advice: Advice, report: Report) -> None:
    click.secho(_wrapped(printable(advice.title), f"{number}. ", "   "), bold=True)
    lines = [gain_text(advice), reads_text(advice, report), *advice.why]
    if (halves := halves_text(advice)) is not None:
        lines.append(halves)
    lines += [f"price, {text}" for text in price_texts(advice.price)]
    for relation in advice.relations:
        before, after = milliseconds(relation.before_ms), milliseconds(relation.after_ms)
        lines.append(f"{relation.name}: {before} → {after}")
    for line in lines:
        click.echo(_wrapped(printable(line), "   ", "     "))
    if advice.lines.settings:
        click.echo("   postgresql.conf, then restart:")
        for line in advice.lines.settings:
            click.echo(f"     {printable(line)}")
    if advice.lines.sql:
        click.echo("   psql:")
        for line in advice.lines.sql:
            click.echo(f"     {printable(line)}")


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
