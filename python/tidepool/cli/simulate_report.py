"""The results of ``tidepool simulate`` as tables, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidepool.amounts import count, percent
from tidepool.cli.layout_report import print_pools
from tidepool.cli.printing import CsvPrinter, print_json, print_table
from tidepool.cli.ssd import print_tiers
from tidepool.experiments.runs import Run, labels, memory_runs, record, rows
from tidepool.simulation import LayoutResult, Result
from tidepool.simulation.results import REASONS

FORKS = ("main", "fsm", "vm", "init")


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
        for name in ("refused", "correlated", "write_backs", "forgotten", *REASONS):
            if any(getattr(run.result, name) for run in runs):
                columns.append((_header(name), lambda r, name=name: count(getattr(r, name))))
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


def _header(name: str) -> str:
    return name.removesuffix("_evictions").replace("_", "-")


def _title(result: Result) -> str:
    if result.sample_rate is None:
        return result.trace
    return f"{result.trace}, {100 * result.sample_rate:.3g}% of the pages sampled"
