"""Advice as a page of its own: nothing is loaded from elsewhere, so it can be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tidepool.advice.picture import size_figure
from tidepool.advice.prices import SOURCE
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
from tidepool.amounts import count, megabytes, percent, printable
from tidepool.plots import svg_text

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; }
p.verdict { font-size: 1.15rem; border-left: .3rem solid #0072B2; padding-left: .8rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #8884; }
th { font-weight: 600; } th:first-child, td.text { text-align: left; }
tr.here { background: #0072B222; font-weight: 600; }
pre { background: #8882; padding: .7rem; overflow-x: auto; }
section { border-top: 1px solid #8886; } .picture { background: #fff; padding: .5rem; }
.picture svg { width: 100%; max-width: 34rem; height: auto; display: block; }
footer { color: #777; font-size: .85rem; margin-top: 3rem; }
"""

# no script, nothing from the network, whatever a name contains
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def html_page(report: Report) -> str:
    """Return the page."""
    title = f"Advice for {', '.join(report.recordings)}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        f'<p class="verdict">{_text(verdict(report))}</p>',
        "<h2>Where the server is</h2>",
        _table((), [(label, text) for label, text in where_rows(report.where)]),
        "<h2>Sizes</h2>",
        f'<div class="picture">{svg_text(size_figure(report))}</div>',
        _sizes(report),
        *_groups(report),
        _notes(report),
        f"<footer>Made by tidepool advise. Prices: {_text(SOURCE)}.</footer>",
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    return escape(printable(text))


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(header)}</th>" for header in headers)
    lines = [f"<tr>{head}</tr>"] if headers else []
    for row in rows:
        cells = "".join(f'<td class="text">{_text(cell)}</td>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _sizes(report: Report) -> str:
    same = report.best == report.where.algorithm
    names = [report.where.algorithm] if same else [report.where.algorithm, report.best]
    headers = ["size", "buffers"]
    for name in names:
        headers += [f"{name}: reads", "read time", "±"]
    head = "".join(f"<th>{_text(header)}</th>" for header in headers)
    rows = [f"<tr>{head}</tr>"]
    for line in report.sizes:
        here = " (you are here)" if line.here else ""
        cells = [f"{percent(line.factor, 0)} = {megabytes(line.frames)}{here}", count(line.frames)]
        for point in (line.today,) if same else (line.today, line.best):
            cells += [count(point.reads), milliseconds(point.read_ms), percent(point.error, 1)]
        marked = ' class="here"' if line.here else ""
        data = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        rows.append(f"<tr{marked}>{data}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _groups(report: Report) -> Iterator[str]:
    for needs, group in report.in_groups().items():
        yield f"<h2>{_text(GROUPS[needs])}</h2>"
        yield from (_section(number, advice, report) for number, advice in group)


def _section(number: int, advice: Advice, report: Report) -> str:
    points = [gain_text(advice), reads_text(advice, report), *advice.why]
    if (halves := halves_text(advice)) is not None:
        points.append(halves)
    points += [f"price, {text}" for text in price_texts(advice.price)]
    points += [
        f"{relation.name}: {milliseconds(relation.before_ms)} → {milliseconds(relation.after_ms)}"
        for relation in advice.relations
    ]
    parts = [f"<section><h3>{number}. {_text(advice.title)}</h3>", _list(points)]
    if advice.lines.settings:
        parts.append("<p>postgresql.conf, then restart:</p>" + _lines(advice.lines.settings))
    if advice.lines.sql:
        parts.append("<p>psql:</p>" + _lines(advice.lines.sql))
    return "".join([*parts, "</section>"])


def _lines(lines: Sequence[str]) -> str:
    return f"<pre>{_text_lines(lines)}</pre>"


def _text_lines(lines: Sequence[str]) -> str:
    return "\n".join(_text(line) for line in lines)


def _list(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(text)}</li>" for text in texts) + "</ul>"


def _notes(report: Report) -> str:
    return f"<h2>Mind</h2>{_list(report.notes)}" if report.notes else ""
