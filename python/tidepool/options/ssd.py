"""Tiers on an SSD, as they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidepool.errors import TidepoolError
from tidepool.options.values import GivenSize
from tidepool.simulation import Device, Ssd, SsdPolicySpec
from tidepool.simulation.ssd import NO_SSD


@dataclass(frozen=True)
class SsdOptions:
    """The SSD tiers that are asked for: every policy with every size."""

    specs: tuple[SsdPolicySpec, ...]
    frames: tuple[GivenSize, ...]
    disk: Device
    device: Device
    write: str
    write_buffer: int
    admit: str = "read"
    write_budget: float = 0.0
    write_budget_per_day: float = 0.0

    def __post_init__(self) -> None:
        sized = any(spec.policy != NO_SSD for spec in self.specs)
        if sized and not self.frames:
            raise TidepoolError("no size of the SSD is given", "Give --ssd-frames.")
        if self.frames and not self.specs:
            raise TidepoolError("no policy on the SSD is given", "Give --ssd-policy.")
        self.ssds(lambda size: 1)  # raises for options that exclude each other

    @property
    def budgets(self) -> tuple[float, float]:
        """MB that may be written to the SSD, in a second and in a day."""
        return self.write_budget, self.write_budget_per_day * 1024

    def ssds(self, resolve: Callable[[GivenSize], int]) -> list[Ssd | None]:
        """Return the tiers; ``None``, alone, if none is asked for."""
        tiers: list[Ssd | None] = []
        for spec in dict.fromkeys(self.specs):
            sizes = [0] if spec.policy == NO_SSD else [resolve(size) for size in self.frames]
            tiers += [
                Ssd(
                    spec,
                    size,
                    self.disk,
                    self.device,
                    self.write == "back",
                    self.write_buffer,
                    *((0.0, 0.0) if spec.policy == NO_SSD else self.budgets),
                    at_eviction=self.admit == "eviction" and spec.policy != NO_SSD,
                )
                for size in dict.fromkeys(sizes)
            ]
        return tiers or [None]
