"""The server that recorded a trace: what it ran, and what the recording lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

# what a server with this algorithm for all of its buffers does in fact: keep never
# evicts, so that the clock chooses
REPLAYED_AS = {"keep": "clock"}


DEFAULT = "DEFAULT"  # the name of the pool of number 0


@dataclass(frozen=True)
class RecordedPool:
    """A buffer pool of the server: its number in the recording, and its definition."""

    number: int
    name: str
    algorithm: str
    parameters: str
    buffers: int

    @property
    def policy(self) -> str:
        """The policy to replay it with, as ``parse_policy`` takes it."""
        return _policy(self.algorithm, self.parameters)

    @property
    def policy_of_default(self) -> str:
        """Likewise, if it is DEFAULT."""
        return _policy(REPLAYED_AS.get(self.algorithm, self.algorithm), self.parameters)


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
        pools: those that there were at the start, DEFAULT the first; empty if
            the server never had another one during the recording.
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
    pools: tuple[RecordedPool, ...] = ()

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

    def to_json(self) -> str:
        """Return it as text, from which ``parse_recorded`` makes it again."""
        return json.dumps(asdict(self))


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "int | None": (int, type(None)),
    "str | None": (str, type(None)),
    "tuple[RecordedPool, ...]": (list,),
}


def parse_recorded_pool(text: bytes) -> RecordedPool | None:
    """Return the pool that a JSON object describes; None if it has no name: it was dropped.

    Raises ValueError if it is no definition.
    """
    members = parse_object(text)
    return _pool(members) if members.get("name") else None


def _pool(members: object) -> RecordedPool:
    if not isinstance(members, dict):
        raise ValueError("not a pool")
    values = [members.get(field.name) for field in fields(RecordedPool)]
    for field, value in zip(fields(RecordedPool), values, strict=True):
        if isinstance(value, bool) or not isinstance(value, _TYPES[str(field.type)]):
            raise ValueError(f"{field.name} of a pool is {value!r}")
    pool = RecordedPool(*values)  # type: ignore[arg-type]
    if not 0 <= pool.number < 256 or pool.buffers < 0:
        raise ValueError("a pool is out of range")
    return pool


def _pools(values: list[object]) -> tuple[RecordedPool, ...]:
    pools = tuple(sorted(map(_pool, values), key=lambda pool: pool.number))
    numbers = [pool.number for pool in pools]
    if pools and (numbers[0] != 0 or len(set(numbers)) < len(numbers)):
        raise ValueError("pools without DEFAULT, or twice")
    return pools


def parse_recorded(text: bytes | str) -> Recorded:
    """Return what a JSON object describes; unknown members are ignored.

    Raises ValueError if it is none, or lacks something.
    """
    members = parse_object(text)
    found = {field.name: members[field.name] for field in fields(Recorded) if field.name in members}
    for field in fields(Recorded):
        value = found.get(field.name)
        if field.name in found and (
            isinstance(value, bool) or not isinstance(value, _TYPES[str(field.type)])
        ):
            raise ValueError(f"{field.name} is {value!r}")
    found["pools"] = _pools(found.get("pools", []))
    try:
        recorded = Recorded(**found)
    except TypeError as error:
        raise ValueError(str(error)) from None
    sizes = (recorded.buffers, recorded.batch_size, recorded.batch_threshold)
    if min(sizes) < 1 or recorded.seed < 0 or not 0 < recorded.sample_rate <= 1:
        raise ValueError("out of range")
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
