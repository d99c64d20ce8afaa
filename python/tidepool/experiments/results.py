"""What simulate, curve, compare and pools return."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from tidepool.experiments import comparison, layouts, pictures
from tidepool.experiments.comparison import Comparison
from tidepool.experiments.curves import Curves
from tidepool.experiments.layouts import Compared
from tidepool.experiments.runs import Run
from tidepool.experiments.tables import Drawn, Rows, Table
from tidepool.simulation import Curve, LayoutResult, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Item = TypeVar("Item")


class _Items(Drawn, Sequence[Item], Generic[Item]):
    """A sequence of results that is also a table."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)


class Results(_Items[Result]):
    """A result for each trace, policy, size and seed; a row each in tables."""

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__([run.result for run in runs])
        self.runs = tuple(runs)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per replay; names of what its SSD tier counted begin with "tier"."""
        divided = any(isinstance(run.result, LayoutResult) for run in self.runs)
        sampled = any(run.result.sample_rate is not None for run in self.runs)
        tiered = any(run.result.ssd is not None for run in self.runs)
        for run in self.runs:
            result = run.result
            row: dict[str, Any] = {
                "trace": result.trace,
                "layout" if divided else "policy": run.label,
                "frames": result.frames,
                "seed": result.seed,
                "requests": result.requests,
                "misses": result.misses,
                "hit_ratio": result.hit_ratio,
            }
            if sampled:
                row |= {"error": result.error, "sample_rate": result.sample_rate}
            for name in ("refused", "correlated", "write_backs", "forgotten"):
                row[name] = getattr(result, name)
            if tiered and result.ssd is not None:
                tier = result.ssd.to_json()
                tier["policy"] = run.ssd
                del tier["params"]
                row |= {f"tier_{name}": value for name, value in tier.items()}
            row["seconds"] = result.seconds
            yield row

    @property
    def intervals(self) -> Table:
        """The hit ratio of each interval: a row each."""
        return Rows(
            [
                {**_replay(run), "end": end, "hit_ratio": float(ratio)}
                for run in self.runs
                if run.result.series is not None
                for end, ratio in zip(
                    run.result.interval_ends.tolist(), run.result.series, strict=True
                )
            ]
        )

    @property
    def relations(self) -> Table:
        """The counts of each relation's forks: a row each."""
        return Rows(
            [
                {**_replay(run), "relation": one.name, **_without(vars(one), "relation", "name")}
                for run in self.runs
                for one in run.result.relations
            ]
        )

    @property
    def pools(self) -> Table:
        """The counts of each pool of a layout: a row each."""
        return Rows(
            [
                {"trace": run.result.trace, "layout": run.label, **_without(vars(pool), "params")}
                for run in self.runs
                if isinstance(run.result, LayoutResult)
                for pool in run.result.pools
            ]
        )

    def plot(self) -> Figure:
        """Draw hit ratios: over time, by size, or, of one size, as bars; with SSDs, times."""
        return pictures.picture(self.runs)


class CurveSet(_Items[Curve]):
    """A curve for each trace and policy; a row per point in tables."""

    def __init__(self, done: Sequence[Curves]) -> None:
        super().__init__([curve for each in done for curve in each.curves])
        self._done = tuple(done)

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per point."""
        sampled = any(curve.error is not None for curve in self)
        for curve in self:
            for i, frames in enumerate(curve.frames.tolist()):
                row = {
                    "trace": curve.trace,
                    "policy": curve.policy,
                    "frames": frames,
                    "requests": curve.requests,
                    "miss_ratio": float(curve.miss_ratio[i]),
                }
                if sampled:
                    row["error"] = None if curve.error is None else float(curve.error[i])
                    row["sample_rate"] = curve.sample_rate
                yield row

    def plot(self, ratio: Literal["miss", "hit"] = "miss") -> Figure:
        """Draw the curves, with bands of 95 % around sampled ones."""
        from tidepool.plots import curve_figure

        fine = [curve for each in self._done for curve in each.fine]
        return curve_figure(fine, ratio, self._done[0].plan.spread == "log")


class Comparisons(_Items[Comparison]):
    """A comparison for each trace; a row per policy and size in tables."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per policy and size, the mean over the seeds."""
        for one in self:
            labels = [str(spec) for spec in one.policies for _ in one.frames]
            for label, record in zip(labels, one.records(), strict=True):
                yield {"trace": record.pop("trace"), "policy": label} | _without(
                    record, "policy", "params", "warmup"
                )

    def plot(self) -> Figure:
        """Draw the differences of hit ratios as heat maps."""
        return comparison.picture(self)


class Layouts(_Items[Compared]):
    """Layouts of pools compared, for each trace; a row per layout in tables."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row per layout."""
        for one in self:
            for result in one.results:
                yield {
                    "trace": result.trace,
                    "layout": result.layout,
                    "frames": result.frames,
                    "requests": result.requests,
                    "misses": result.misses,
                    "hit_ratio": result.hit_ratio,
                    "write_backs": result.write_backs,
                }

    @property
    def parts(self) -> Table:
        """The same of all references, of each group of relations set apart, and of each pool."""
        return Rows([row for one in self for row in layouts.rows(one)])

    def plot(self) -> Figure:
        """Draw hit ratios: a panel for all references, and one for each group."""
        return layouts.picture(self)


def _replay(run: Run) -> dict[str, Any]:
    return {
        "trace": run.result.trace,
        "policy": run.label,
        "frames": run.result.frames,
        "seed": run.result.seed,
    }


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
