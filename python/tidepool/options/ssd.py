"""Tiers on an SSD, as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidepool.errors import TidepoolError
from tidepool.options.input import Input
from tidepool.options.values import GivenSize, items_of
from tidepool.simulation import Device, Ssd, SsdPolicySpec, relation_numbers
from tidepool.simulation.ssd import KEEP_SHARE, NO_SSD
from tidepool.traces import Trace

CHOICES = ("auto", "keep", "none")


@dataclass(frozen=True)
class RelationChoice:
    """What a relation wants of the SSD: ``WITH (ssd_tier = …)``."""

    relation: str
    choice: str


def parse_choice(text: str) -> RelationChoice:
    """Return what RELATION=keep or RELATION=none says."""
    relation, equals, choice = (part.strip() for part in text.rpartition("="))
    if not equals or not relation or choice not in CHOICES:
        raise TidepoolError(
            f'invalid choice "{text}"', "Write it as RELATION=keep, =none or =auto: orders=keep."
        )
    return RelationChoice(relation, choice)


def parse_choices(text: str) -> tuple[RelationChoice, ...]:
    """Return the choices of a list: orders=keep,log=none."""
    return tuple(parse_choice(item) for item in items_of(text, "choice"))


def chosen(
    trace: Trace, choices: Sequence[RelationChoice]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the relations of a trace to be kept on the SSD, and those left out.

    The last word on a relation counts.
    """
    wanted = {}
    for each in choices:
        (number,) = relation_numbers(trace, [each.relation])
        wanted[number] = each.choice

    def those(choice: str) -> frozenset[int]:
        return frozenset(number for number, wants in wanted.items() if wants == choice)

    return those("keep"), those("none")


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
    choices: tuple[RelationChoice, ...] = ()
    keep_share: float = KEEP_SHARE

    def __post_init__(self) -> None:
        sized = any(spec.policy != NO_SSD for spec in self.specs)
        if sized and not self.frames:
            raise TidepoolError("no size of the SSD is given", "Give --ssd-frames.")
        if self.frames and not self.specs:
            raise TidepoolError("no policy on the SSD is given", "Give --ssd-policy.")
        some = frozenset([0] if self.choices else [])
        for tier in self._tiers(lambda size: 1):
            if tier is not None and tier.spec.policy != NO_SSD:
                replace(tier, keep=some, keep_share=self.keep_share)  # raises, as _tiers does

    @property
    def budgets(self) -> tuple[float, float]:
        """MB that may be written to the SSD, in a second and in a day."""
        return self.write_budget, self.write_budget_per_day * 1024

    def ssds(self, input: Input) -> list[Ssd | None]:
        """Return the tiers below a trace; ``None``, alone, if none is asked for."""
        keep, left_out = chosen(input.trace, self.choices)
        return [
            tier
            if tier is None or tier.spec.policy == NO_SSD
            else replace(tier, keep=keep, left_out=left_out, keep_share=self.keep_share)
            for tier in self._tiers(input.frames)
        ]

    def _tiers(self, resolve: Callable[[GivenSize], int]) -> list[Ssd | None]:
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
