"""Advice: another algorithm for the buffers that there are."""

from __future__ import annotations

from collections.abc import Sequence

from tidepool.advice.setups import Setup
from tidepool.advice.study import Study, Verdict
from tidepool.policies import parse_policy

# Those that a server can have with the default bufferpool.bytes_per_buffer, and of
# relatives the better by docs/benchmarks.md, "The baselines".
CANDIDATES = (
    "clock",
    "lru",
    "2q",
    "arc",
    "car",
    "lirs",
    "slru",
    "sieve",
    "s3fifo",
    "clock2q_plus",
    "watt",
    "w_tinylfu",
    "pbm",
)


def algorithm_setups(study: Study, frames: int) -> list[Setup]:
    """Return one pool of so many buffers under each candidate, today's algorithm the first."""
    specs = dict.fromkeys([study.setup.spec, *map(parse_policy, CANDIDATES)])
    return [Setup(spec, frames) for spec in specs]


HOPEFUL = 3  # of the candidates may be advised


def chosen(study: Study, tried: Sequence[Verdict]) -> Verdict:
    """Return the best that holds in the second halves, too; today's algorithm if none does."""
    (today,) = study.tried("", [study.setup])
    return next((each for each in tried[:HOPEFUL] if each.holds), today)


def tried_algorithms(study: Study) -> list[Verdict]:
    """Return what each algorithm would bring at today's size, the best first.

    The best is the one with the greatest gain in the first halves.
    """
    verdicts = study.tried("trying algorithms", algorithm_setups(study, study.setup.frames))
    return sorted(verdicts, key=lambda verdict: -verdict.chosen_by)
