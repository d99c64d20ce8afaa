"""What advice consists of: where a server is, what sizes would bring, and what to change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tidepool.advice.gains import Errors
from tidepool.advice.prices import SOURCE
from tidepool.advice.sql import Lines

# what an advice needs, in the order of a report
SETTINGS, HARDWARE, LESS_MEMORY = NEEDS = ("settings", "hardware", "less memory")


@dataclass(frozen=True)
class Where:
    """Where the server is.

    Attributes:
        server: PostgreSQL's version.
        algorithm: with its parameters; with pools, DEFAULT's.
        pools: names of pools beside DEFAULT.
        frames: buffers.
        pages: distinct pages referenced, an estimate from the sample.
        references: to pages; hit_ratio: of them.
        reads: pages read; read_ms: what that takes, by the device.
        sequential: share of the reads that are read ahead.
        seconds: that were recorded.
        device: random_us, sequential_us: what its reads take.
        agreement: by how much the replay's read time differs from the server's.
    """

    server: str
    algorithm: str
    pools: tuple[str, ...]
    frames: int
    pages: int
    references: int
    hit_ratio: float
    reads: int
    read_ms: float
    sequential: float
    seconds: float
    device: str
    random_us: float
    sequential_us: float
    agreement: float


@dataclass(frozen=True)
class SizePoint:
    """Reads and read time under one algorithm in one size; error: of the time, a share of it."""

    reads: int
    read_ms: float
    error: float


@dataclass(frozen=True)
class SizeLine:
    """A size, with today's algorithm and with the best."""

    factor: float
    frames: int
    today: SizePoint
    best: SizePoint
    here: bool


@dataclass(frozen=True)
class Price:
    """What an advice costs.

    Attributes:
        hits: percent that lookups in memory are slower than on PostgreSQL as it comes, in the
            pool where they are slowest; hits_today: as the server is; None: not measured.
        misses: throughput where most lookups miss, as a multiple of PostgreSQL's, in the pool
            where it is lowest; misses_today: likewise.
        hits_ms: what the recorded hits would have cost more than today, at most.
        memory: bytes more than today, buffers and bookkeeping.
        ssd: bytes of an SSD.
    """

    hits: float | None = None
    hits_today: float | None = None
    misses: float | None = None
    misses_today: float | None = None
    hits_ms: float = 0.0
    memory: int = 0
    ssd: int = 0


@dataclass(frozen=True)
class Relation:
    """A relation whose read time changes."""

    name: str
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class Advice:
    """One thing to change, alone.

    Attributes:
        kind: algorithm, size, pools or ssd.
        title: what to do, in a line, with sizes for people; ``lines`` have PostgreSQL's.
        why: further lines for people.
        gain_ms: read time saved, of the recorded time; share: of today's.
        reads, read_ms: what remains.
        errors: of ``share``.
        price: what it costs.
        lines: to paste.
        relations: whose read time changes most.
        halves: share saved in the first and in the second halves of the recordings.
    """

    kind: str
    title: str
    gain_ms: float
    share: float
    reads: int | None
    read_ms: float
    errors: Errors
    price: Price
    lines: Lines
    why: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    halves: tuple[float, float] | None = None

    @property
    def needs(self) -> str:
        """What it takes, one of NEEDS."""
        if self.kind in ("algorithm", "pools"):
            return SETTINGS
        return LESS_MEMORY if self.kind == "size" and self.price.memory < 0 else HARDWARE

    @property
    def gives_back(self) -> bool:
        """Whether it frees memory rather than saving time."""
        return self.needs == LESS_MEMORY


@dataclass(frozen=True)
class Tried:
    """An algorithm at today's size: the share of the read time that it saves, and its reads."""

    algorithm: str
    share: float
    reads: int


@dataclass(frozen=True)
class Report:
    """The whole.

    Attributes:
        recordings: their names.
        where: where the server is.
        sizes: table of sizes; best: the algorithm of its second half.
        advice: what to change, by what it needs, that which saves most first; each alone.
        notes: what limits all of it.
        sample_rate: of the pages that were replayed.
        least: share of the read time below which nothing is advised.
        tried: every algorithm at today's size, the best first.
    """

    recordings: tuple[str, ...]
    where: Where
    best: str
    sizes: tuple[SizeLine, ...]
    advice: tuple[Advice, ...]
    notes: tuple[str, ...]
    sample_rate: float
    least: float
    tried: tuple[Tried, ...] = ()

    @property
    def recommended(self) -> Advice | None:
        """What to do first: what needs settings alone comes before hardware; None: nothing."""
        return self.advice[0] if self.advice else None

    @property
    def by_settings(self) -> Advice | None:
        """The best that needs settings alone, if there is any."""
        return next((each for each in self.advice if each.needs == SETTINGS), None)

    def in_groups(self) -> dict[str, list[tuple[int, Advice]]]:
        """Return what is advised, with its number from 1, by what it needs."""
        groups: dict[str, list[tuple[int, Advice]]] = {}
        for numbered in enumerate(self.advice, 1):
            groups.setdefault(numbered[1].needs, []).append(numbered)
        return groups

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "recordings": list(self.recordings),
            "where": _rounded(asdict(self.where)),
            "best": self.best,
            "sizes": [_rounded(asdict(line)) for line in self.sizes],
            "advice": [_advice_json(each) for each in self.advice],
            "recommended": 0 if self.advice else None,
            "algorithms": [_rounded(asdict(each)) for each in self.tried],
            "notes": list(self.notes),
            "sample_rate": self.sample_rate,
            "least": self.least,
            "prices": SOURCE,
        }


def _advice_json(advice: Advice) -> dict[str, Any]:
    found: dict[str, Any] = _rounded(asdict(advice))
    found["errors"] = advice.errors.to_json()
    return {"kind": found.pop("kind"), "needs": advice.needs, **found}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
