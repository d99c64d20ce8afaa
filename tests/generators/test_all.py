"""What all generators promise, and that those of pages with ranks make what they say."""

from __future__ import annotations

import dataclasses
import inspect
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generators.generated import all_columns, columns, digest, fits, is_near, relation, same
from tidepool.errors import TraceError
from tidepool.generators import (
    GENERATORS,
    DynZipfRo,
    DynZipfRoCs,
    GeneratedTrace,
    HotCold,
    Loop,
    Ods,
    OltpScan,
    RedsetLike,
    Scan,
    Shifting,
    Tpcc,
    TpchScans,
    Ycsb,
    Zipf,
)
from tidepool.traces import model, streams
from tidepool.traces.model import Kind
from tidepool.traces.parameters import parse_parameter
from tidepool.traces.scans import planned

# Of each generator a trace that takes more than one batch where that is cheap,
# with most parameters away from their defaults; and its digest.
SAMPLES: dict[str, GeneratedTrace] = {
    "zipf": Zipf(pages=5000, length=150_001, alpha=1.1, write_fraction=0.3, seed=7),
    "hot_cold": HotCold(pages=5000, length=150_001, hot_pages=0.1, hot_references=0.7),
    "shifting": Shifting(
        pages=5000, length=150_001, working_set=500, phase=20_000, turnover=0.3, write_fraction=0.5
    ),
    "loop": Loop(pages=777, length=70_000),
    "scan": Scan(pages=5000, scans=9, blocks=1000, backends=4, spread=3.0, pause=0.1, seed=3),
    "oltp_scan": OltpScan(
        pages=5000,
        length=80_000,
        scanners=3,
        scan_blocks=700,
        scan_speed=2000.0,
        scan_interval=0.5,
        repeats=1,
    ),
    "tpch_scans": TpchScans(pages=5001, streams=5, queries=4, factor=3.0, bitmap=True, seed=2),
    "dynzipf_ro": DynZipfRo(pages=5000, scans=70, blocks=1000, phase=10_000, turnover=0.3),
    "dynzipf_ro_cs": DynZipfRoCs(
        pages=5000, scans=70, blocks=1000, phase=10_000, turnover=0.3, at_once=7
    ),
    "redset_like": RedsetLike(variant="B", queries=50, pages=20_000, concurrency=6.0, seed=4),
    "ycsb": Ycsb(workload="E", records=20_000, length=150_001, repeats=1, backends=5),
    "tpcc": Tpcc(warehouses=1, length=150_001, backends=3),
    "ods": Ods(scale=0.01, length=70_001, alpha=1.2, streams=3, lookups=50, seed=5),
}
DIGESTS = {
    "zipf": "357b5bb016a2bfb3",
    "hot_cold": "385c3b63f390c981",
    "shifting": "1964794613b5d7b4",
    "loop": "5f4755d5dc9d9323",
    "scan": "edd453e2831a0b08",
    "oltp_scan": "912ccd33494a52a5",
    "tpch_scans": "897b0e789437ab1c",
    "dynzipf_ro": "a1d82dd91145a13e",
    "dynzipf_ro_cs": "b915cf692eec5d38",
    "redset_like": "1b5c702d2a460dd5",
    "ycsb": "a5059dfce7b374fb",
    "tpcc": "df2d4190ac601206",
    "ods": "d638e36ff70fdbef",
}


# ---- what every generator promises


@pytest.fixture(params=GENERATORS)
def sample(request: pytest.FixtureRequest) -> GeneratedTrace:
    return SAMPLES[request.param]


def test_every_generator_has_a_sample_and_a_summary() -> None:
    assert list(SAMPLES) == list(GENERATORS)
    for command, generator in GENERATORS.items():
        assert generator.command == command
        assert isinstance(SAMPLES[command], generator)
        summary = inspect.getdoc(generator).splitlines()[0]
        assert summary.endswith(".") and len(summary) < 100


def test_length_is_exact_and_chunks_are_full(
    sample: GeneratedTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "CHUNK_ROWS", 997)
    sizes = [len(chunk) for chunk in sample.chunks()]
    assert sum(sizes) == sample.length
    assert set(sizes[:-1]) == {997}
    assert 0 < sizes[-1] <= 997


def test_defaults_have_the_length_they_say() -> None:
    timed = (Scan, OltpScan, TpchScans, DynZipfRo, DynZipfRoCs, RedsetLike, Ycsb, Tpcc, Ods)
    for generator in timed:
        trace = generator()
        assert sum(map(len, trace.chunks())) == trace.length


def test_same_seed_same_events(sample: GeneratedTrace) -> None:
    assert same(columns(sample), columns(sample))
    assert same(columns(sample), columns(pickle.loads(pickle.dumps(sample))))


def test_iterations_do_not_disturb_each_other(sample: GeneratedTrace) -> None:
    first = sample.chunks()
    begun = [next(first)]
    assert same(columns(sample), all_columns([*begun, *first]))


def test_events_never_change(sample: GeneratedTrace) -> None:
    # A published trace is its generator, parameters and seed.  If this fails,
    # they make another trace than they used to.
    assert digest(columns(sample)) == DIGESTS[sample.command]


def test_other_seed_other_events(sample: GeneratedTrace) -> None:
    if not hasattr(sample, "seed"):
        assert sample.command == "loop"
        return
    other = dataclasses.replace(sample, seed=sample.seed + 1)
    assert other != sample
    assert not same(columns(sample), columns(other))


@pytest.mark.parametrize("size", [1009, 65_536, 70_001])
def test_chunk_size_changes_nothing(
    sample: GeneratedTrace, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = columns(sample)
    monkeypatch.setattr(model, "CHUNK_ROWS", size)
    assert same(columns(sample), expected)


def test_sorting_in_smaller_pieces_changes_nothing(
    sample: GeneratedTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = columns(sample)
    monkeypatch.setattr(streams, "SORT_ROWS", 100)
    monkeypatch.setattr(planned, "PIECE", 77)
    assert same(columns(sample), expected)


def test_times_never_decrease(sample: GeneratedTrace) -> None:
    events = columns(sample)
    assert ("time" in events) == (sample.command not in ("zipf", "hot_cold", "shifting", "loop"))
    if "time" in events:
        assert (np.diff(events["time"].astype(np.int64)) >= 0).all()


def test_relations_have_names(sample: GeneratedTrace) -> None:
    assert set(relation(columns(sample)["page"])) <= set(sample.relations)


@pytest.mark.parametrize("command", ["zipf", "hot_cold", "shifting", "loop", "ycsb", "tpcc", "ods"])
def test_shorter_trace_is_a_prefix(command: str) -> None:
    long = SAMPLES[command]
    short = dataclasses.replace(long, length=12_345)
    expected = {name: column[:12_345] for name, column in columns(long).items()}
    assert same(columns(short), expected)


def test_name_shows_what_is_not_default() -> None:
    assert Zipf().name == "zipf(pages=1000000)"
    assert Zipf(alpha=1.0, seed=3).name == "zipf(pages=1000000,seed=3,alpha=1.0)"
    assert Ycsb(workload="E").name == "ycsb(workload=E)"
    assert Zipf(alpha=0.5) == Zipf(alpha=0.5) != Zipf(alpha=0.6)


# ---- bad parameters


def bad_values() -> list[tuple[str, str, Any]]:
    """Return, for each parameter of each generator, values below, above and not of its kind."""
    bad: list[tuple[str, str, Any]] = []
    for command, generator in GENERATORS.items():
        for item in dataclasses.fields(generator):
            if not item.init:
                continue
            wrong: list[Any] = [None, "x"]
            if not isinstance(item.default, (bool, str)):
                wrong += [True, math.nan, math.inf, -math.inf, item.metadata["min"] - 1]
                if item.metadata["max"] is not None:
                    wrong.append(item.metadata["max"] * 2 + 1)
                if isinstance(item.default, int):
                    wrong.append(item.default + 0.5)
            bad += [(command, item.name, value) for value in wrong]
    return bad


@pytest.mark.parametrize(("command", "name", "value"), bad_values())
def test_bad_value(command: str, name: str, value: Any) -> None:
    with pytest.raises(TraceError, match=f'"{name}"') as caught:
        GENERATORS[command](**{name: value})
    assert re.match(r"Use (at least |a |one of |true or false|\d)", caught.value.hint)


def test_fractions_are_also_written_in_percent() -> None:
    """All parameters from 0 to 1, and no others."""
    found = set()
    for generator in GENERATORS.values():
        for item in dataclasses.fields(generator):
            if not item.init or not isinstance(item.default, float):
                continue
            if (item.metadata["min"], item.metadata["max"]) == (0, 1):
                found.add(item.name)
                assert parse_parameter(item, float, "5 %") == 0.05
                with pytest.raises(TraceError, match=r'value 500% of ".*" is out of') as caught:
                    parse_parameter(item, float, "500%")
                assert caught.value.hint == "Use 0 to 1, or 0% to 100%."
            else:
                with pytest.raises(TraceError, match="invalid value"):
                    parse_parameter(item, float, "5%")
    assert {"write_fraction", "selectivity", "turnover", "hot_pages"} < found


@pytest.mark.parametrize(
    ("generator", "parameters", "message"),
    [
        (HotCold, {"pages": 10, "hot_pages": 0.01}, "0 of 10 pages are hot"),
        (HotCold, {"pages": 10, "hot_pages": 0.99}, "10 of 10 pages are hot"),
        (Shifting, {"pages": 10, "working_set": 10}, "leaves none of 10 outside"),
        (Scan, {"pages": 10, "blocks": 11}, "do not fit in a table of 10 pages"),
        (OltpScan, {"pages": 10, "scan_blocks": 11}, "do not fit in a table of 10 pages"),
        (DynZipfRo, {"pages": 10, "blocks": 8}, "of up to 12 blocks do not fit in a table of 10"),
        (OltpScan, {"scan_interval": 0.5}, "takes 2.4 s but the next begins within 0.5 s"),
        (OltpScan, {"length": 1000}, "ends before its scans"),
    ],
)
def test_values_that_do_not_go_together(
    generator: type[GeneratedTrace], parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        generator(**parameters)
    assert caught.value.hint


def test_advice_on_length_is_right() -> None:
    with pytest.raises(TraceError) as caught:
        OltpScan(length=1)
    (advised,) = re.findall(r"\d+", caught.value.hint)
    OltpScan(length=int(advised))
    with pytest.raises(TraceError):
        OltpScan(length=int(advised) - 1)


# ---- pages with ranks


@pytest.mark.parametrize("alpha", [0, 0.6, 1, 2.5])
def test_zipf(alpha: float) -> None:
    trace = Zipf(pages=500, length=200_000, alpha=alpha, scatter=False, write_fraction=0.3)
    events = columns(trace)
    counts = np.bincount(events["page"].astype(int), minlength=500)
    assert fits(counts, np.arange(1, 501) ** -float(alpha))
    writes = events["kind"] == Kind.WRITE
    assert is_near(writes.mean(), 0.3, 200_000)
    hottest = events["page"] == 0
    assert is_near(writes[hottest].mean(), 0.3, hottest.sum())


def test_scatter_is_a_bijection_that_spreads_hot_pages() -> None:
    trace = Zipf(pages=2000, length=100_000, alpha=1, scatter=False)
    rank = columns(trace)["page"].astype(int)
    page = columns(dataclasses.replace(trace, scatter=True))["page"].astype(int)
    pairs = set(zip(rank, page, strict=True))
    assert len(pairs) == len(set(rank)) == len(set(page))
    assert page.max() < 2000
    hot = np.array([page[rank == r][0] for r in range(50)])
    assert np.abs(np.diff(np.sort(hot))).min() >= 1
    assert np.abs(np.diff(hot)).mean() == pytest.approx(2000 / 3, rel=0.4)


def test_reads_only_need_no_kinds() -> None:
    assert next(Zipf(pages=10, length=10).chunks()).kind is None


def test_hot_cold() -> None:
    trace = HotCold(pages=1000, length=200_000, hot_pages=0.05, hot_references=0.6, scatter=False)
    page = columns(trace)["page"].astype(int)
    assert set(page) == set(range(1000))
    assert is_near((page < 50).mean(), 0.6, 200_000)
    assert fits(np.bincount(page[page < 50], minlength=50), np.ones(50))
    assert fits(np.bincount(page[page >= 50] - 50, minlength=950), np.ones(950))


def test_shifting() -> None:
    trace = Shifting(
        pages=1000,
        length=150_000,
        working_set=100,
        hot_references=0.8,
        phase=2500,
        turnover=0.5,
        scatter=False,
    )
    page = columns(trace)["page"].astype(int).reshape(-1, 2500)
    assert len(page) > 1000 / 50  # it comes round
    for move, phase in enumerate(page):
        place = (phase - 50 * move) % 1000
        assert is_near((place < 100).mean(), 0.8, 2500)
        assert fits(np.bincount(place[place < 100], minlength=100), np.ones(100))
    place = (page - 50 * np.arange(len(page))[:, None]).ravel() % 1000
    assert fits(np.bincount(place[place >= 100] - 100, minlength=900), np.ones(900))


def test_loop() -> None:
    page = columns(Loop(pages=7, length=100_000))["page"]
    assert np.array_equal(page, np.arange(100_000) % 7)


# ---- the manual


def test_manual_has_every_parameter() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "generators.md").read_text()
    for command, generator in GENERATORS.items():
        section = re.search(rf"^## `{command}`.*?(?=^## |\Z)", manual, re.M | re.S)
        assert section, command
        documented = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section.group(), re.M)
        expected = [
            (item.name, item.default) for item in dataclasses.fields(generator) if item.init
        ]
        assert [(name, value(default)) for name, default in documented] == expected, command


def value(text: str) -> bool | float | str:
    """Return the value that the manual writes like this."""
    text = text.strip()
    if re.fullmatch(r"[\d,.]+", text):
        return float(text.replace(",", ""))
    return text == "true" if text in ("true", "false") else text
