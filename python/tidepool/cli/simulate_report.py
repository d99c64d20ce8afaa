"""The results of ``tidepool simulate`` as tables, records and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tidepool.cli.layout_report import print_pools
from tidepool.cli.printing import CsvPrinter, count, percent, print_json, print_table
from tidepool.cli.ssd import print_tiers
from tidepool.simulation import Curve, LayoutResult, Options, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORKS = ("main", "fsm", "vm", "init")


@dataclass(frozen=True)
class Run:
    """A replay and what it counted."""

    label: str  # the policy, as on the command line
    result: Result
    options: Options
    ssd: str = ""  # the policy of the SSD tier, likewise
    pool_resizes: tuple[tuple[int, str, int], ...] = ()  # of a layout

    @property
    def resized(self) -> list[int]:
        """Before which references there are resizes."""
        return [at for at, _ in self.options.resize] + [at for at, _, _ in self.pool_resizes]


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Return the runs of a trace by policy and size as given, then in the order of their seeds."""
    runs = list(runs)
    order: dict[tuple[Any, ...], int] = {}

    def key(run: Run) -> tuple[Any, ...]:
        tier = run.result.ssd
        return (run.label, run.result.frames, run.ssd, tier.frames if tier else 0)

    for run in runs:
        order.setdefault(key(run), len(order))
    return sorted(runs, key=lambda run: order[key(run)])


# ---- records ----


def record(run: Run) -> dict[str, Any]:
    """Return a run as JSON has it: what was counted, then the options that are not defaults."""
    out = run.result.to_json()
    if run.options.warmup:
        out["warmup"] = run.options.warmup
    if run.options.correlation_window:
        out["correlation_window"] = run.options.correlation_window
    if run.options.batch > 0:
        out["batch"] = run.options.batch
    if run.options.resize:
        out["resize"] = [list(resize) for resize in run.options.resize]
    if run.pool_resizes:
        out["resize"] = [list(resize) for resize in run.pool_resizes]
    return out


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield a run as rows of CSV: one, or one for each interval, relation or pool.

    What an SSD tier counted is in columns of its own, named tier_….
    """
    out = record(run)
    out.pop("resize", None)
    out |= {f"tier_{name}": value for name, value in out.pop("ssd", {}).items()}
    series = out.pop("series", None)
    out.pop("last_interval", None)
    relations = out.pop("relations", None)
    pools = out.pop("pools", None)
    if series is not None:
        for end, ratio in zip(run.result.interval_ends.tolist(), series, strict=True):
            yield out | {"end": end, "interval_hit_ratio": ratio}
    elif relations is not None:
        for relation in relations:
            yield out | {
                "relation": relation["relation"],
                "fork": relation["fork"],
                "relation_name": relation["name"],
                "relation_requests": relation["requests"],
                "relation_misses": relation["misses"],
            }
    elif pools is not None:
        for pool in pools:
            yield out | {"pool": pool.pop("pool"), **{f"pool_{k}": v for k, v in pool.items()}}
    else:
        yield out


# ---- printing ----


class Printer:
    """Prints the runs of one trace after the other in one format."""

    def __init__(self, output: str, name_traces: bool, name_seeds: bool) -> None:
        self._output = output
        self._name_traces = name_traces
        self._name_seeds = name_seeds
        self._csv = CsvPrinter()

    def print(self, runs: Sequence[Run]) -> None:
        """Print the runs of a trace."""
        if self._output == "json":
            for run in runs:
                print_json(record(run))
        elif self._output == "csv":
            for run in runs:
                for row in rows(run):
                    self._csv.print(row)
        else:
            every, runs = runs, memory_runs(runs)
            self._print_totals(runs)
            for run in runs:
                if isinstance(run.result, LayoutResult):
                    print_pools(run.result)
            if every[0].result.ssd is not None:
                self._print_tiers(every)
            if runs[0].options.interval:
                self._print_series(runs)
            if runs[0].options.per_relation:
                for run in runs:
                    self._print_relations(run)

    def _print_totals(self, runs: Sequence[Run]) -> None:
        first = runs[0].result
        columns: list[tuple[str, Any]] = [
            ("frames", lambda r: count(r.frames)),
            ("requests", lambda r: count(r.requests)),
            ("misses", lambda r: count(r.misses)),
            ("hit ratio", lambda r: percent(r.hit_ratio)),
        ]
        if first.error is not None:
            columns.append(("±", lambda r: percent(r.error)))
        for name in ("refused", "correlated", "write_backs", "forgotten"):
            if any(getattr(run.result, name) for run in runs):
                columns.append(
                    (name.replace("_", "-"), lambda r, name=name: count(getattr(r, name)))
                )
        columns.append(("seconds", lambda r: f"{r.seconds:.3f}"))
        if self._name_seeds:
            columns.append(("seed", lambda r: str(r.seed)))
        print_table(
            _title(first),
            ("policy", *(header for header, _ in columns)),
            [(run.label, *(text(run.result) for _, text in columns)) for run in runs],
        )

    def _print_tiers(self, runs: Sequence[Run]) -> None:
        several_seeds = self._name_seeds
        print_tiers(
            [
                (
                    f"{run.label}, seed {run.result.seed}" if several_seeds else run.label,
                    run.result.frames,
                    run.ssd,
                    run.result.ssd,
                )
                for run in runs
                if run.result.ssd is not None
            ]
        )

    def _print_series(self, runs: Sequence[Run]) -> None:
        series = [run.result.series for run in runs if run.result.series is not None]
        first = runs[0].result
        print_table(
            f"hit ratio of every {count(first.interval)} references",
            ("up to", *labels(runs)),
            [
                (count(end), *map(percent, ratios))
                for end, *ratios in zip(first.interval_ends.tolist(), *series, strict=True)
            ],
            left=0,
        )

    def _print_relations(self, run: Run) -> None:
        by_misses = sorted(run.result.relations, key=lambda relation: -relation.misses)
        print_table(
            f"{run.label}, {count(run.result.frames)} frames, by relation",
            ("relation", "fork", "requests", "misses", "hit ratio"),
            [
                (
                    relation.name,
                    FORKS[relation.fork],
                    count(relation.requests),
                    count(relation.misses),
                    percent(1 - relation.misses / relation.requests if relation.requests else 0),
                )
                for relation in by_misses
            ],
            left=2,
        )


def memory_runs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that differ in more than their SSD tiers."""
    first: dict[tuple[str, int, int], Run] = {}
    for run in runs:
        first.setdefault((run.label, run.result.frames, run.result.seed), run)
    return list(first.values())


def _title(result: Result) -> str:
    if result.sample_rate is None:
        return result.trace
    return f"{result.trace}, {100 * result.sample_rate:.3g}% of the pages sampled"


def labels(runs: Sequence[Run]) -> list[str]:
    """Return for each run what distinguishes it: policy, frames, seed."""
    several_sizes = len({run.result.frames for run in runs}) > 1
    several_seeds = len({run.result.seed for run in runs}) > 1
    return [
        ", ".join(
            [run.label]
            + [f"{count(run.result.frames)} frames"] * several_sizes
            + [f"seed {run.result.seed}"] * several_seeds
        )
        for run in runs
    ]


# ---- pictures ----


def picture(runs: Sequence[Run]) -> Figure:
    """Draw hit ratios: over time, by size, or, of one size, as bars; with SSD tiers, times."""
    if runs[0].result.ssd is not None:
        return _time_picture(runs)
    if runs[0].options.interval:
        return _series_picture(runs)
    by_trace: dict[str, list[Run]] = {}
    for run in runs:
        by_trace.setdefault(run.result.trace, []).append(run)
    if any(len({run.result.frames for run in mine}) > 1 for mine in by_trace.values()):
        return _curve_picture(runs)
    return _bar_picture(by_trace)


def _series_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import Mark, Series, series_figure

    series, marks = [], []
    for run, label in zip(runs, labels(runs), strict=True):
        trace, hit_ratio = run.result.trace, run.result.series
        assert hit_ratio is not None
        series.append(Series(trace, label, run.result.interval_ends, hit_ratio))
        if run.options.warmup:
            marks.append(Mark(trace, run.options.warmup, "end of warm-up"))
        marks += [Mark(trace, at, f"{count(frames)} frames") for at, frames in run.options.resize]
    return series_figure(series, list(dict.fromkeys(marks)))


def _curve_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import curve_figure

    several_seeds = len({run.result.seed for run in runs}) > 1
    lines: dict[tuple[str, str], list[Result]] = {}
    for run in runs:
        label = f"{run.label}, seed {run.result.seed}" if several_seeds else run.label
        lines.setdefault((run.result.trace, label), []).append(run.result)
    curves = []
    for (trace, label), results in lines.items():
        results.sort(key=lambda result: result.frames)
        error = [result.error for result in results if result.error is not None]
        curves.append(
            Curve(
                trace=trace,
                policy=label,
                frames=np.array([result.frames for result in results]),
                miss_ratio=np.array([1 - result.hit_ratio for result in results]),
                requests=results[0].requests,
                error=np.array(error) if error else None,
                sample_rate=results[0].sample_rate,
            )
        )
    return curve_figure(curves, ratio="hit")


def _bar_picture(by_trace: dict[str, list[Run]]) -> Figure:
    from tidepool.plots import Bar, bar_figure

    return bar_figure(
        [
            Bar(f"{trace}, {count(run.result.frames)} frames", label, run.result.hit_ratio,
                run.result.error)
            for trace, runs in by_trace.items()
            for run, label in zip(runs, labels(runs), strict=True)
        ]
    )  # fmt: skip


def _time_picture(runs: Sequence[Run]) -> Figure:
    from tidepool.plots import TimeBar, time_figure

    several = len(memory_runs(runs)) > 1
    bars = []
    for run, label in zip(runs, labels(runs), strict=True):
        tier = run.result.ssd
        assert tier is not None
        tier_label = f"{run.ssd}, {count(tier.frames)}" if tier.frames else run.ssd
        bars.append(
            TimeBar(
                run.result.trace,
                f"{label} + {tier_label}" if several else tier_label,
                (
                    tier.disk_read_time,
                    tier.ssd_read_time,
                    tier.disk_write_time,
                    tier.ssd_write_time,
                ),
            )
        )
    return time_figure(bars)
