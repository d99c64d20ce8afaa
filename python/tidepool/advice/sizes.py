"""Advice: another size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.advice.setups import Setup
from tidepool.advice.study import LEAST, Study, Verdict
from tidepool.policies import PolicySpec

FACTORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0)
LEAST_FRAMES = 16  # of a server: 128 kB
SMALLER = 0.8  # memory is given back in steps worth the restart
MOST_OF = 0.8  # of what the largest size gains, a size is enough that gains so much
LOST = 0.01  # of the read time, so much may be lost by giving memory back


@dataclass(frozen=True)
class SizeRow:
    """One size: what today's algorithm would do there, and the best one.

    Attributes:
        factor: of today's size.
        frames: buffers.
        today: today's algorithm (with pools: that of DEFAULT, in one pool).
        best: the best algorithm.
    """

    factor: float
    frames: int
    today: Verdict
    best: Verdict

    @property
    def here(self) -> bool:
        """Whether it is today's size."""
        return self.factor == 1.0


def size_rows(study: Study, best: PolicySpec, most: int | None) -> list[SizeRow]:
    """Return the sizes from 10 to 200 % of today's, and ``most`` if that is another one."""
    frames = {factor: round(factor * study.setup.frames) for factor in FACTORS}
    if most is not None:
        frames[most / study.setup.frames] = most
    frames = {f: size for f, size in sorted(frames.items()) if size >= LEAST_FRAMES or f == 1}
    specs = [study.setup.spec, best]
    setups = [_setup(study, spec, size) for size in frames.values() for spec in specs]
    verdicts = iter(study.tried("trying sizes", setups))
    return [SizeRow(f, size, next(verdicts), next(verdicts)) for f, size in frames.items()]


def _setup(study: Study, spec: PolicySpec, frames: int) -> Setup:
    if frames == study.setup.frames and spec == study.setup.spec:
        return study.setup
    return Setup(spec, frames)


def larger(study: Study, rows: Sequence[SizeRow], most: int | None) -> SizeRow | None:
    """Return the smallest size that brings most of what more memory brings; None if little.

    ``most`` is how much there is; without it, up to twice today's.
    """
    found = [row for row in rows if row.factor > 1 and (most is None or row.frames <= most)]
    found = [row for row in found if row.today.holds]
    if not found:
        return None
    enough = MOST_OF * max(row.today.chosen_by for row in found)
    return next(row for row in found if row.today.chosen_by >= enough)


def turnover(study: Study) -> int | None:
    """Return how many times buffers must be replaced before a recording has seen all they hold.

    A page that was resident when the recording began and was not referenced
    since is unknown, not useless: a report may want it in an hour, and find it.
    This is ruled out once today's buffers have evicted every such page.  The
    clock's hand has done that after ``max_usage`` + 1 rounds.  In these it evicts from
    a buffer at most every (``initial`` + 1)th time it comes by: so PostgreSQL's clock
    has evicted all such pages when three times as many have come in as there are
    buffers.  None for other algorithms: many protect pages that nobody references
    from those that come in.
    """
    spec = study.setup.spec
    if spec.policy.name != "clock":
        return None
    values = spec.params()
    return math.ceil((values["max_usage"] + 1) / (values["initial"] + 1))


def is_known(study: Study) -> bool:
    """Whether the recordings have seen all that today's buffers hold."""
    needed = turnover(study)
    return needed is not None and all(study.replaced(p) >= needed for p in study.recordings)


def smaller(study: Study, rows: Sequence[SizeRow]) -> SizeRow | None:
    """Return the smallest size at which today's algorithm reads hardly more than today.

    None where more memory would pay, or buffers are divided among pools.  Whether
    that is so beyond what was recorded, is_known says.
    """
    if study.setup.pools or larger(study, rows, None) is not None:
        return None
    found = None
    for row in sorted(rows, key=lambda row: -row.factor):
        if row.factor >= 1:
            continue
        gain = row.today.gain
        if min(gain.share, gain.first, gain.second) < -LOST or gain.worst < -2 * LEAST:
            break
        found = row
    return found if found is not None and found.factor <= SMALLER else None
