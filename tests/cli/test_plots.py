"""What is in the pictures: labels, units, lines, values; and how they are saved."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

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
    assert [axes.get_title() for axes in maps] == [
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
    assert [bar.get_xlabel() for bar in bars] == [
        "hit ratio minus that of clock (percentage points)",
        "hit ratio minus that of opt (percentage points)",
    ]


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
