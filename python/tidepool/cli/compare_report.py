"""The results of ``tidepool compare`` on one trace as tables."""

from __future__ import annotations

from rich.text import Text

from tidepool.amounts import count, points
from tidepool.cli.printing import print_table
from tidepool.experiments.comparison import Comparison


def print_tables(comparison: Comparison) -> None:
    """Print the hit ratios, the best online ones marked, and the differences."""
    headers = ["policy", *map(_header, comparison.sizes, comparison.frames)]
    names = [str(spec) for spec in comparison.policies]
    rows: list[list[str | Text]] = [
        [name, *(_ratio(float(ratio), bool(best)) for ratio, best in zip(*row, strict=True))]
        for name, *row in zip(names, comparison.hit_ratios(), comparison.best(), strict=True)
    ]
    title = f"{comparison.trace}: hit ratio (%), * best but opt{_error(comparison)}"
    print_table(title, headers, rows)
    for to in comparison.references():
        print_table(
            f"{comparison.trace}: hit ratio minus that of {to} (percentage points)",
            headers,
            [
                [name, *(points(float(difference)) for difference in row)]
                for name, row in zip(names, comparison.differences(to), strict=True)
            ],
        )


def _error(comparison: Comparison) -> str:
    errors = [r.error for results in comparison.results.values() for r in results if r.error]
    return f"; standard errors up to {100 * max(errors):.2f}" if errors else ""


def _header(size: str, frames: int) -> str:
    return size if size == str(frames) else f"{size}\n{count(frames)}"


def _ratio(ratio: float, best: bool) -> Text:
    text = f"{100 * ratio:.2f}"
    return Text(f"{text}*", style="bold") if best else Text(f"{text} ")
