"""``tidepool server``: start, status, psql, stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import BIN
from server.load import wait_for


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


def test_settings_that_do_not_work_are_not_kept(directory: Path) -> None:
    place = str(directory)
    for wrong, message in (
        ("--algorithm=fortune", 'the server has no algorithm "fortune"\nHINT:  it has 2q, arc, '),
        ("--shared-buffers=lots", 'invalid size "lots"'),
    ):
        failed = command("start", place, wrong)
        assert failed.returncode == 1
        assert message in failed.stderr
        assert not directory.exists()
    command("start", place, "--algorithm", "arc")
    for wrong in ("--algorithm=fortune", "--set=work_mem=1"):
        assert command("start", place, wrong).returncode == 1
        assert "running: " in (status := command("status", place).stdout)
        assert ", arc, " in status
    assert command("stop", place).returncode == 0
    assert command("start", place, "--set=work_mem=1").returncode == 1
    assert command("status", place).returncode == 3
    assert ", arc, " in command("start", place).stdout
    assert command("psql", place, "-XAtc", "TABLE pg_bufferpool").stdout.startswith("DEFAULT|arc|")


def test_after_a_crash(directory: Path) -> None:
    place = str(directory)
    command("start", place)
    postmaster = int((directory / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)
    wait_for("it has stopped", lambda: command("status", place).returncode == 3)
    assert command("status", place).stdout == "stopped\n"
    asked = command("psql", place, "-c", "SELECT 1")
    assert asked.returncode == 1
    assert asked.stderr == (
        f"tidepool: error: {place}: the server is stopped\n"
        f"HINT:  start it: tidepool server start {place}\n"
    )
    assert command("start", place).returncode == 0


def test_a_directory_with_something_else_in_it(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    (directory / "precious").write_text("mine")
    refused = command("start", str(directory))
    assert refused.returncode == 1
    assert f"{directory}: neither empty nor an instance" in refused.stderr
    assert command("stop", str(directory), "--remove").returncode == 1
    assert [path.name for path in directory.iterdir()] == ["precious"]
    assert directory.stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to lose")
class TestRoot:
    """What belongs to another account makes root neither write nor run anything for it."""

    OTHER = 12345

    def test_directory_of_another(self, directory: Path) -> None:
        directory.mkdir()
        os.chown(directory, self.OTHER, self.OTHER)
        refused = command("start", str(directory))
        assert refused.returncode == 1
        assert f"{directory}: neither root's nor" in refused.stderr
        assert directory.stat().st_uid == self.OTHER

    def test_link(self, directory: Path) -> None:
        target = directory.with_name("target")
        target.mkdir(mode=0o755)
        directory.symlink_to(target)
        refused = command("start", str(directory))
        assert refused.returncode == 1
        assert f"{directory}: neither root's nor" in refused.stderr
        assert (target.stat().st_uid, target.stat().st_mode & 0o777) == (0, 0o755)

    def test_configuration_that_became_a_link(self, directory: Path) -> None:
        place = str(directory)
        assert command("start", place).returncode == 0
        assert command("stop", place).returncode == 0
        precious = directory.with_name("precious")
        precious.write_text("root's\n")
        configuration = directory / "data" / "postgresql.conf"
        configuration.unlink()
        configuration.symlink_to(precious)
        assert command("start", place, "--set", "work_mem=1MB").returncode == 1
        assert precious.read_text() == "root's\n"

    def test_programs(self, directory: Path, tmp_path: Path) -> None:
        """Where the account cannot reach the server's it has copies, which root does not run."""
        hidden = tmp_path / "hidden"
        hidden.mkdir(mode=0o700)
        shutil.copytree(BIN.parent, hidden / "pgsql", symlinks=True)
        place, programs = str(directory), ("--bin", str(hidden / "pgsql" / "bin"))
        assert command("start", place, *programs).returncode == 0
        copies = directory / "pgsql" / "bin"
        assert copies.stat().st_uid != 0
        ran = directory / "ran"
        for copy in ("psql", "less"):
            (copies / copy).unlink(missing_ok=True)
            (copies / copy).write_text(f"#!/bin/sh\nid -u >> {ran}\n")
            (copies / copy).chmod(0o755)
        assert "running" in command("status", place, *programs).stdout
        asked = command("psql", *programs, place, "-c", "\\! less")
        assert asked.returncode == 0
        assert not ran.exists()
        assert command("stop", place, *programs).returncode == 0


def test_a_directory_that_the_server_cannot_reach(directory: Path) -> None:
    directory.parent.chmod(0o700)
    out = command("start", str(directory))
    directory.parent.chmod(0o755)
    if os.geteuid() == 0:
        assert out.returncode == 1
        assert f"as whom the server runs, cannot reach {directory}" in out.stderr
        assert not directory.exists()
    else:
        assert out.returncode == 0
