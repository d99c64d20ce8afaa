"""One server's recordings under study: what is tried, and whether it is worth its price."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from tidepool.advice.evidence import Prepared
from tidepool.advice.gains import Gain, Today
from tidepool.advice.prices import Price, memory_of, price_of
from tidepool.advice.setups import Outcome, Setup, evaluate
from tidepool.errors import PolicyError, TidepoolError
from tidepool.policies import PolicySpec, parse_policy
from tidepool.simulation.devices import Device
from tidepool.simulation.layouts import PoolSpec
from tidepool.traces.provenance import Recorded

LEAST = 0.02  # of today's read time: below, change nothing
WORST = -0.05  # the most that an eighth of a recording may lose, of an eighth's mean time

# shows how far some work is: a title and its steps; yields what is told of steps done
Bar = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


def no_bar(title: str, steps: int | None) -> AbstractContextManager[Callable[[int], None]]:
    """Show nothing."""
    return nullcontext(lambda done: None)


@dataclass(frozen=True)
class Verdict:
    """A setup, what it brings, and what it costs.

    Attributes:
        setup: what was tried.
        gain: read time.
        price_ms: what its hits cost more than today's, in milliseconds.
        memory: bytes of bookkeeping more than today's.
        outcome: of its replay.
    """

    setup: Setup
    gain: Gain
    price_ms: float
    memory: int
    outcome: Outcome

    @property
    def net_ms(self) -> float:
        """Time that is saved when hits have been paid for."""
        return self.gain.ms - self.price_ms

    @property
    def net_share(self) -> float:
        """Likewise, as a share of today's read time."""
        return self.net_ms / self.gain.today_ms if self.gain.today_ms else 0.0

    @property
    def chosen_by(self) -> float:
        """The net share by the first halves of the recordings alone, for choosing."""
        return self.gain.first - (self.gain.share - self.net_share)

    @property
    def holds(self) -> bool:
        """Whether the gain is worth it, and the second halves confirm it."""
        price = self.gain.share - self.net_share
        return (
            self.net_share >= LEAST
            and self.gain.second - price >= LEAST
            and self.gain.share > self.gain.errors.total
            and self.gain.worst >= WORST
        )


@dataclass
class Study:
    """Recordings of one server, and what was tried on them.

    Attributes:
        recordings: of the same server.
        device: what a read takes.
        today: today's setup.
        bar: how to show progress.
        workers: threads; None: as there are cores.
    """

    recordings: Sequence[Prepared]
    device: Device
    bar: Bar = no_bar
    workers: int | None = None
    today: Today = field(init=False)
    setup: Setup = field(init=False)
    _tried: dict[Setup, Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.setup = todays_setup(self.recordings)
        outcome = self._replay("replaying today's setup", [self.setup])[0]
        self.today = Today(self.recordings, outcome, self.device)

    @property
    def recorded(self) -> Recorded:
        """What the server ran."""
        return self.recordings[0].recorded

    @property
    def hits(self) -> float:
        """References that the server found resident."""
        references = sum(p.references / p.recorded.sample_rate for p in self.recordings)
        return max(0.0, references - self.today.reads)

    def replaced(self, prepared: Prepared) -> float:
        """Return how many times a recording has replaced what today's buffers hold."""
        return prepared.came_in(self.setup.ringed(prepared)) / self.setup.frames

    def tried(self, title: str, setups: Sequence[Setup]) -> list[Verdict]:
        """Return what each setup brings; what was tried before is not replayed again."""
        new = [each for each in dict.fromkeys(setups) if each not in self._tried]
        if new:
            for outcome in self._replay(title, new):
                self._tried[outcome.setup] = self._verdict(outcome)
        return [self._tried[each] for each in setups]

    def _replay(self, title: str, setups: Sequence[Setup]) -> list[Outcome]:
        rows = sum(len(each.chunk) for p in self.recordings for each in p.slices)
        with self.bar(title, rows * len(setups)) as advance:
            return evaluate(self.recordings, setups, advance, self.workers)

    def _verdict(self, outcome: Outcome) -> Verdict:
        setup = outcome.setup
        return Verdict(
            setup,
            self.today.gain(outcome),
            1e-6 * self.hits * (_hit_ns(setup) - _hit_ns(self.setup)),
            _memory(setup) - _memory(self.setup),
            outcome,
        )


def prices_in(setup: Setup) -> list[Price]:
    """Return the price of the algorithm of each pool, DEFAULT the first."""
    return [
        price_of(setup.spec.policy),
        *(
            price_of(pool.spec.policy).in_named_pool
            if pool.spec.policy.name == "clock"
            else price_of(pool.spec.policy)
            for pool in setup.pools
        ),
    ]


def _hit_ns(setup: Setup) -> float:
    """What a hit costs, in the pool where it costs most."""
    return max(price.hit_ns for price in prices_in(setup))


def _specs(setup: Setup) -> list[PolicySpec]:
    return [setup.spec, *(pool.spec for pool in setup.pools)]


def _memory(setup: Setup) -> int:
    if not setup.pools:
        return memory_of(setup.spec, setup.frames)
    # all buffers have room for the algorithm that needs most
    most = max(spec.policy.frame_bytes + _ghosts(spec) for spec in _specs(setup))
    return setup.frames * most


def _ghosts(spec: PolicySpec) -> int:
    return spec.policy.ghosts_per_frame * spec.policy.ghost_bytes


def todays_setup(recordings: Sequence[Prepared]) -> Setup:
    """Return what the server ran.

    Raises TidepoolError if the recordings are of servers that ran different things, or one
    that the simulator does not have.
    """
    first = recordings[0].recorded
    for prepared in recordings[1:]:
        other = prepared.recorded
        if (other.policy, other.buffers) != (first.policy, first.buffers):
            raise TidepoolError(
                f"{prepared.name}: recorded under {other.policy} with {other.buffers:,} buffers,"
                f" {recordings[0].name} under {first.policy} with {first.buffers:,}",
                "Ask for advice on each of them.",
            )
    try:
        if len(first.pools) < 2:
            return Setup(parse_policy(first.policy), first.buffers)
        default, *named = first.pools
        relations = _members(recordings[0])
        return Setup(
            parse_policy(default.policy_of_default),
            sum(pool.buffers for pool in first.pools),
            tuple(
                PoolSpec(
                    pool.name,
                    parse_policy(pool.policy),
                    pool.buffers,
                    relations.get(pool.number, ()),
                )
                for pool in named
            ),
        )
    except PolicyError as error:
        raise TidepoolError(
            f"{recordings[0].name}: recorded under an algorithm that the simulator does not have:"
            f" {error}"
        ) from None


def _members(prepared: Prepared) -> dict[int, tuple[int, ...]]:
    """Return the relations of each pool."""
    found: dict[int, list[int]] = {}
    for relation, pool in prepared.main_pools.items():
        found.setdefault(pool, []).append(relation)
    return {pool: tuple(sorted(relations)) for pool, relations in found.items()}
