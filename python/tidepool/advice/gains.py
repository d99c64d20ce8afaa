"""What a setup gains against today's: read time, with its errors.

Today's reads are the server's own.  Of another setup, the replay tells by
which factor they change: what the sample and the simulator get wrong about
today's setup they mostly get wrong about the other one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from tidepool.advice.evidence import GROUPS, PARTS, Counts, Prepared
from tidepool.advice.setups import Outcome
from tidepool.simulation.devices import Device

HALF = PARTS // 2


def price_of(device: Device) -> NDArray[np.float64]:
    """Return milliseconds for a random and for a sequential read."""
    return np.array([device.random_read, device.sequential_read]) / 1000


@dataclass(frozen=True)
class Errors:
    """Standard errors of a gain, as shares of today's read time.

    Attributes:
        sampling: of a sample of the pages.
        agreement: by how much the replay of today's setup differs from what the server did.
        spread: half of the difference between the halves of the recordings.
    """

    sampling: float
    agreement: float
    spread: float

    @property
    def total(self) -> float:
        """All of them together."""
        return math.sqrt(self.sampling**2 + self.agreement**2 + self.spread**2)

    def to_json(self) -> dict[str, float]:
        """Return it as JSON takes it."""
        return {**{k: round(v, 6) for k, v in asdict(self).items()}, "total": round(self.total, 6)}


@dataclass(frozen=True)
class Gain:
    """What a setup brings against today's.

    Attributes:
        share: of today's read time that is saved; negative: lost.
        first, second: likewise in the first and the second halves of the recordings.
        worst: the least in any eighth.
        reads, read_ms: what remains, scaled to all pages.
        today_ms: what today's setup takes.
        errors: of ``share``.
    """

    share: float
    first: float
    second: float
    worst: float
    reads: float
    read_ms: float
    today_ms: float
    errors: Errors

    @property
    def ms(self) -> float:
        """Read time that is saved."""
        return self.today_ms - self.read_ms


class Today:
    """Today's setup: what the server read, and what its replay did."""

    def __init__(self, recordings: Sequence[Prepared], replayed: Outcome, device: Device) -> None:
        self.recordings, self.replayed, self.device = recordings, replayed, device
        self._prices = price_of(device)
        self.live = np.array([prepared.live for prepared in recordings])
        scale = np.array([1 / prepared.recorded.sample_rate for prepared in recordings])
        self.reads = float((self.live.sum(axis=(1, 2, 3)) * scale).sum())
        self.read_ms = float(((self.live @ self._prices).sum(axis=(1, 2)) * scale).sum())
        self.rate = min(prepared.rate for prepared in recordings)
        self.agreement = self._agreement()

    def _agreement(self) -> float:
        live = sum(float((p.live_sample @ self._prices).sum()) for p in self.recordings)
        replayed = float((self.replayed.reads @ self._prices).sum())
        return abs(replayed - live) / live if live else 0.0

    def gain(self, other: Outcome) -> Gain:
        """Return what another setup brings."""
        before, after = self.replayed.reads @ self._prices, other.reads @ self._prices
        share = _share(before, after)
        first = _share(before[:, :HALF], after[:, :HALF])
        second = _share(before[:, HALF:], after[:, HALF:])
        parts = self._worst(before, after)
        reads = _share(self.replayed.reads, other.reads)
        errors = Errors(
            sampling=_sampling_error(before, after, self.rate),
            agreement=self.agreement,
            spread=abs(first - second) / 2,
        )
        return Gain(
            share, first, second, parts, (1 - reads) * self.reads, (1 - share) * self.read_ms,
            self.read_ms, errors,
        )  # fmt: skip

    @staticmethod
    def _worst(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
        """Return the least share saved in a part, as a share of the mean part's time."""
        usual = float(before.sum()) / max(1, before.shape[0] * PARTS)
        saved = (before - after).sum(axis=2)
        return float(saved.min()) / usual if usual else 0.0

    def relations(self, other: Outcome) -> list[tuple[int, float, float]]:
        """Return relations with their milliseconds today and then, those that change most first."""
        found = []
        scale = 1 / self.rate
        for relation in {*self.replayed.relations, *other.relations}:
            now, then = (
                scale * float(_of(outcome, relation) @ self._prices)
                for outcome in (self.replayed, other)
            )
            found.append((relation, now, then))
        return sorted(found, key=lambda each: -abs(each[2] - each[1]))


def _of(outcome: Outcome, relation: int) -> Counts:
    return outcome.relations.get(relation, np.zeros(2, np.int64))


def _share(before: NDArray[np.generic], after: NDArray[np.generic]) -> float:
    total = float(before.sum())
    return 1 - float(after.sum()) / total if total else 0.0


def _sampling_error(before: NDArray[np.float64], after: NDArray[np.float64], rate: float) -> float:
    """Return the standard error of the ratio of two sums, from its scatter between groups."""
    groups_before = before.sum(axis=(0, 1)).reshape(GROUPS)
    groups_after = after.sum(axis=(0, 1)).reshape(GROUPS)
    total = float(groups_before.sum())
    if total == 0 or rate >= 1:
        return 0.0
    ratio = float(groups_after.sum()) / total
    residuals = groups_after - ratio * groups_before
    return math.sqrt((1 - rate) * GROUPS * float(np.var(residuals, ddof=1))) / total
