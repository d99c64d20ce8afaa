"""``tidepool temperatures``: what an SSD has of a disk's heat."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Call
from tidepool.errors import TidepoolError
from tidepool.extents import read_extents
from tidepool.plots.temperatures import STRIPS, cells, temperature_figure

HEAD = "reldatabase,reltablespace,relfilenode,relation,relblocknumber,temperature,cached\n"
ROWS = (
    "5,1663,16400,orders,96,100,16\n"
    "5,1663,16400,orders,0,300,32\n"
    "5,1663,16410,orders_pkey,32,500,0\n"
    "7,1663,16999,,64,100,32\n"
)


@pytest.fixture
def extents(tmp_path: Path) -> Path:
    path = tmp_path / "extents.csv"
    path.write_text(HEAD + ROWS)
    return path


def many(count: int) -> str:
    """Rows of so many relations, of ever more extents."""
    return HEAD + "".join(
        f"5,1663,{i},table_{i},{32 * extent},{(i + 1) * (extent + 1)},{extent % 33}\n"
        for i in range(count)
        for extent in range(10 * (i + 1))
    )


def test_what_the_ssd_has(ok: Call, extents: Path) -> None:
    (found,) = ok(f"temperatures {extents} --format json").records
    assert found == {
        "heat": 1000,
        "covered": pytest.approx(0.45),  # 300 + 50 + 100
        "pages": 80,
        "relations": [
            {"relation": "orders_pkey", "extents": 1, "heat": 500, "covered": 0, "pages": 0},
            {"relation": "orders", "extents": 2, "heat": 400, "covered": 0.875, "pages": 48},
            {
                "relation": "file 16999 of database 7",
                "extents": 1,
                "heat": 100,
                "covered": 1,
                "pages": 32,
            },
        ],
    }


def test_the_table(ok: Call, extents: Path) -> None:
    out = ok(f"temperatures {extents}").out
    assert "orders_pkey" in out and "50.0%" in out
    assert "The SSD has 640 kB of them, with 45% of the heat." in out
    # 500, 300 and one of 100
    assert "50% of the heat in 256 kB, 80% of the heat in 512 kB, 95% of the heat in 1 MB" in out


def test_csv(ok: Call, extents: Path) -> None:
    lines = ok(f"temperatures {extents} --format csv").out.splitlines()
    assert lines[:2] == ["relation,extents,heat,covered,pages", "orders_pkey,1,500.0,0.0,0"]
    assert len(lines) == 4


def test_from_a_pipe(ok: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((HEAD + ROWS).encode())))
    assert "orders_pkey" in ok("temperatures -").out


def test_more_relations_than_fit(ok: Call, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(many(30))
    out = ok(f"temperatures {path} --plot {tmp_path}/warmth.svg").out
    assert "(10 colder relations are not shown)" in out
    assert (tmp_path / "warmth.svg").read_text().count("table_") >= STRIPS


@pytest.mark.parametrize("count", [1, 30])
def test_the_picture(count: int) -> None:
    summary = read_extents(many(count).splitlines())
    figure = temperature_figure(summary)
    figure.draw_without_rendering()
    strips = [axes for axes in figure.axes if len(axes.images) == 2]
    assert len(strips) == min(count, STRIPS)
    assert strips[0].get_ylabel().startswith(f"table_{count - 1}\n")
    (title,) = [sub.get_suptitle() for sub in figure.subfigs if sub.get_suptitle()]
    assert ("18 colder relations left out" in title) == (count == 30)
    (below,) = [axes for axes in figure.axes if axes.get_ylabel() == "of the heat (%)"]
    line, ring = below.lines
    assert list(ring.get_xdata()) == [summary.pages * 8192]
    assert list(ring.get_ydata()) == [summary.covered]
    assert line.get_ydata()[-1] == pytest.approx(1)


def test_a_name_is_no_formula() -> None:
    summary = read_extents((HEAD + "5,1663,16400,$\\x$,0,300,32\n").splitlines())
    figure = temperature_figure(summary)
    figure.draw_without_rendering()
    assert any(axes.get_ylabel().startswith("$\\x$\n") for axes in figure.axes)


def test_cells_of_a_strip() -> None:
    rows = "".join(f"5,1,2,t,{32 * extent},{extent},{extent % 2 * 32}\n" for extent in range(480))
    (relation,) = read_extents((HEAD + rows).splitlines()).relations
    means, shares = cells(relation)
    assert list(means[:2]) == [0.5, 2.5] and set(shares) == {0.5}
    (relation,) = read_extents((HEAD + ROWS).splitlines()).relations[1:2]
    means, shares = cells(relation)
    np.testing.assert_array_equal(means, [300, np.nan, np.nan, 100])
    np.testing.assert_array_equal(shares, [1, np.nan, np.nan, 0.5])


def test_a_disk_without_heat(ok: Call, tmp_path: Path) -> None:
    path = tmp_path / "cold.csv"
    path.write_text(HEAD + "5,1663,1,t,0,0,32\n")
    out = ok(f"temperatures {path} --plot {tmp_path}/cold.png").out
    assert "The SSD has 256 kB of them, with 0% of the heat.\n" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no column reldatabase"),
        ("a,b\n1,2\n", "there is no column reldatabase"),
        (HEAD, "there are no extents"),
        (HEAD + "5,1663,1,t,0\n", "line 2 is not a row"),
        (HEAD + ROWS + "5,1663,1,t,-32,1,1\n", "line 6 is not a row"),
        (HEAD + "5,1663,1,t,0,nan,1\n", "line 2 is not a row"),
        (HEAD + "5,1663,1,t,0,inf,1\n", "line 2 is not a row"),
        (HEAD + "5,1663,1,t,0,1,33\n", "line 2 is not a row"),
        (HEAD + "5,1663,1,t,zero,1,3\n", "line 2 is not a row"),
    ],
)
def test_what_is_not_the_view(text: str, message: str) -> None:
    with pytest.raises(TidepoolError, match=message) as caught:
        read_extents(text.splitlines())
    assert caught.value.hint


def test_errors_of_the_command(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "picture.csv"
    path.write_bytes(b"\x89PNG\xff\xfe")
    out = call(f"temperatures {path}")
    assert out.status == 1 and "this is not CSV" in out.err and "COPY (SELECT" in out.err
    out = call(f"temperatures {tmp_path}/none.csv")
    assert out.status == 2 and "No such file" in out.err
