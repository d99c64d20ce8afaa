"""Which relations to set apart, and how pools should divide the buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from advice.recorded import interleaved, loop, page, recording, uniform, zipf
from tidepool.advice import Request, advise
from tidepool.advice.curves import TimeCurve, divide
from tidepool.advice.evidence import prepare
from tidepool.advice.pool_sizes import tried_sizes
from tidepool.advice.pools import (
    FENCED,
    LEAST_POOL,
    PROTECTED,
    floor,
    relations_of,
    tried_pools,
    units_of,
)
from tidepool.advice.sql import resized
from tidepool.advice.study import LEAST, Study
from tidepool.policies import parse_policy
from tidepool.simulation.devices import HDD, SATA_SSD
from tidepool.simulation.layouts import PoolSpec
from tidepool.traces import InMemoryTrace
from tidepool.traces.provenance import RecordedPool

RANGE = 7  # blocks, of which two are random reads
SSD = Request(SATA_SSD)
CLOCK = parse_policy("clock")


def curve(*points: tuple[float, float]) -> TimeCurve:
    frames, ms = zip(*points, strict=True)
    return TimeCurve(np.array(frames, float), np.array(ms, float))


def test_buffers_go_where_they_save_most() -> None:
    steps = [curve((0, weight), (need - 1, weight), (need, 0), (1000, 0)) for weight, need in (
        (10, 100), (30, 300), (20, 590),
    )]  # fmt: skip
    assert sum(sizes := divide(steps, [334, 333, 333], [50, 50, 50])) == 1000
    assert sum(each.at(size) for each, size in zip(steps, sizes, strict=True)) == 0


def test_flat_curves_move_nothing() -> None:
    flat = curve((0, 5), (1000, 5))
    assert divide([flat, flat, flat], [500, 300, 200], [10, 10, 10]) == [500, 300, 200]


STEEP, FLAT = curve((0, 100), (1000, 0)), curve((0, 5), (1000, 5))


def test_no_pool_falls_below_its_least() -> None:
    assert divide([FLAT, STEEP, FLAT], [400, 300, 300], [150, 64, 80]) == [150, 770, 80]


def test_no_pool_gets_more_than_its_most() -> None:
    most = [1000, 350, 1000]
    assert divide([FLAT, STEEP, FLAT], [400, 300, 300], [150, 64, 80], most)[1] == 350


# ---- a server without pools ----


def test_what_can_be_given_a_pool() -> None:
    blocks_of = {
        "public.orders": 10,
        "public.orders_id_seq": 1,
        "pg_class": 10,
        "pg_toast.pg_toast_2619": 10,
        "pg_toast.pg_toast_16400": 10,
        "pg_toast.pg_toast_16400_index": 1,
    }
    parts = [loop(n, blocks, 100) for n, blocks in enumerate(blocks_of.values(), 1)]
    trace = recording(np.concatenate(parts), relations=dict(enumerate(blocks_of, 1)))
    units = units_of(Study([prepare(trace, 1.0)], HDD))
    assert {unit.name: unit.relations for unit in units} == {
        "public.orders": {1},
        "pg_toast.pg_toast_16400": {5, 6},
    }


def several_prices(length: int = 40_000) -> InMemoryTrace:
    """Tables alike but in what a miss costs: of points, of short ranges, of scans.

    A page of a range costs 0.3 of a point's on a disk, one of a scan next to nothing.
    An algorithm, which does not know, divides its buffers evenly.
    """
    starts = np.random.default_rng(3).integers(1000 - RANGE, size=length // RANGE)
    ranges = (starts[:, None] + np.arange(RANGE)).ravel()
    pages, backends = interleaved(
        [(1, uniform(1, 1000, length)), (2, page(2, ranges)), (3, loop(3, 5000, length))]
    )
    names = {1: "public.points", 2: "public.ranges", 3: "public.scanned"}
    return recording(pages, backends, frames=1800, relations=names)


def test_further_pools_where_each_pays() -> None:
    study = Study([prepare(several_prices(), 1.0)], HDD)
    found = tried_pools(study, parse_policy("clock"))
    assert len(found) >= 2
    for number, apart in enumerate(found, 1):
        setup = apart.verdict.setup
        assert len(setup.pools) == len(apart.units) == number
        assert len({pool.name for pool in setup.pools}) == number
        for pool, units in zip(setup.pools, apart.units, strict=True):
            assert pool.name.startswith((FENCED, PROTECTED))
            assert frozenset(pool.relations) == relations_of(units)
            assert pool.frames >= LEAST_POOL
        assert 1800 - sum(pool.frames for pool in setup.pools) >= floor(1800)
    one, two = found[0].verdict, found[1].verdict
    assert two.net_share >= one.net_share + LEAST


def test_lines_of_several_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidepool.advice.algorithms.CANDIDATES", ("clock",))
    report = advise([several_prices()], Request(HDD))
    (advice,) = (each for each in report.advice if each.kind == "pools")
    created = [line for line in advice.lines.sql if line.startswith("CREATE BUFFER POOL")]
    assigned = [line for line in advice.lines.sql if line.startswith("ALTER TABLE")]
    assert len(created) >= 2
    assert len(assigned) >= len(created)
    assert ", and " in advice.title


# ---- a server with pools ----


def with_pools(
    sizes: Mapping[str, int],
    algorithm: str = "clock",
    length: int = 60_000,
    **definition: int | bool,
) -> InMemoryTrace:
    """A loop in the pool hot, and a hot set of 100 pages beside a flood in DEFAULT.

    If there is a pool rest, the flood is there.  ``definition`` is of the last pool.
    """
    pages, backends = interleaved(
        [(1, loop(1, 400, length)), (2, zipf(2, 100, length)), (3, uniform(3, 50_000, length // 2))]
    )
    pools = [
        RecordedPool(number, name, "clock" if number == 0 else algorithm, "", buffers)
        for number, (name, buffers) in enumerate(sizes.items())
    ]
    pools[-1] = replace(pools[-1], **definition)  # type: ignore[arg-type]
    members = {1: 1, 3: 2} if "rest" in sizes else {1: 1}
    return recording(pages, backends, pools=pools, members=members)


def test_a_pool_that_is_too_small_grows() -> None:
    report = advise([with_pools({"DEFAULT": 900, "hot": 300})], SSD)
    assert report.where.agreement < 0.01
    advice = next(each for each in report.advice if each.title.startswith("divide"))
    assert advice.kind == "pools"
    assert advice.share > 0.2
    (line,) = advice.lines.sql
    assert line.startswith('ALTER BUFFER POOL "hot" SET SIZE \'')
    assert advice.lines.settings == ()
    assert "instead of 2.34 MB" in advice.title


def test_pools_that_are_right_stay() -> None:
    report = advise([with_pools({"DEFAULT": 760, "hot": 440})], SSD)
    assert not any(each.title.startswith("divide") for each in report.advice)


def test_a_remainder_pool_gives_what_others_take() -> None:
    sizes = {"DEFAULT": 200, "hot": 300, "rest": 700}
    report = advise([with_pools(sizes, remainder=True)], SSD)
    advice = next(each for each in report.advice if each.title.startswith("divide"))
    (line,) = advice.lines.sql
    assert line.startswith('ALTER BUFFER POOL "hot" SET SIZE \'')
    assert "rest" not in advice.title
    found = tried_sizes(Study([prepare(with_pools(sizes, remainder=True), 1.0)], HDD))
    for verdict in found:
        hot, rest = verdict.setup.pools
        assert hot.frames + rest.frames == 1000  # DEFAULT keeps its floor


def test_a_remainder_pool_that_keeps_gives_nothing() -> None:
    trace = with_pools({"DEFAULT": 200, "hot": 300, "rest": 700}, remainder=True, algorithm="keep")
    hot = replace(trace.recorded.pools[1], algorithm="clock")  # type: ignore[union-attr]
    pools = (trace.recorded.pools[0], hot, trace.recorded.pools[2])  # type: ignore[union-attr]
    trace.recorded = replace(trace.recorded, pools=pools)  # type: ignore[type-var]
    for verdict in tried_sizes(Study([prepare(trace, 1.0)], HDD)):
        assert verdict.setup.pools[1].frames >= 700


@pytest.mark.parametrize(("frames", "limits"), [(300, {"most": 310}), (700, {"least": 690})])
def test_limits_of_self_tuning_hold(frames: int, limits: Mapping[str, int]) -> None:
    def sizes(**definition: int) -> list[int]:
        trace = with_pools({"DEFAULT": 1200 - frames, "hot": frames}, **definition)
        found = tried_sizes(Study([prepare(trace, 1.0)], HDD))
        return [verdict.setup.pools[0].frames for verdict in found]

    least, most = limits.get("least", 0), limits.get("most", 1200)
    assert not all(least <= size <= most for size in sizes())
    found = sizes(**limits)
    assert found
    assert all(least <= size <= most for size in found)


@pytest.mark.parametrize(("name", "algorithm"), [("hot", "keep"), ("RECYCLE", "clock")])
def test_promised_memory_is_not_moved(name: str, algorithm: str) -> None:
    trace = with_pools({"DEFAULT": 900, name: 300}, algorithm)
    assert tried_sizes(Study([prepare(trace, 1.0)], HDD)) == []


def spec(name: str, frames: int) -> PoolSpec:
    return PoolSpec(name, CLOCK, frames)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_pools_shrink_before_others_grow(order: Sequence[int]) -> None:
    before = [spec("a", 128), spec("b", 256), spec('c"d', 512)]
    after = [spec("a", 384), spec("b", 256), spec('c"d', 128)]
    lines = resized([(before[i], after[i]) for i in order if before[i] != after[i]])
    assert lines.sql == (
        'ALTER BUFFER POOL "c""d" SET SIZE \'1MB\';',
        "ALTER BUFFER POOL \"a\" SET SIZE '3MB';",
    )
    assert lines.settings == ()
