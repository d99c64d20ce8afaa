"""What limits the advice that a recording can give."""

from __future__ import annotations

from collections.abc import Iterator

from tidepool.advice.devices import ASSUMED, Known
from tidepool.advice.evidence import Prepared
from tidepool.advice.sizes import SizeRow, is_known, turnover
from tidepool.advice.study import Study
from tidepool.amounts import percent

LEAST_READS = 500  # in the sample: below, chance decides
LEAST_FRAMES = 500  # of a sampled cache, for errors of about a point (tests/advice/)
UNNAMED = 0.02  # of the references
DISAGREES = 0.05  # of the read time


def notes_on(study: Study, known: Known, less: SizeRow | None = None) -> Iterator[str]:
    """Yield what to know about all of the advice, for people.

    ``less`` is the size that would have been enough for the recordings.
    """
    for prepared in study.recordings:
        name = f"{prepared.name}: " if len(study.recordings) > 1 else ""
        for note in _notes(prepared, study):
            yield name + note
    if less is not None and not is_known(study):
        yield _withheld(study, less)
    if study.recorded.policy != "clock":
        yield (
            f"recorded under {study.recorded.policy}: which references clients made, and in which"
            " order, was shaped by what it kept; under another algorithm they will differ a little"
        )
    if study.today.agreement > DISAGREES:
        yield (
            f"the replay of today's setup takes {percent(study.today.agreement, 0)} more or less"
            " read time than the server did, so other numbers may be off as far: a recording that"
            " begins with pg_bufferpool_reset() agrees better"
        )
    if study.setup.pools:
        yield (
            "the server has pools: sizes and algorithms are those of one pool instead, and the"
            " pools are replayed with the sizes that they had at the start"
        )
    if known == Known.MEASURED:
        yield (
            "what a read takes is the mean that the server measured; that random and sequential"
            f" ones differ as on a {ASSUMED.name} is assumed"
        )
    if known == Known.ASSUMED:
        yield (
            f"what a read takes was not given: {study.device.name} is assumed,"
            f" {study.device.random_read:g} and {study.device.sequential_read:g} µs for a random"
            " and a sequential page; --device changes it, or a recording with track_io_timing"
        )


def _notes(prepared: Prepared, study: Study) -> Iterator[str]:
    yield from prepared.recorded.flaws()
    replaced = study.replaced(prepared)
    if replaced < 1:
        reads = round(replaced * study.setup.frames)
        pages = "page was" if reads == 1 else "pages were"
        yield (
            f"too short: {reads:,} {pages} read into {study.setup.frames:,} buffers, not counting"
            " rings; record until they have been replaced once or twice"
        )
    yield from _notes_on_sample(prepared)
    known = prepared.named / prepared.references
    if known < 1 - UNNAMED:
        yield (
            f"{percent(1 - known, 0)} of the references are to relations without a name (of"
            " other databases, or dropped), which no advice on pools can assign: stop the recording"
            " in the database that matters"
        )


def _notes_on_sample(prepared: Prepared) -> Iterator[str]:
    """Yield what a sample lacks: what --sample has left, or the recording itself."""
    recorded = prepared.recorded
    if prepared.rate >= 1:
        return
    is_recorded = prepared.rate >= recorded.sample_rate
    more = "record a larger share of the pages" if is_recorded else "raise --sample"
    reads = int(prepared.live_sample.sum())
    if reads < LEAST_READS:
        yield f"the sample has {reads:,} reads: {more}, or record for longer"
    frames = round(prepared.rate * recorded.buffers)
    if frames < LEAST_FRAMES:
        yield (
            f"the sample has {frames:,} frames for {recorded.buffers:,} buffers, where"
            f" {LEAST_FRAMES} are wanted: {more}"
        )


def _withheld(study: Study, less: SizeRow) -> str:
    """Return why memory that was not missed cannot be given back."""
    text = (
        f"{percent(less.factor, 0)} of the buffers would have been enough for the recorded"
        " references; whether the rest can be given back is not known, since pages that were"
        " resident and not referenced may be wanted later."
    )
    needed = turnover(study)
    if needed is None:
        return f"{text} Only a recording under the clock can show it"
    replaced = min(map(study.replaced, study.recordings))
    return (
        f"{text} A recording shows it once all buffers have been replaced {needed} times"
        f" (here {replaced:.1f})"
    )
