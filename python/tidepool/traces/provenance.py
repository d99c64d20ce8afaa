"""The server that recorded a trace: what it ran, and what the recording lacks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypeVar

T = TypeVar("T")

# what a server with this algorithm for all of its buffers does in fact: keep never
# evicts, so that the clock chooses
REPLAYED_AS = {"keep": "clock"}


MOST_SCANS = 65536  # as of bufferpool.max_scans
DEFAULT = "DEFAULT"  # the name of the pool of number 0
LARGEST_POOL = 127  # number of a server's pool


@dataclass(frozen=True)
class RecordedPool:
    """A buffer pool of the server: its number in the recording, and its definition.

    Attributes:
        number: in the recording; 0: DEFAULT.
        name: as SQL has it.
        algorithm: that it ran.
        parameters: of the algorithm, as given; the others have their defaults.
        buffers: that it had.
        remainder: whether these are what other pools leave.
        least: buffers that self-tuning leaves it.
        most: that self-tuning may give it; 0: any number.
    """

    number: int
    name: str
    algorithm: str
    parameters: str
    buffers: int
    remainder: bool = False
    least: int = 0
    most: int = 0

    @property
    def policy(self) -> str:
        """The policy to replay it with, as ``parse_policy`` takes it."""
        return _policy(self.algorithm, self.parameters)

    @property
    def policy_of_default(self) -> str:
        """Likewise, if it is DEFAULT."""
        return _policy(REPLAYED_AS.get(self.algorithm, self.algorithm), self.parameters)


@dataclass(frozen=True)
class RecordedSsd:
    """The SSD tier of the server, when the recording began.

    Attributes:
        policy: the algorithm that chooses its pages.
        parameters: its parameters that are not defaults.
        pages: that it had room for.
        capacity: pages that it had memory for.
        used: pages that it had; a replay begins with none.
        extents: in its table of temperatures.
        write_buffers: pages that could wait to be written to it.
        random_saving: microseconds that a random read of it saved.
        sequential_saving: likewise, a sequential one.
        useful: whether that was enough to bring pages in.
        keep_share: of its pages, that those to be kept may have.
        write_budget: pages that may be written to it in a second; 0: no limit.
        write_budget_per_day: likewise, in a day.
        purse: pages that might be written at once when the recording began.
        day_writes: pages that had been written to it in this hour and the 23 before it.
        purse_time: of the trace's times, that at which both were so; 0: the first.
    """

    policy: str
    parameters: str
    pages: int
    capacity: int
    used: int
    extents: int
    write_buffers: int
    random_saving: float
    sequential_saving: float
    useful: bool
    keep_share: float = 0.0
    write_budget: float = 0.0
    write_budget_per_day: float = 0.0
    purse: float = 0.0
    day_writes: int = 0
    purse_time: int = 0

    @property
    def spec(self) -> str:
        """The policy to replay it with, as ``parse_ssd_policy`` takes it."""
        return _policy(self.policy, self.parameters)


@dataclass(frozen=True)
class SsdState:
    """What changes of an SSD tier: pages, savings (µs), limits, whether it has been emptied."""

    pages: int
    random_saving: float
    sequential_saving: float
    useful: bool
    emptied: bool
    keep_share: float = 0.0
    write_budget: float = 0.0
    write_budget_per_day: float = 0.0


@dataclass(frozen=True)
class ReadTime:
    """Reads of one kind: their pages, and microseconds that each took on average."""

    pages: int
    mean: float


@dataclass(frozen=True)
class ReadTimes:
    """How long the server's physical reads took while it recorded.

    A read of one block counts as random, one of several at once as sequential.
    """

    ssd: ReadTime
    disk_random: ReadTime
    disk_sequential: ReadTime


def _policy(name: str, parameters: str) -> str:
    return f"{name}:{parameters}" if parameters else name


@dataclass(frozen=True)
class Recorded:
    """What the server ran, and what is missing from its recording.

    Attributes:
        server_version: PostgreSQL's.
        algorithm: the replacement algorithm.
        parameters: its parameters that are not defaults, as in k=3,m=2.
        seed: of its randomness.
        buffers: in the pool.
        batch_size: hits that a process queued at most; 1: none.
        batch_threshold: hits from which on it committed them.
        sample_rate: share of the pages whose references were recorded.
        dropped: events missing for want of room in memory; None: not known,
            since the recording was cut short.
        error: why the recording ended, if it was not stopped.
        reads: pages that the server counted as read meanwhile, ...
        read_time: ... and the microseconds that they took; None: not measured.
        scans: places of its registry of scans; 0: it had none, or is an older server.
        pools: those that there were at the start, DEFAULT the first; empty if
            the server never had another one during the recording.
        physical: whether physical reads and writes are recorded.
        reports: whether it says each time that a process reported what it had
            queued, and which choices were given up.
        ssd: its SSD tier; None: it had none, or the recording is of an older version.
        read_times: how long reads took; None: not known.
    """

    server_version: str
    algorithm: str
    parameters: str
    seed: int
    buffers: int
    batch_size: int
    batch_threshold: int
    sample_rate: float
    dropped: int | None = None
    error: str | None = None
    reads: int | None = None
    read_time: int | None = None
    scans: int = 0
    pools: tuple[RecordedPool, ...] = ()
    physical: bool = False
    reports: bool = False
    ssd: RecordedSsd | None = None
    read_times: ReadTimes | None = None

    @property
    def policy(self) -> str:
        """The policy to replay it with, as ``parse_policy`` takes it."""
        return _policy(REPLAYED_AS.get(self.algorithm, self.algorithm), self.parameters)

    @property
    def frames(self) -> int:
        """The frames to replay it in: of a sample, as many fewer."""
        return max(1, round(self.buffers * self.sample_rate))

    @property
    def batch(self) -> int:
        """The queue to replay it with: a sample does not show when queues were full."""
        return min(self.batch_threshold, self.batch_size) if self.sample_rate == 1 else 0

    def flaws(self) -> Iterator[str]:
        """Yield what the recording lacks, for people."""
        if self.sample_rate < 1:
            yield f"a sample of {100 * self.sample_rate:.3g}% of the pages"
        if self.dropped is None:
            yield "the recording was cut short"
        elif self.dropped > 0:
            events = "event is" if self.dropped == 1 else "events are"
            yield (
                f"{self.dropped:,} {events} missing from the recording:"
                " raise bufferpool.trace_buffers"
            )
        if self.error:
            yield f"the recording ended early: {self.error}"
        if self.ssd is not None and self.ssd.used > 0:
            yield (
                f"the SSD tier had {self.ssd.used:,} pages when the recording began, a replay none"
            )

    def to_json(self) -> str:
        """Return it as text, from which ``parse_recorded`` makes it again."""
        return json.dumps(asdict(self))


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "float": (float, int),
    "int | None": (int, type(None)),
    "str | None": (str, type(None)),
    "tuple[RecordedPool, ...]": (list,),
    "RecordedSsd | None": (dict, type(None)),
    "ReadTimes | None": (dict, type(None)),
}


def parse_recorded_pool(text: bytes) -> RecordedPool | None:
    """Return the pool that a JSON object describes; None if it has no name: it was dropped.

    Raises ValueError if it is no definition.
    """
    members = parse_object(text)
    return _pool(members) if members.get("name") else None


def _members(kind: type[T], members: object) -> T:
    """Return what an object describes, whose members must be there or have defaults."""
    if not isinstance(members, dict):
        raise ValueError(f"no {kind.__name__}")
    values = {
        field.name: members.get(field.name, None if field.default is MISSING else field.default)
        for field in fields(kind)  # type: ignore[arg-type]
    }
    for field in fields(kind):  # type: ignore[arg-type]
        _check_type(f"{field.name} of {kind.__name__}", values[field.name], str(field.type))
    return kind(**values)


def _check_type(what: str, value: object, kind: str) -> None:
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) != (kind == "bool"):
        raise ValueError(f"{what} is {value!r}")


def _pool(members: object) -> RecordedPool:
    pool = _members(RecordedPool, members)
    if not 0 <= pool.number <= LARGEST_POOL or min(pool.buffers, pool.least, pool.most) < 0:
        raise ValueError("a pool is out of range")
    return pool


def _pools(values: list[object]) -> tuple[RecordedPool, ...]:
    pools = tuple(sorted(map(_pool, values), key=lambda pool: pool.number))
    numbers = [pool.number for pool in pools]
    if pools and (numbers[0] != 0 or len(set(numbers)) < len(numbers)):
        raise ValueError("pools without DEFAULT, or twice")
    return pools


def parse_ssd_state(text: bytes) -> SsdState:
    """Return the state that a JSON object describes; raise ValueError if it is none."""
    state = _members(SsdState, parse_object(text))
    if not 0 <= state.pages < 1 << 32 or not _are_sound(state):
        raise ValueError("an SSD is out of range")
    return state


def _are_sound(of: SsdState | RecordedSsd) -> bool:
    values = (of.random_saving, of.sequential_saving, of.write_budget, of.write_budget_per_day)
    return all(0 <= value < math.inf for value in values) and 0 <= of.keep_share <= 1


def _ssd(members: object) -> RecordedSsd | None:
    if members is None:
        return None
    ssd = _members(RecordedSsd, members)
    sizes = (ssd.pages, ssd.used, ssd.write_buffers)
    if min(sizes) < 0 or not max(1, ssd.pages) <= ssd.capacity < 1 << 32:
        raise ValueError("an SSD is out of range")
    if not 8 <= ssd.extents < 1 << 32 or ssd.extents & (ssd.extents - 1) or not _are_sound(ssd):
        raise ValueError("an SSD is out of range")
    if not math.isfinite(ssd.purse) or not 0 <= ssd.purse_time < 1 << 64:
        raise ValueError("an SSD is out of range")
    if not 0 <= ssd.day_writes < 1 << 64:
        raise ValueError("an SSD is out of range")
    return ssd


def parse_read_times(members: object) -> ReadTimes | None:
    """Return what an object describes, or None; raise ValueError if it is damaged."""
    if members is None:
        return None
    if not isinstance(members, dict):
        raise ValueError("no read times")
    times = ReadTimes(
        **{field.name: _members(ReadTime, members.get(field.name)) for field in fields(ReadTimes)}
    )
    for time in (times.ssd, times.disk_random, times.disk_sequential):
        if time.pages < 0 or not 0 <= time.mean < math.inf:
            raise ValueError("a read time is out of range")
    return times


def parse_recorded(text: bytes | str) -> Recorded:
    """Return what a JSON object describes; unknown members are ignored.

    Raises ValueError if it is none, or lacks something.
    """
    members = parse_object(text)
    found = {field.name: members[field.name] for field in fields(Recorded) if field.name in members}
    for field in fields(Recorded):
        value = found.get(field.name)
        if field.name in found:
            _check_type(field.name, value, str(field.type))
    found["pools"] = _pools(found.get("pools", []))
    found["ssd"] = _ssd(found.get("ssd"))
    found["read_times"] = parse_read_times(found.get("read_times"))
    try:
        recorded = Recorded(**found)
    except TypeError as error:
        raise ValueError(str(error)) from None
    sizes = (recorded.buffers, recorded.batch_size, recorded.batch_threshold)
    if min(sizes) < 1 or recorded.seed < 0 or not 0 < recorded.sample_rate <= 1:
        raise ValueError("out of range")
    if not 0 <= recorded.scans <= MOST_SCANS:
        raise ValueError("scans are out of range")
    return recorded


def parse_object(text: bytes | str) -> dict[str, Any]:
    """Return a JSON object; raise ValueError if it is none."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")  # names in a SQL_ASCII database are any bytes
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value
