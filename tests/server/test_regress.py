"""The extension's own regression test, as PostgreSQL runs those of contrib."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT
from tidepool.server import Instance

EXTENSION = ROOT / "postgres" / "contrib" / "pg_bufferpool"


@pytest.fixture
def server() -> Iterator[Instance]:
    """With everything at its default."""
    instance = Instance(Path(tempfile.mkdtemp(prefix="tidepool-test-")), BIN)
    instance.create()
    instance.start()
    yield instance
    instance.remove()


def test_extension_answers_as_expected(server: Instance) -> None:
    makefile = subprocess.run(
        [BIN / "pg_config", "--pgxs"], capture_output=True, text=True, check=True
    )
    pgxs = Path(makefile.stdout.strip()).parents[2]
    for part in ("sql", "expected"):  # where the server's account can read them
        subprocess.run(["cp", "-r", EXTENSION / part, server.directory], check=True)
    tests = [path.stem for path in (EXTENSION / "sql").glob("*.sql")]
    assert tests
    run = server.run(
        pgxs / "src" / "test" / "regress" / "pg_regress",
        f"--host={server.directory}",
        "--user=postgres",
        f"--bindir={BIN}",
        f"--inputdir={server.directory}",
        f"--outputdir={server.directory}",
        *tests,
    )
    differences = server.directory / "regression.diffs"
    assert run.returncode == 0, differences.read_text() if differences.exists() else run.stdout
