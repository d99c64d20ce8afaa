"""Servers to test: built from this tree, private, small."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.machine import Machine
from server.ssd import Start, ssd_directory, with_tier
from server.ssd_failing import Faults
from tidepool.server import LIBRARIES, Instance

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("TIDEPOOL_SERVER", ROOT / "build" / "pgsql-debug" / "bin"))

Make = Callable[..., Instance]

MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30  # bytes; four tests at a time take less than one GiB


def pytest_configure() -> None:
    """Have temporary files in memory if it has room: the suite takes half of the time then."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    if shutil.disk_usage(MEMORY).free >= ENOUGH:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # chosen anew


@pytest.fixture(scope="session")
def template() -> Iterator[Instance]:
    """What initdb makes: to copy it is a lot cheaper than to make it again."""
    instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-test-")), BIN)
    instance.create()
    yield instance
    instance.remove()


def makes(template: Instance) -> Iterator[Make]:
    made: list[Instance] = []
    have_tiers: list[Instance] = []

    def make_one(algorithm: str = "clock", **settings: str) -> Instance:
        # not pytest's directory: a socket's path must be short, and the
        # server's account must get there
        instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-test-")), BIN)
        made.append(instance)
        given = {name.replace("__", "."): value for name, value in settings.items()}
        if "bufferpool.ssd_path" in given:
            have_tiers.append(instance)
        subprocess.run(["cp", "-a", f"{template.directory}/.", instance.directory], check=True)
        instance.configure(
            {
                "unix_socket_directories": str(instance.directory),
                "shared_preload_libraries": LIBRARIES,
                "bufferpool.algorithm": algorithm,
                "shared_buffers": "1MB",
                "bufferpool.trace_buffers": "16384",  # for busy machines
                "autovacuum": "off",
                "fsync": "off",
                **given,
            }
        )
        instance.start()
        instance.query("CREATE EXTENSION pg_bufferpool")
        return instance

    yield make_one
    for instance in have_tiers:
        if instance.running():
            instance.stop()  # otherwise it leaves a segment of shared memory
    for instance in made:
        instance.remove()


@pytest.fixture
def make(template: Instance) -> Iterator[Make]:
    """Makes started instances: make(algorithm, setting=value, …), a dot in a name as __."""
    yield from makes(template)


@pytest.fixture
def ssd() -> Iterator[Path]:
    """A directory on an SSD."""
    directory = ssd_directory()
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def faults(ssd: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Of that SSD, in servers that are started from now on."""
    return Faults(ssd, monkeypatch)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """The machine that servers are started on from now on: slow, or short of shared memory."""
    directory = Path(tempfile.mkdtemp(prefix="tidepool-machine-"))
    directory.chmod(0o755)
    yield Machine(directory, monkeypatch)
    shutil.rmtree(directory)


@pytest.fixture
def start(make: Make, ssd: Path) -> Start:
    """Starts instances with a tier of so many pages on that SSD: start(pages, setting=value, …)."""

    def start_one(pages: int = 4096, **settings: str) -> Instance:
        return with_tier(make, ssd, pages, **settings)

    return start_one


@pytest.fixture(scope="module")
def make_once(template: Instance) -> Iterator[Make]:
    """Likewise, for a server that the tests of a module share."""
    yield from makes(template)
