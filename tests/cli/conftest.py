"""The command, called in this process; and traces for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli import files
from simulation.generated import Event, looping, phases, zipf
from tidepool.cli import main
from tidepool.traces import Kind, page_number


@dataclass(frozen=True)
class Outcome:
    """How a call of the command ended."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Call = Callable[..., Outcome]


def words(args: Iterable[object]) -> list[str]:
    """Split texts at blanks, as a shell would; paths and numbers stay whole, lists are opened."""
    found = []
    for arg in args:
        if isinstance(arg, list):
            found += words(arg)
        elif isinstance(arg, str):
            found += arg.split() or [""]
        else:
            found.append(str(arg))
    return found


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call ``tidepool`` with these arguments, whatever comes of it."""

    def run(*args: object) -> Outcome:
        with pytest.raises(SystemExit) as exit:
            main(words(args))
        captured = capsys.readouterr()
        return Outcome(int(exit.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def ok(call: Call) -> Call:
    """Call ``tidepool``; it must succeed without a word on standard error."""

    def run(*args: object) -> Outcome:
        outcome = call(*args)
        assert (outcome.status, outcome.err) == (0, "")
        return outcome

    return run


def busy_events() -> list[Event]:
    """Events of all kinds: writes, backends, repetitions, scans, truncation."""
    events = []
    for i in range(4000):
        page = page_number(1 + i % 2, i * i % 180, fork=i // 50 % 2)
        events.append(Event(page, Kind.WRITE if i % 5 == 0 else Kind.READ, time=i * 10))
        if i % 7 == 0:
            events.append(Event(page, time=i * 10 + 5))
        if i % 400 == 0:
            events.append(Event(page_number(1, 90), Kind.FORGET, time=i * 10 + 6))
            events.append(Event(page_number(2, 0), Kind.SCAN_BEGIN, time=i * 10 + 6, count=50))
    return events


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the traces zipf, phases, loop and busy."""
    path = tmp_path_factory.mktemp("traces")
    for trace in (zipf(400, 6000), phases(400, 6000), looping(100, 2000)):
        events = [Event(int(page)) for page in trace.pages]
        files.write_csv(path / f"{trace.name.split('-')[0]}.csv", events)
    files.write_csv(path / "busy.csv", busy_events())
    return path
