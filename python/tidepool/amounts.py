"""Amounts as people read them: counts, ratios, bytes, durations; in aligned columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidepool.simulation.sizes import PAGE_BYTES


def count(number: float) -> str:
    """Return a count with its thousands apart."""
    return f"{number:,.0f}"


def percent(ratio: float, decimals: int = 2) -> str:
    """Return a ratio in percent."""
    return f"{100 * ratio:.{decimals}f}%"


def percent_change(ratio: float) -> str:
    """Return a relative change in percent, with its sign if it has one."""
    text = f"{100 * ratio:+.1f}"
    return "0.0%" if float(text) == 0 else f"{text}%"


def points(difference: float) -> str:
    """Return a difference in percentage points, with its sign if it has one."""
    text = f"{difference:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def byte_size(count: float) -> str:
    """Return a number of bytes in PostgreSQL's units."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        del units[0]
    return f"{count:.3g} {units[0]}" if count < 1000 else f"{count:.0f} {units[0]}"


def megabytes(frames: int) -> str:
    """Return the size of so many frames."""
    return byte_size(frames * PAGE_BYTES)


def duration(seconds: float) -> str:
    """Return a duration as people write it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def printable(text: str) -> str:
    """Return text from a file as a terminal or a page may have it."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def printable_lines(text: str) -> str:
    """Return several lines likewise."""
    return "\n".join(map(printable, text.split("\n")))


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Return rows as printable lines with aligned columns; those in ``right``, at their right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
