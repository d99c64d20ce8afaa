"""The pieces of advice: classes of reads, names to paste, prices, pages."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from advice.recorded import interleaved, loop, page, recording, uniform, zipf
from tidepool.advice import Advice, Report, Request, advise
from tidepool.advice.evidence import default_rate, prepare
from tidepool.advice.gains import Errors
from tidepool.advice.html import html_page
from tidepool.advice.prices import NAMED_CLOCK, memory_of, price_of, prices
from tidepool.advice.prices import Price as MeasuredPrice
from tidepool.advice.references import sequential_references
from tidepool.advice.report import NEEDS, Price
from tidepool.advice.setups import Setup
from tidepool.advice.sql import Lines, assignable, pool_lines, size_text, unit_of, without_pools
from tidepool.advice.study import prices_in
from tidepool.advice.words import gain_text, halves_text, price_texts, verdict
from tidepool.policies import parse_policy
from tidepool.simulation.devices import HDD, NVME, SATA_SSD
from tidepool.simulation.layouts import PoolSpec
from tidepool.traces import Chunk, Flag, InMemoryTrace, Kind
from tidepool.traces.provenance import Recorded

DOCS = Path(__file__).parents[2] / "docs"


# ---- references ----


def classes(blocks: list[int], backends: list[int] | None = None, sample_rate: float = 1.0) -> str:
    chunk = Chunk(
        page(1, np.array(blocks)),
        backend=None if backends is None else np.array(backends, np.uint32),
    )
    found = sequential_references(chunk, sample_rate)
    return "".join("s" if each else "r" for each in found)


def test_runs_are_sequential_from_their_third_page_on() -> None:
    assert classes([1, 2, 3, 4, 5]) == "rrsss"
    assert classes([1, 20, 50, 83, 84]) == "rrsrr"  # a step of 33 ends the run
    assert classes([5, 4, 3, 2]) == "rrrr"
    assert classes([1, 2]) == "rr"
    assert classes([1, 2, 3, 3, 3, 4]) == "rrsrrs"  # a repetition does not end it
    assert classes([1, 101, 2, 102, 3, 103], [1, 2] * 3) == "rrrrss"
    assert classes([1, 101, 2, 102, 3, 103]) == "rrrrrr"


def test_runs_in_a_sample_of_the_pages() -> None:
    """Steps are as much longer as pages are fewer, and a run's first pages are not there."""
    assert classes([100, 190, 260, 420, 500]) == "rrrrr"
    assert classes([100, 190, 260, 420, 500], sample_rate=0.01) == "sssss"
    assert classes([100, 190, 260, 1060, 1061, 1070], sample_rate=0.01) == "ssssss"
    assert classes([100, 190, 260, 1061, 5000, 6000], sample_rate=0.01) == "sssrrr"
    assert classes([100, 190, 50, 60], sample_rate=0.01) == "rrrr"
    assert classes([1, 20, 50, 83, 84], sample_rate=0.5) == "rrsrr"


def test_the_rate_makes_long_recordings_short_but_leaves_frames() -> None:
    assert default_rate(1_000_000, 10) == 1
    assert default_rate(200_000_000, 1_000_000) == pytest.approx(0.01)
    assert default_rate(200_000_000, 10_000) == pytest.approx(0.1)
    assert default_rate(200_000_000, 100) == 1
    # of a recorded sample: 1 % of a gigabyte's buffers are 1,310
    assert default_rate(20_000_000, 131_072, 0.01) == pytest.approx(1000 / 1310.72)
    assert default_rate(20_000_000, 131_072, 0.001) == 1
    assert default_rate(20_000_000, 131_072, 0.5) == pytest.approx(0.1)


def test_what_was_resident_when_the_recording_began() -> None:
    pages = zipf(1, 300, 20_000)
    trace = recording(pages, frames=400)
    (chunk,) = trace.chunks()
    second = recording(pages, frames=400)  # as though everything was there
    assert chunk.flags is not None
    (later,) = second.chunks()
    assert later.flags is not None
    later.flags[:] |= np.uint16(Flag.HIT)
    cold, warm = prepare(trace, 1.0), prepare(second, 1.0)
    assert len(cold.warm) == 0
    assert sorted(warm.warm.tolist()) == sorted(set(pages.tolist()))
    assert cold.live.sum() == len(set(pages.tolist())) and warm.live.sum() == 0
    assert advise([second]).where.reads == 0
    assert advise([second]).recommended is None


def test_what_other_setups_replay_of_a_recording() -> None:
    of_server = [Kind.MOVED, Kind.PAGE_MOVED, Kind.PHYSICAL_READ, Kind.SSD_RELATION]
    kept = [Kind.READ, Kind.REPORTED, Kind.PINNED, Kind.FORGET, Kind.WRITE]
    kinds = [*kept[:3], *of_server, *kept[3:]]
    trace = InMemoryTrace.from_arrays("monday", np.arange(len(kinds)), kind=kinds)
    trace.recorded = Recorded("18.6", "lru", "", 1, 200, 1, 1, 1.0, dropped=0)
    (each,) = prepare(trace, 1.0).slices
    assert each.chunk.kind is not None
    assert each.chunk.kind.tolist() == kept


# ---- lines ----


@pytest.mark.parametrize(
    ("name", "can"),
    [
        ("public.orders", True),
        ('"My Schema"."Or""ders; --"', True),
        ("pg_toast.pg_toast_16400", True),
        ("pg_toast.pg_toast_16400_index", True),
        ("pg_toast.pg_toast_16384", True),
        ("pg_toast.pg_toast_2619", False),
        ("pg_toast.pg_toast_2619_index", False),
        ("pg_toast.pg_toast_" + 5000 * "9", False),
        ("pg_class", False),
        ("pg_toast.other", False),
        ("information_schema.sql_features", False),
        ("public.orders; DROP TABLE orders", False),
        ("public.orders SET (x=1); --", False),
        ('public."a"b"', False),
        ('public."a\nb"', False),
        ("Public.Orders", False),
        (None, False),
        ("", False),
    ],
)
def test_only_names_as_the_recorder_writes_them_are_pasted(name: str | None, can: bool) -> None:
    assert assignable(name) == can


def test_toast_is_assigned_through_its_table() -> None:
    assert unit_of("pg_toast.pg_toast_16400_index") == unit_of("pg_toast.pg_toast_16400")
    pool = PoolSpec("fenced", parse_policy("lirs:hir=0.05"), 256)
    lines = pool_lines(
        parse_policy("arc"), parse_policy("clock"), [pool], [["pg_toast.pg_toast_16400", "s.t"]]
    )
    assert lines.settings == (
        "shared_preload_libraries = 'pg_bp_arc, pg_bp_lirs'  # beside those that are there",
        "bufferpool.algorithm = 'arc'",
    )
    create, toast, table = lines.sql
    assert create == "CREATE BUFFER POOL fenced HANDLER lirs SIZE '2MB' WITH (hir = '0.05');"
    assert "overflow_buffer_pool" in toast and toast.endswith("\\gexec")
    assert table == "ALTER TABLE s.t SET (buffer_pool = 'fenced');"


def test_pools_are_given_up() -> None:
    clock, arc = parse_policy("clock"), parse_policy("arc")
    lines = without_pools(arc, clock, ['a"b', "RECYCLE"])
    assert lines.settings[-2:] == ("bufferpool.algorithm = 'arc'", "bufferpool.recycle_buffers = 0")
    assert lines.sql == ('DROP BUFFER POOL "a""b" CASCADE;',)
    assert without_pools(clock, clock, ["hot"]).settings == ()


def test_sizes_as_the_server_takes_them() -> None:
    assert size_text(128) == "1MB"
    assert size_text(100) == "800kB"


# ---- prices ----


def test_prices_are_those_of_the_benchmarks() -> None:
    """Else run scripts/prices, which takes them from the tables."""
    script = DOCS.parent / "scripts" / "prices"
    check = subprocess.run([script, "--check"], capture_output=True, text=True)
    assert (check.stdout, check.stderr, check.returncode) == ("", "", 0)
    assert len(prices()) == 28


def test_choosing_quotes_these_prices() -> None:
    text = (DOCS / "choosing.md").read_text()
    (pbm,) = re.findall(r"hits ([\d.]+) % dearer in the mean, ([\d.]+) % in lookups", text)
    assert [float(value) for value in pbm] == [prices()["pbm"].mean, prices()["pbm"].lookups]
    rows = re.findall(r"\| `(\w+)`, `(\w+)` .*hits ([\d.]+) and ([\d.]+) % dearer", text)
    assert len(rows) == 2
    for one, other, *means in rows:
        assert [prices()[one].mean, prices()[other].mean] == [float(mean) for mean in means]


def test_memory_and_hits_have_prices() -> None:
    clock, arc = parse_policy("clock"), parse_policy("arc")
    assert memory_of(clock, 1000) == 0
    assert 64_000 <= memory_of(arc, 1000) <= 130_000
    assert price_of(arc.policy) == prices()["arc"]
    assert MeasuredPrice(lookups=5.1, mean=None, misses=None).hit_ns == pytest.approx(51)
    assert MeasuredPrice(lookups=-2.0, mean=None, misses=None).hit_ns == 0  # never a gain
    assert MeasuredPrice(lookups=None, mean=None, misses=None).hit_ns == 0


def test_every_price_is_told_also_where_it_is_nothing() -> None:
    same = Price(hits=1.5, hits_today=1.5, misses=0.97, misses_today=0.97)
    assert price_texts(same) == [
        "hits: none (lookups in memory take 1.5% longer than on stock PostgreSQL, as today)",
        "misses: none (0.97 of stock PostgreSQL's throughput where most lookups miss, as today)",
        "memory: none",
    ]
    other = Price(7.3, 1.5, 0.947, None, hits_ms=12.0, memory=-8192, ssd=8192)
    assert price_texts(other) == [
        "hits: lookups in memory take 7.3% longer than on stock PostgreSQL (today 1.5% longer),"
        " at most 12 ms in all",
        "misses: 0.95 of stock PostgreSQL's throughput where most lookups miss"
        " (today not measured)",
        "memory: 8 kB less",
        "an SSD: 8 kB",
    ]
    assert price_texts(Price())[:2] == ["hits: not measured", "misses: not measured"]


def test_the_price_of_pools_is_that_of_the_dearest() -> None:
    clock, arc = parse_policy("clock"), parse_policy("arc")
    one, two = (PoolSpec(name, spec, 64) for name, spec in (("one", clock), ("two", arc)))
    default, other = (prices()[name].lookups or 0.0 for name in ("clock", "arc"))
    # in a named pool the clock is 3 % slower than in DEFAULT, where it is PostgreSQL's own
    named = default + NAMED_CLOCK
    found = [price.lookups for price in prices_in(Setup(clock, 500, (one, two)))]
    assert found == [default, named, other]
    assert [price.lookups for price in prices_in(Setup(clock, 500))] == [default]
    length = 40_000
    pages, backends = interleaved([(1, uniform(1, 800, length // 4)), (2, loop(2, 420, length))])
    report = advise([recording(pages, backends)], Request(HDD))
    pools = next(each for each in report.advice if each.kind == "pools")
    assert pools.lines.sql[0].startswith("CREATE BUFFER POOL fenced HANDLER clock")
    assert (pools.price.hits, pools.price.hits_today) == (named, default)
    assert pools.price.hits_ms > 0
    text = html_page(report)
    for line in ("price, hits: ", "price, misses: ", "price, memory: "):
        assert text.count(line) == len(report.advice)
    assert f"hits: lookups in memory take {named:.1f}% longer than on stock PostgreSQL" in text


# ---- pages ----


HOSTILE = 'public."<script>alert(1)</script>&"'


def test_a_page_loads_nothing_and_escapes_names() -> None:
    length = 40_000
    pages, backends = interleaved([(1, uniform(1, 800, length // 4)), (2, loop(2, 420, length))])
    names = {1: HOSTILE, 2: 'public."\x1b[31mred"'}
    trace = recording(pages, backends, relations=names, name="<b>monday</b>")
    report = advise([trace], Request(HDD))
    text = html_page(report)
    assert "<script" not in text and "<b>" not in text and "\x1b" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//)""", text)
    assert "url(http" not in text and "@import" not in text
    assert "<svg" in text and "you are here" in text
    for advice in report.advice:
        assert advice.kind in ("algorithm", "pools", "size", "ssd")
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text


# ---- the verdict ----


def advice_of(kind: str, title: str, share: float, memory: int = 0) -> Advice:
    none = Errors(0.0, 0.0, 0.0)
    return Advice(kind, title, 100 * share, share, 1, 1.0, none, Price(memory=memory), Lines())


def report_of(*advice: Advice) -> Report:
    whole = advise([recording(page(1, np.arange(900) % 3))], Request(NVME))
    assert whole.advice == ()
    return replace(whole, advice=advice)


SETTING = advice_of("algorithm", "use lirs", 0.4)
HARDWARE = (advice_of("ssd", "put an SSD there", 0.9), advice_of("size", "raise it", 0.5, 8192))
LESS = advice_of("size", "lower it", -0.001, -8192)
EVIDENCE = "saves 2% of the read time, after its price and in both halves of the recording"
BOTH = "put an SSD there (saves 90.0%), or raise it (saves 50.0%)."


@pytest.mark.parametrize(
    ("advice", "text"),
    [
        ((), f"Change nothing: nothing {EVIDENCE}."),
        ((SETTING,), "Use lirs: saves 40.0% of the read time."),
        ((SETTING, *HARDWARE), f"Use lirs: saves 40.0% of the read time. With hardware: {BOTH}"),
        (HARDWARE, f"Change no algorithm and no pools: none {EVIDENCE}. Hardware does: "),
        ((LESS,), f"Nothing {EVIDENCE}. You can lower it."),
        ((HARDWARE[0], LESS), "Hardware does: put an SSD there (saves 90.0%). You can lower it."),
    ],
)
def test_the_verdict_names_all_that_is_advised(advice: tuple[Advice, ...], text: str) -> None:
    """It never says "nothing" above a list of what to do; nor does JSON or a page."""
    report = report_of(*advice)
    said = verdict(report)
    assert text in said
    assert said.startswith("Change nothing") == (not advice)
    for each in advice:
        assert each.title[1:] in said
    assert said in html_page(report)
    found = report.to_json()
    assert found["recommended"] == (0 if advice else None)
    needs = [each["needs"] for each in found["advice"]]
    assert needs == sorted(needs, key=NEEDS.index) and len(needs) == len(advice)


def test_less_memory_is_not_said_to_save_time() -> None:
    less = replace(LESS, halves=(-0.002, 0.0), read_ms=200.0)
    assert gain_text(less).startswith("reads take 200 ms, +0.1% ± 0.0 (")
    assert halves_text(less) == "in the first half +0.2%, in the second 0.0%"
    page = html_page(report_of(less))
    assert "saves" not in page[page.index("1. lower it") :] and "chosen by" not in page
    assert halves_text(SETTING) is None
    chosen_by = halves_text(replace(SETTING, halves=(0.5, 0.3)))
    assert chosen_by == "chosen by the first half (50.0%), verified on the second (30.0%)"


def test_no_reads_no_advice() -> None:
    trace = recording(page(1, np.zeros(100, np.int64)))
    (chunk,) = trace.chunks()
    assert chunk.flags is not None
    chunk.flags[:] |= np.uint16(Flag.HIT)
    assert verdict(advise([trace], Request(NVME))) == "Change nothing: no page was read."


# ---- devices ----


def test_reads_take_what_the_server_measured() -> None:
    pages = uniform(1, 4000, 20_000)
    measured = advise([recording(pages, reads=1000, read_time=250_000)])
    assert measured.where.device == "measured"
    assert measured.where.read_ms == pytest.approx(0.25 * measured.where.reads, rel=0.01)
    assert any("the server measured" in note for note in measured.notes)
    given = advise([recording(pages, reads=1000, read_time=250_000)], Request(SATA_SSD))
    assert given.where.device == "sata-ssd"
    assumed = advise([recording(pages)])
    assert assumed.where.device == "sata-ssd"
    assert any("sata-ssd is assumed" in note for note in assumed.notes)
