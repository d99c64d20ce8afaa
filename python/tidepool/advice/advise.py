"""From recordings to advice: what is tried in which order, and what is worth saying."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidepool.advice.algorithms import chosen, tried_algorithms
from tidepool.advice.curves import Unit
from tidepool.advice.devices import device_of
from tidepool.advice.evidence import Prepared, default_rate, prepare
from tidepool.advice.gains import Errors
from tidepool.advice.limits import notes_on
from tidepool.advice.pool_sizes import remainder, tried_sizes
from tidepool.advice.pools import FENCED, tried_pools
from tidepool.advice.report import (
    NEEDS,
    Advice,
    Price,
    Relation,
    Report,
    SizeLine,
    SizePoint,
    Tried,
    Where,
)
from tidepool.advice.setups import Setup
from tidepool.advice.sizes import SizeRow, is_known, larger, size_rows, smaller
from tidepool.advice.sql import (
    Lines,
    algorithm_settings,
    pool_lines,
    resized,
    size_setting,
    size_text,
    without_pools,
)
from tidepool.advice.ssd import MEMORY, SsdRow, enough, is_faster, ssd_rows
from tidepool.advice.study import LEAST, Bar, Study, Verdict, no_bar, prices_in
from tidepool.amounts import megabytes, percent
from tidepool.simulation.devices import NVME, Device
from tidepool.simulation.layouts import PoolSpec
from tidepool.simulation.sizes import PAGE_BYTES
from tidepool.traces.model import Trace

NAMED = 5  # relations that an advice names


@dataclass(frozen=True)
class Request:
    """What is asked.

    Attributes:
        device: what the server's disk takes for a read; None: as measured, or assumed.
        ssd: the SSD that might be bought.
        memory: the most buffers that there could be; None: nobody said.
        rate: share of the pages to replay; None: by the length of the recordings.
        seed: of the sample.
        workers: threads.
    """

    device: Device | None = None
    ssd: Device = NVME
    memory: int | None = None
    rate: float | None = None
    seed: int = 0
    workers: int | None = None


def advise(traces: Sequence[Trace], request: Request | None = None, bar: Bar = no_bar) -> Report:
    """Return advice for the server that made these recordings.

    Raises TidepoolError if it is not one server's, or something is no recording.
    """
    request = request or Request()
    recordings = [_prepared(trace, request, bar) for trace in traces]
    device, known = device_of(recordings, request.device)
    study = Study(_of_one_server(recordings), device, bar, request.workers)
    algorithms = tried_algorithms(study)
    best = chosen(study, algorithms)
    rows = size_rows(study, best.setup.spec, request.memory)
    found = [
        *_algorithm_advice(study, best),
        *_pool_advice(study, best),
        *_pool_size_advice(study),
    ]
    # nobody who uses memory better has too much of it
    less = None if found else smaller(study, rows)
    found += _memory_advice(study, rows, request.memory)
    if less is not None and is_known(study):
        found.append(_less_memory(study, less))
    found += _ssd_advice(study, traces, request, bar)
    found.sort(key=_order)
    return Report(
        recordings=tuple(prepared.name for prepared in recordings),
        where=_where(study),
        best=str(best.setup.spec),
        sizes=tuple(_size_line(row) for row in rows),
        advice=tuple(found),
        notes=tuple(notes_on(study, known, less)),
        sample_rate=study.today.rate,
        least=LEAST,
        tried=tuple(
            Tried(str(each.setup.spec), each.gain.share, round(each.gain.reads))
            for each in algorithms
        ),
    )


def _order(advice: Advice) -> tuple[int, float]:
    """Return what sorts advice: what it needs, then the time that it saves after its price."""
    return NEEDS.index(advice.needs), -(advice.gain_ms - advice.price.hits_ms)


def _prepared(trace: Trace, request: Request, bar: Bar) -> Prepared:
    rate = request.rate or 1.0
    if request.rate is None and trace.recorded is not None:
        recorded = trace.recorded
        rate = default_rate(trace.length or 0, recorded.buffers, recorded.sample_rate)
    with bar(f"reading {trace.name}", trace.length) as advance:
        return prepare(trace, rate, request.seed, advance)


def _of_one_server(recordings: Sequence[Prepared]) -> list[Prepared]:
    """Return the recordings with the same numbers for relations of the same names."""
    found = [recordings[0]]
    numbers = {name: n for n, name in found[0].names.items()}
    for each in recordings[1:]:
        free = 1 + max(n for known in found for n in (*known.blocks, *known.names, 0))
        found.append(each.renumbered(numbers, free))
    return found


def _where(study: Study) -> Where:
    recordings, today, recorded = study.recordings, study.today, study.recorded
    references = sum(p.references / p.recorded.sample_rate for p in recordings)
    sequential = float(today.live[..., 1].sum() / max(1, today.live.sum()))
    # new blocks are neither hits nor reads
    new = sum((p.new_blocks / p.recorded.sample_rate for p in recordings), 0.0)
    return Where(
        server=recorded.server_version,
        algorithm=str(study.setup.spec),
        pools=tuple(pool.name for pool in study.setup.pools),
        frames=study.setup.frames,
        pages=round(max(prepared.pages / prepared.rate for prepared in recordings)),
        references=round(references),
        hit_ratio=1 - (today.reads + new) / references,
        reads=round(today.reads),
        read_ms=today.read_ms,
        sequential=sequential,
        seconds=sum(prepared.seconds for prepared in recordings),
        device=study.device.name,
        random_us=study.device.random_read,
        sequential_us=study.device.sequential_read,
        agreement=today.agreement,
    )


def _size_line(row: SizeRow) -> SizeLine:
    return SizeLine(row.factor, row.frames, _point(row.today), _point(row.best), row.here)


def _point(verdict: Verdict) -> SizePoint:
    return SizePoint(round(verdict.gain.reads), verdict.gain.read_ms, verdict.gain.errors.total)


# ---- kinds ----


def _algorithm_advice(study: Study, best: Verdict) -> list[Advice]:
    if best.setup == study.setup or not best.holds:
        return []
    spec, pools = best.setup.spec, study.setup.pools
    lines = Lines(algorithm_settings(spec, study.setup.spec))
    title = f"use {spec} instead of {study.setup.spec}"
    if pools:
        lines = without_pools(spec, study.setup.spec, [pool.name for pool in pools])
        title = f"give up the pools: one for everything, under {spec}"
    return [_advice(study, "algorithm", title, best, lines, (spec.policy.title,))]


def _memory_advice(study: Study, rows: Sequence[SizeRow], memory: int | None) -> list[Advice]:
    if study.setup.pools:
        return []  # how its pools divide the buffers is another question
    row = larger(study, rows, memory)
    if row is None:
        return []
    title = f"raise shared_buffers from {megabytes(study.setup.frames)} to {megabytes(row.frames)}"
    return [_advice(study, "size", title, row.today, Lines((size_setting(row.frames),)))]


def _less_memory(study: Study, row: SizeRow) -> Advice:
    today = study.setup.frames
    title = f"lower shared_buffers from {megabytes(today)} to {megabytes(row.frames)}"
    title += f", and give {megabytes(today - row.frames)} back"
    return _advice(study, "size", title, row.today, Lines((size_setting(row.frames),)))


def _pool_advice(study: Study, best: Verdict) -> list[Advice]:
    # a pool must be kept right by hand: each has to beat what needs less care
    bar = max(0.0, best.net_share) if best.holds else 0.0
    found = None
    for apart in tried_pools(study, best.setup.spec):
        if apart.verdict.holds and apart.verdict.net_share >= bar + LEAST:
            found, bar = apart, apart.verdict.net_share
    if found is None:
        return []
    setup = found.verdict.setup
    names = [[unit.name for unit in units] for units in found.units]
    lines = pool_lines(setup.spec, study.setup.spec, setup.pools, names)
    title = ", and ".join(map(_apart, setup.pools, found.units))
    if setup.spec != study.setup.spec:
        title += f", with {setup.spec} for the rest"
    return [_advice(study, "pools", title, found.verdict, lines)]


def _apart(pool: PoolSpec, units: Sequence[Unit]) -> str:
    doing = "fence off" if pool.name.startswith(FENCED) else "protect"
    return f"{doing} {_listed(units)} in a pool of {megabytes(pool.frames)} under {pool.spec}"


def _pool_size_advice(study: Study) -> list[Advice]:
    verdict = next(iter(tried_sizes(study)), None)
    if verdict is None or not verdict.holds:
        return []
    changed = [
        (before, after)
        for before, after in zip(study.setup.pools, verdict.setup.pools, strict=True)
        if after.frames != before.frames and after.name != remainder(study)
    ]
    changes = ", ".join(
        f"{after.name} {megabytes(after.frames)} instead of {megabytes(before.frames)}"
        for before, after in changed
    )
    title = f"divide the buffers otherwise: {changes}"
    return [_advice(study, "pools", title, verdict, resized(changed))]


def _listed(units: Sequence[Unit]) -> str:
    names = [unit.name for unit in units[:2]]
    more = len(units) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _ssd_advice(study: Study, traces: Sequence[Trace], request: Request, bar: Bar) -> list[Advice]:
    sampled = any(prepared.recorded.sample_rate < 1 for prepared in study.recordings)
    if sampled or study.setup.pools or not is_faster(request.ssd, study.device):
        return []
    row = enough(ssd_rows(study, traces, request.ssd, bar))
    if row is None:
        return []
    size = size_text(row.frames)
    today = study.today
    return [
        Advice(
            kind="ssd",
            title=f"put an SSD tier of {megabytes(row.frames)} below memory",
            gain_ms=row.share * today.read_ms,
            share=row.share,
            reads=round(today.reads),
            read_ms=(1 - row.share) * today.read_ms,
            errors=Errors(0.0, today.agreement, abs(row.first - row.second) / 2),
            price=_price(study, study.setup, 0.0, row.frames * MEMORY, row.frames * PAGE_BYTES),
            lines=Lines(
                ("bufferpool.ssd_path = '/path/on/the/ssd'", f"bufferpool.ssd_size = '{size}'")
            ),
            why=_ssd_why(row, request.ssd),
            halves=(row.first, row.second),
        )
    ]


def _ssd_why(row: SsdRow, ssd: Device) -> tuple[str, ...]:
    return (
        f"an SSD like {ssd.name} serves {percent(row.hit_ratio, 0)} of the reads",
        f"written to it: {row.written_per_tb / 1e9:.0f} GB for a TB that is read",
    )


def _advice(
    study: Study, kind: str, title: str, verdict: Verdict, lines: Lines, why: tuple[str, ...] = ()
) -> Advice:
    gain = verdict.gain
    buffers = verdict.setup.frames - study.setup.frames
    memory = verdict.memory + buffers * PAGE_BYTES
    return Advice(
        kind=kind,
        title=title,
        gain_ms=gain.ms,
        share=gain.share,
        reads=round(gain.reads),
        read_ms=gain.read_ms,
        errors=gain.errors,
        price=_price(study, verdict.setup, max(0.0, verdict.price_ms), memory),
        lines=lines,
        why=why,
        relations=_relations(study, verdict),
        halves=(gain.first, gain.second),
    )


def _price(study: Study, setup: Setup, hits_ms: float, memory: int, ssd: int = 0) -> Price:
    """Return a price: of hits and misses what it is in the pool where it is highest."""
    then, today = prices_in(setup), prices_in(study.setup)
    return Price(
        hits=_highest(price.lookups for price in then),
        hits_today=_highest(price.lookups for price in today),
        misses=_lowest(price.misses for price in then),
        misses_today=_lowest(price.misses for price in today),
        hits_ms=hits_ms,
        memory=memory,
        ssd=ssd,
    )


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _lowest(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _relations(study: Study, verdict: Verdict) -> tuple[Relation, ...]:
    names = {n: name for p in reversed(study.recordings) for n, name in p.names.items()}
    found = []
    for number, before, after in study.today.relations(verdict.outcome)[:NAMED]:
        if not math.isclose(before, after, rel_tol=0.01):
            found.append(Relation(names.get(number, f"relation {number}"), before, after))
    return tuple(found)
