"""``tidepool server``: start, status, psql, stop."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import BIN


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tidepool-test-") as scratch:
        place = Path(scratch)
        place.chmod(0o755)
        yield place / "instance"
        command("stop", str(place / "instance"), "--remove")


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``tidepool server`` in a process of its own, as a user would."""
    program = "from tidepool.cli import main; main()"
    verb, *rest = arguments
    return subprocess.run(
        [sys.executable, "-c", program, "server", verb, "--bin", str(BIN), *rest],
        capture_output=True,
        text=True,
        check=False,
    )


def test_life_of_an_instance(directory: Path) -> None:
    place = str(directory)
    absent = command("status", place)
    assert absent.returncode == 1
    assert "no instance there" in absent.stderr
    assert f"HINT:  make one: tidepool server start {place}" in absent.stderr

    started = command("start", place, "--algorithm", "arc", "--shared-buffers", "2MB")
    assert started.returncode == 0, started.stderr
    assert "arc, shared_buffers 2MB" in started.stdout
    assert f"host={place}" in started.stdout
    assert command("status", place).stdout == started.stdout

    asked = command("psql", place, "-XAtc", "SHOW bufferpool.algorithm")
    assert (asked.returncode, asked.stdout) == (0, "arc\n")

    changed = command("start", place, "--algorithm", "lru", "--set", "work_mem=1MB")
    assert "lru, shared_buffers 2MB" in changed.stdout
    assert command("psql", place, "-XAtc", "SHOW work_mem").stdout == "1MB\n"

    assert command("stop", place).returncode == 0
    stopped = command("status", place)
    assert (stopped.returncode, stopped.stdout) == (3, "stopped\n")
    assert command("stop", place, "--remove").returncode == 0
    assert not directory.exists()


def test_mistakes_are_told(directory: Path) -> None:
    wrong = command("start", str(directory), "--set", "work_mem")
    assert wrong.returncode == 2
    assert "write it as name=value" in wrong.stderr
    long = command("start", str(directory / ("x" * 100)))
    assert long.returncode == 1
    assert "path is too long for a socket" in long.stderr
    nowhere = command("start", str(directory), "--bin", "/nowhere")
    assert nowhere.returncode == 1
    assert "no server in /nowhere" in nowhere.stderr
