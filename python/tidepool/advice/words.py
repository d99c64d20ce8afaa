"""Numbers and sentences that the renderers share."""

from __future__ import annotations

from collections.abc import Callable

from tidepool.advice.report import (
    HARDWARE,
    LESS_MEMORY,
    SETTINGS,
    Advice,
    Price,
    Report,
    Where,
)
from tidepool.amounts import byte_size, count, duration, megabytes, percent, percent_change

GROUPS = {
    SETTINGS: "With settings alone",
    HARDWARE: "With hardware",
    LESS_MEMORY: "With less memory",
}


def milliseconds(ms: float) -> str:
    """Return a read time with its unit."""
    if abs(ms) < 10_000:
        return f"{ms:,.3g} ms" if abs(ms) < 1000 else f"{ms:,.0f} ms"
    return f"{ms / 1000:,.0f} s"


def verdict(report: Report) -> str:
    """Return the whole in a sentence or two: the best of each group, and what saves nothing."""
    if report.where.reads == 0:
        return "Change nothing: no page was read."
    groups = report.in_groups()
    hardware = ", or ".join(
        f"{each.title} (saves {percent(each.share, 1)})" for _, each in groups.get(HARDWARE, [])
    )
    worth = f"saves {percent(report.least, 0)} of the read time, after its price"
    worth += " and in both halves of the recording"
    best = report.by_settings
    if best is not None:
        text = f"{_sentence(best.title)}: saves {percent(best.share, 1)} of the read time."
        return f"{text} With hardware: {hardware}." if hardware else text
    if hardware:
        text = f"Change no algorithm and no pools: none {worth}. Hardware does: {hardware}."
    elif LESS_MEMORY in groups:
        text = f"Nothing {worth}."
    else:
        text = f"Change nothing: nothing {worth}."
    for _, each in groups.get(LESS_MEMORY, []):
        text += f" You can {each.title}."
    return text


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def where_rows(where: Where) -> list[tuple[str, str]]:
    """Return what a server is, a label and a text each."""
    pools = f", pools {', '.join(where.pools)}" if where.pools else ""
    return [
        ("server", f"PostgreSQL {where.server}, {where.algorithm}{pools}"),
        ("buffers", f"{count(where.frames)} ({megabytes(where.frames)})"),
        ("pages used", f"{count(where.pages)} ({megabytes(where.pages)})"),
        ("recorded", f"{count(where.references)} references in {duration(where.seconds)}"),
        ("hit ratio", percent(where.hit_ratio)),
        ("reads", f"{count(where.reads)}, {percent(where.sequential, 0)} of them sequential"),
        ("read time", f"{milliseconds(where.read_ms)} ({device_text(where)})"),
        ("replay", f"differs from the server by {percent(where.agreement, 1)} of the read time"),
    ]


def device_text(where: Where) -> str:
    """Return what a read takes."""
    name = "" if where.device.startswith("network:") else f"{where.device}: "
    return f"{name}{where.random_us:g} µs random, {where.sequential_us:g} µs sequential"


def gain_text(advice: Advice) -> str:
    """Return what an advice saves, and how sure that is."""
    errors = advice.errors
    parts = [
        f"{name} {100 * value:.1f}"
        for name, value in (
            ("sample", errors.sampling),
            ("agreement", errors.agreement),
            ("halves", errors.spread),
        )
    ]
    change = f"{percent_change(-advice.share)} ± {100 * errors.total:.1f} ({', '.join(parts)})"
    if advice.gives_back:
        return f"reads take {milliseconds(advice.read_ms)}, {change}"
    return f"saves {milliseconds(advice.gain_ms)} of reads, {change}"


def halves_text(advice: Advice) -> str | None:
    """Return what the halves of the recordings say."""
    if advice.halves is None:
        return None
    if advice.gives_back:
        first, second = (percent_change(-half) for half in advice.halves)
        return f"in the first half {first}, in the second {second}"
    first, second = (percent(half, 1) for half in advice.halves)
    return f"chosen by the first half ({first}), verified on the second ({second})"


def reads_text(advice: Advice, report: Report) -> str:
    """Return the reads before and after."""
    if advice.reads is None or advice.kind == "ssd":
        return f"{count(report.where.reads)} reads as today, some from the SSD"
    return f"{count(report.where.reads)} → {count(advice.reads)} reads"


def price_texts(price: Price) -> list[str]:
    """Return what an advice costs, of hits, of misses and of memory, also where that is nothing."""
    found = [_hits_text(price), _misses_text(price), _memory_text(price.memory)]
    if price.ssd:
        found.append(f"an SSD: {byte_size(price.ssd)}")
    return found


def _hits_text(price: Price) -> str:
    if price.hits is None:
        return "hits: not measured"
    text = f"lookups in memory take {_longer(price.hits)} than on stock PostgreSQL"
    if price.hits == price.hits_today:
        return f"hits: none ({text}, as today)"
    today = _today(price.hits_today, _longer)
    return f"hits: {text} ({today}), at most {milliseconds(price.hits_ms)} in all"


def _misses_text(price: Price) -> str:
    if price.misses is None:
        return "misses: not measured"
    text = f"{price.misses:.2f} of stock PostgreSQL's throughput where most lookups miss"
    if price.misses == price.misses_today:
        return f"misses: none ({text}, as today)"
    return f"misses: {text} ({_today(price.misses_today, '{:.2f}'.format)})"


def _longer(per_cent: float) -> str:
    return f"{abs(per_cent):.1f}% {'longer' if per_cent >= 0 else 'shorter'}"


def _today(value: float | None, text: Callable[[float], str]) -> str:
    return "today not measured" if value is None else f"today {text(value)}"


def _memory_text(memory: int) -> str:
    if memory == 0:
        return "memory: none"
    return f"memory: {byte_size(abs(memory))} {'more' if memory > 0 else 'less'}"
