"""What is in the pictures: labels, units, lines, values; and how they are saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from numpy.typing import NDArray

from simulation.generated import looping, zipf
from tidepool import TidepoolError, parse_policy
from tidepool.plots import (
    Bar,
    HeatMap,
    Mark,
    Point,
    Reads,
    Series,
    bar_figure,
    check_picture,
    curve_figure,
    heat_figure,
    lines,
    reads_figure,
    save,
    series_figure,
    style,
)
from tidepool.plots.heatmap import value_text
from tidepool.simulation import Curve, Sampling, exact_lru_curve, sampled_curves


def curves(sampling: Sampling | None = None) -> list[Curve]:
    specs = [parse_policy(name) for name in ("lru", "arc", "opt")]
    return [
        curve
        for trace in (zipf(300, 3000), looping(100, 1000))
        for curve in sampled_curves(trace, specs, [10, 50, 100, 300], sampling)
    ]


def test_curves_have_a_line_per_policy_and_a_panel_per_trace() -> None:
    figure = curve_figure(curves())
    assert [axes.get_title() for axes in figure.axes] == ["zipf-1", "loop"]
    for axes in figure.axes:
        assert axes.get_xlabel() == "frames (pages of 8 kB)"
        assert axes.get_ylabel() == "miss ratio (%)"
        assert axes.get_xscale() == "log"
        assert [line.get_label() for line in axes.lines] == ["lru", "arc", "opt"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["lru", "arc", "opt"]
    line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [10, 50, 100, 300]
    assert list(line.get_ydata()) == list(curves()[0].miss_ratio)


def test_axes_are_labelled_in_percent_counts_and_bytes() -> None:
    figure = curve_figure(curves()[:1])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert "50" in [label.get_text() for label in axes.get_yticklabels()]
    assert "100" in [label.get_text() for label in axes.get_xticklabels()]
    (top,) = axes.child_axes
    shown = {label.get_text() for label in top.get_xticklabels()}
    assert {"128 kB", "1 MB"} <= shown
    assert figure.get_figwidth() == style.COLUMN


def test_hit_ratios_and_linear_scale() -> None:
    figure = curve_figure(curves()[:1], ratio="hit", logarithmic=False)
    (axes,) = figure.axes
    assert (axes.get_ylabel(), axes.get_xscale()) == ("hit ratio (%)", "linear")
    assert axes.get_title() == "zipf-1, lru"
    assert not figure.legends
    assert list(axes.lines[0].get_ydata()) == list(1 - curves()[0].miss_ratio)


def test_sampled_curves_have_a_band_and_say_so() -> None:
    figure = curve_figure(curves(Sampling(0.5)))
    for axes in figure.axes:
        assert len(axes.collections) == 3
        assert axes.get_title().endswith(", 50% of the pages sampled")
    assert not curve_figure(curves()).axes[0].collections


def test_lru_does_not_seem_to_beat_opt() -> None:
    """It is known at each size, others at a few: between these nothing is claimed."""
    trace = looping(100, 2000)
    exact = exact_lru_curve(trace)
    sizes = [1, 40, 99, 130]
    lru = replace(exact, frames=np.arange(1, 201), miss_ratio=exact_at(exact, range(1, 201)))
    (opt,) = sampled_curves(trace, [parse_policy("opt")], sizes, None)
    (axes,) = curve_figure([lru, opt]).axes
    lines = {line.get_label(): line for line in axes.lines}
    x = np.arange(1, 131)
    drawn = {
        label: np.interp(x, np.array(line.get_xdata()), np.array(line.get_ydata()))
        for label, line in lines.items()
    }
    assert (drawn["lru"] >= drawn["opt"]).all()
    assert list(lines["lru"].get_xdata()) == sizes
    alone = curve_figure([lru]).axes[0].lines[0]
    assert len(alone.get_xdata()) == 200


def exact_at(curve: Curve, sizes: Iterable[int]) -> NDArray[np.float64]:
    return np.array([curve.at(size) for size in sizes])


def test_curves_at_sizes_of_their_own_are_drawn_as_they_are() -> None:
    one, other = (
        Curve("t", name, np.array(sizes), np.array([0.5, 0.25]), 100)
        for name, sizes in (("lru", [1, 4]), ("arc", [4, 9]))
    )
    assert [list(line.get_xdata()) for line in curve_figure([one, other]).axes[0].lines] == [
        [1, 4],
        [4, 9],
    ]


def many(count: int, points: int, traces: int = 1) -> list[Curve]:
    """Curves that cross, the last one best in the mean; and opt's."""
    at = np.linspace(0, 1, points)
    return [
        Curve(
            f"t{trace}",
            name,
            10 * np.arange(1, points + 1) ** 2,
            np.clip(0.9 - 0.7 * at - 0.004 * i + 0.02 * np.sin(7 * at + i), 0, 1),
            1000,
        )
        for trace in range(traces)
        for i, name in [*((i, f"policy_{i}") for i in range(count)), (3 * count, "opt")]
    ]


@pytest.mark.parametrize("points", [1, 2, 12, 200])
@pytest.mark.parametrize("traces", [1, 3])
def test_of_many_lines_the_best_stand_out(points: int, traces: int) -> None:
    figure = curve_figure(many(30, points, traces))
    figure.draw_without_rendering()
    ranks = np.argsort([c.miss_ratio.mean() for c in many(30, points)[:-1]], kind="stable")
    ranked = [f"policy_{i}" for i in ranks]
    assert len(figure.axes) == traces
    for axes in figure.axes:
        colours = {line.get_label(): line.get_color() for line in axes.lines}
        assert len(colours) == 31
        assert [colours[name] for name in ranked[:5]] == list(style.COLOURS[:5])
        assert colours["opt"] == style.OPT_COLOUR
        assert {colours[name] for name in ranked[5:]} == {lines.GREY}
        assert [text.get_text() for text in axes.texts] == [*ranked[:5], "opt"]
        boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the pointers
        for i, box in enumerate(boxes):
            assert axes.bbox.fully_containsx(box.x0) and axes.bbox.fully_containsx(box.x1)
            assert axes.bbox.fully_containsy(box.y0) and axes.bbox.fully_containsy(box.y1)
            assert not any(box.overlaps(other) for other in boxes[:i])
        for text in axes.texts:
            assert text.get_color() == colours[text.get_text()]
            assert any_near(axes, text)
    (legend,) = figure.legends
    (text,) = legend.get_texts()
    listed = " ".join(text.get_text().split())
    assert listed == f"grey, best first: {'; '.join(ranked[5:])}"
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0


def any_near(axes: Axes, text: Text) -> bool:
    """Whether a label points to its line."""
    (line,) = [line for line in axes.lines if line.get_label() == text.get_text()]
    data = np.column_stack([line.get_xdata(), line.get_ydata()])
    points = axes.transAxes.inverted().transform(axes.transData.transform(data))
    x, y = text.xy
    return bool(abs(np.interp(x, points[:, 0], points[:, 1]) - y) < 0.01)


def test_six_lines_have_a_legend_and_seven_do_not() -> None:
    (legend,) = curve_figure(many(6, 5)).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *(f"policy_{i}" for i in range(6)),
        "opt",
    ]
    assert len(curve_figure(many(7, 5)).axes[0].texts) == 6


def test_rings_on_many_lines() -> None:
    points = [Point("t0", f"policy_{i}", 20, 0.5) for i in (0, 29)]
    figure = curve_figure(many(30, 5), points=points)
    (legend,) = figure.legends
    assert legend.get_texts()[0].get_text() == "live"
    rings = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none"]
    assert {ring.get_markeredgecolor() for ring in rings} >= {lines.GREY, style.COLOURS[0]}


def test_more_lines_than_can_be_listed() -> None:
    (legend,) = curve_figure(many(60, 5)).legends
    listed = " ".join(legend.get_texts()[0].get_text().split())
    assert listed.endswith("; and 25 more") and listed.count(";") == lines.LISTED


@pytest.mark.parametrize("intervals", [1, 2, 40])
def test_many_lines_over_time(intervals: int) -> None:
    ends = 100 * np.arange(1, intervals + 1)
    series = [
        Series("t", f"policy_{i}", ends, np.full(intervals, 0.3 + i / 100)) for i in range(30)
    ]
    figure = series_figure(series)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == [f"policy_{i}" for i in range(29, 24, -1)]
    markers = {line.get_marker() for line in axes.lines if line.get_color() == lines.GREY}
    assert markers == ({"."} if intervals == 1 else {"None"})


def test_long_lines_have_no_markers() -> None:
    figure = curve_figure([exact_lru_curve(zipf(300, 3000))])
    assert figure.axes[0].lines[0].get_marker() == "None"


def test_lines_differ_in_colour_and_dashes_and_opt_stands_out() -> None:
    looks = [style.line_style(i, f"policy {i}") for i in range(30)]
    assert len({(look["color"], look["linestyle"]) for look in looks}) == 30
    assert len({look["color"] for look in looks[:6]}) == 6
    opt = style.line_style(3, "opt:bypass=on")
    assert opt["color"] == "#000000"
    assert all(look["color"] != "#000000" for look in looks)


def test_points_are_rings_in_their_curves_colours() -> None:
    points = [Point("zipf-1", "arc", 50, 0.4), Point("loop", "lru", 10, 0.9)]
    figure = curve_figure(curves(), points=points)
    rings = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none"]
    ring = next(line for line in rings if len(line.get_xdata()))
    assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([50], [0.4])
    assert ring.get_markeredgecolor() == figure.axes[0].lines[1].get_color()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["lru", "arc", "opt", "live"]
    hits = curve_figure(curves()[:1], "hit", points=[Point("zipf-1", "lru", 50, 0.4)])
    assert [0.6] in [list(line.get_ydata()) for line in hits.axes[0].lines]


def test_blocks_read() -> None:
    reads = [Reads("clock", 2000, 1990, 1000), Reads("arc", 1500, 1600, 1100)]
    (axes,) = reads_figure("t", reads).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["clock", "arc"]
    assert [bar.get_width() for bar in axes.patches] == [2000, 1500, 1990, 1600]
    assert [text.get_text() for text in axes.texts] == ["2,000", "1,500"]
    (optimum,) = axes.collections
    assert [segment[0][0] for segment in optimum.get_segments()] == [1000, 1100]
    assert (axes.get_title(), axes.get_xlabel()) == ("t", "blocks read")
    assert axes.get_xlim()[1] > 2000


def test_series_with_marks() -> None:
    series = [
        Series("t", label, np.array([100, 170]), np.array(ratios))
        for label, ratios in (("lru", [0.1, 0.5]), ("arc", [0.2, 0.6]))
    ]
    figure = series_figure(series, [Mark("t", 150, "20 frames"), Mark("other", 1, "no")])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("references", "hit ratio (%)")
    assert list(axes.lines[0].get_xdata()) == [100, 170]
    assert list(axes.lines[2].get_xdata()) == [150, 150]
    assert [text.get_text() for text in axes.texts] == ["20 frames"]
    assert axes.get_title() == "t"
    assert series_figure(series[:1]).axes[0].get_title() == "t, lru"


def test_bars() -> None:
    figure = bar_figure([Bar("t", "lru", 0.25, 0.01), Bar("t", "opt", 0.5), Bar("u", "lru", 0)])
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["lru", "opt"]
    assert [bar.get_width() for bar in first.patches] == [0.25, 0.5]
    assert [text.get_text() for text in first.texts] == ["25.0", "50.0"]
    assert first.get_xlabel() == "hit ratio (%)"
    assert [text.get_text() for text in second.texts] == ["0.0"]


def heat_maps() -> list[HeatMap]:
    values = np.array([[0, 0, 0], [12.3, -0.04, -4.56]])
    return [
        HeatMap(trace, to, ("clock", "arc"), ("1%", "5%", "20%"), values * scale)
        for trace, scale in (("t", 1), ("u", 2))
        for to in ("clock", "opt")
    ]


def test_heat_maps_share_their_range_and_print_their_values() -> None:
    figure = heat_figure(heat_maps())
    maps = [axes for axes in figure.axes if axes.images]
    bars = [axes for axes in figure.axes if not axes.images]
    assert [" ".join(axes.get_title().split()) for axes in maps] == [
        "t, against clock",
        "t, against opt",
        "u, against clock",
        "u, against opt",
    ]
    for axes in maps:
        (image,) = axes.images
        assert (image.norm.vmin, image.norm.vmax) == (-24.6, 24.6)
        assert [label.get_text() for label in axes.get_xticklabels()] == ["1%", "5%", "20%"]
    assert [label.get_text() for label in maps[0].get_yticklabels()] == ["clock", "arc"]
    assert not any(label.get_text() for label in maps[1].get_yticklabels())
    assert [text.get_text() for text in maps[0].texts] == ["0", "0", "0", "+12", "0", "−4.6"]  # noqa: RUF001
    assert [" ".join(bar.get_xlabel().split()) for bar in bars] == [
        "hit ratio minus that of clock (percentage points)",
        "hit ratio minus that of opt (percentage points)",
    ]


@pytest.mark.parametrize(
    ("trace", "baseline", "policies"),
    [("t", "clock", 30), ("a-trace-with-a-long-name-of-monday", "clock:max_usage=1,initial=0", 1)],
)
@pytest.mark.parametrize("sizes", [1, 2, 3, 8])
def test_captions_of_heat_maps_are_whole(
    sizes: int, policies: int, trace: str, baseline: str
) -> None:
    """Within the picture, and none on another."""
    names = (baseline, *(f"policy_{i}" for i in range(policies)))
    values = np.linspace(-9, 9, len(names) * sizes).reshape(len(names), sizes)
    labels = tuple(f"{i + 1}%" for i in range(sizes))
    figure = heat_figure([HeatMap(trace, to, names, labels, values) for to in (baseline, "opt")])
    figure.draw_without_rendering()
    whole = figure.bbox
    captions = [
        text.get_window_extent()
        for axes in figure.axes
        for text in (axes.title, axes.xaxis.label)
        if text.get_text()
    ]
    assert len(captions) == 6
    for i, box in enumerate(captions):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in captions[:i])


def test_a_few_extremes_do_not_drown_the_rest() -> None:
    values = np.full((10, 8), 3.0)
    values[4] = -60
    names = tuple(f"policy {i}" for i in range(10))
    figure = heat_figure([HeatMap("t", "clock", names, tuple("abcdefgh"), values)])
    (image,) = figure.axes[0].images
    assert (image.norm.vmin, image.norm.vmax) == (-60, 60)
    values[4, 1:] = 3
    figure = heat_figure([HeatMap("t", "clock", names, tuple("abcdefgh"), values)])
    (image,) = figure.axes[0].images
    assert (image.norm.vmin, image.norm.vmax) == (-3, 3)
    assert figure.axes[0].texts[4 * 8].get_text() == "−60"  # noqa: RUF001
    assert figure.axes[0].texts[4 * 8].get_color() == "white"


def test_heat_map_of_nothing_but_equals() -> None:
    heat = HeatMap("t", "clock", ("clock",), ("1%",), np.zeros((1, 1)))
    (axes, _) = heat_figure([heat]).axes
    assert [text.get_text() for text in axes.texts] == ["0"]


@pytest.mark.parametrize(
    ("points", "text"),
    [(0, "0"), (0.049, "0"), (0.05, "+0.1"), (-9.94, "−9.9"), (9.96, "+10"), (-25.5, "−26")],  # noqa: RUF001
)
def test_value_text(points: float, text: str) -> None:
    assert value_text(points) == text


def test_counts_and_bytes() -> None:
    assert [style.count_text(n) for n in (0, 7, 999, 1000, 25000, 3e6, 1.5e9)] == [
        "0", "7", "999", "1 k", "25 k", "3 M", "1.5 G",
    ]  # fmt: skip
    assert [style.bytes_text(n) for n in (8192, 2**20, 3 * 2**29, 2**41)] == [
        "8 kB", "1 MB", "1.5 GB", "2 TB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "magic"), [("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_save_by_suffix_and_always_the_same_bytes(tmp_path: Path, name: str, magic: bytes) -> None:
    written = []
    for _ in range(2):
        save(curve_figure(curves()[:2]), tmp_path / name)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(magic)
    if name == "a.svg":
        assert b"miss ratio (%)" in written[0]  # text stays text


@pytest.mark.parametrize("name", ["a.gif", "a", "a.png.gz", ".png"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    with pytest.raises(TidepoolError, match="cannot tell a picture format") as raised:
        check_picture(tmp_path / name)
    assert raised.value.hint == "Use a name that ends in .png, .pdf or .svg."


def test_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = bar_figure([Bar("t", "lru", 0.5)])
    with pytest.raises(TidepoolError, match="there is no directory"):
        save(figure, tmp_path / "no" / "a.png")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(TidepoolError, match="not a file that can be written"):
        save(figure, tmp_path / "a.png")
    monkeypatch.undo()
    with pytest.raises(TidepoolError, match=r"cannot write \"/dev/full\.png\"|No space|denied"):
        (tmp_path / "full.png").symlink_to("/dev/full")
        save(figure, tmp_path / "full.png")


def test_nothing_of_matplotlib_is_changed(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    save(curve_figure(curves()), tmp_path / "a.pdf")
    assert dict(mpl.rcParams) == before
