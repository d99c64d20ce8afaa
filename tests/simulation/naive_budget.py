"""A write budget in plain Python, as core/include/tidepool/tier/budget.h has it."""

from __future__ import annotations

from dataclasses import dataclass, field

SECONDS = 10  # that a purse has room for
STEEPNESS = 8
HOUR = 3600 * 10**6


def price_of(fill: float) -> float:
    """What a write costs from a purse that is so full, in random reads."""
    if fill >= 0.5:
        return 0.0
    x = min(STEEPNESS * (0.5 / max(fill, 0.01) - 1), 60.0)
    return 2.0 ** int(x) * (1 + x - int(x)) - 1


@dataclass
class Budget:
    """Pages a second, and a day; 0 for any number."""

    rate: float
    per_day: float
    purse: float = 0
    now: int = 0
    written: list[int] = field(default_factory=list)  # the hour of each page

    def __post_init__(self) -> None:
        self.purse = self.room

    @property
    def room(self) -> float:
        return max(2.0, self.rate * SECONDS)

    def advance(self, now: int) -> None:
        self.purse = min(self.room, self.purse + (now - self.now) / 1e6 * self.rate)
        self.now = now

    def spend(self) -> None:
        self.purse -= self.rate > 0
        self.written.append(self.now // HOUR)

    def price(self) -> float:
        prices = [0.0]
        if self.rate > 0:
            prices.append(price_of(self.purse / self.room))
        if self.per_day > 0:
            today = sum(hour > self.now // HOUR - 24 for hour in self.written)
            prices.append(price_of(1 - today / self.per_day))
        return max(prices)
