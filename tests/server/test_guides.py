"""The guides: their commands run, in their order, on a server made for each page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT, Make
from tidepool.server import LIBRARIES, Instance

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.M | re.S)

# What no test can run, and who runs it instead.
NOT_RUN = (
    r"make postgres.*",  # every test: it built the server
    r"export PATH=.*",  # the test's own environment
    r"tidepool server psql /tmp/try",  # interactive; the SQL that follows is run
    r"sudo .*",  # the system's services and directories
    r"# .*",
)


def blocks(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    found = BLOCK.findall((DOCS / page).read_text())
    return [
        (language, re.sub(f"^{indent}", "", text, flags=re.M)) for indent, language, text in found
    ]


def run_sql(server: Instance, text: str, page: str) -> None:
    script = server.directory / "guide.sql"
    script.write_text(text)
    script.chmod(0o644)
    run = server.run(server.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script)
    assert run.returncode == 0, f"{page}:\n{text}\n{run.stdout}"
    assert "WARNING" not in run.stdout, run.stdout


@pytest.fixture
def place() -> Iterator[Path]:
    """In place of /tmp/try; and whatever lies there is stopped and removed."""
    scratch = Path(tempfile.mkdtemp(prefix="tidepool-guide-"))
    scratch.chmod(0o755)
    yield scratch / "try"
    if (scratch / "try").exists():
        Instance(scratch / "try", BIN).remove()
    shutil.rmtree(scratch)


def shell(command: str, directory: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TIDEPOOL_SERVER": str(BIN),
    }
    run = subprocess.run(
        ["bash", "-ec", command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"


def test_the_first_hour(place: Path) -> None:
    """From the start of the server to its removal, as the page says it."""
    ran = 0
    for language, text in blocks("first-hour.md"):
        text = text.replace("/tmp/try", str(place))
        if language == "sql":
            run_sql(Instance(place, BIN), text, "first-hour.md")
            ran += 1
            continue
        assert language == "sh", text
        for line in text.splitlines():
            if any(re.fullmatch(known.replace("/tmp/try", str(place)), line) for known in NOT_RUN):
                continue
            shell(line, place.parent)
            ran += 1
    assert ran >= 10
    assert not place.exists()
    assert (place.parent / "compare.png").stat().st_size > 10_000


@pytest.mark.parametrize("page", ["operating.md", "monitoring.md"])
def test_sql(make: Make, page: str, tmp_path: Path) -> None:
    server = make(shared_buffers="16MB", bufferpool__trace_buffers="65536")
    server.query("DROP EXTENSION pg_bufferpool")
    if page != "monitoring.md":
        server.query("CREATE EXTENSION pg_bufferpool")
    for language, text in blocks(page):
        if language == "sql":
            run_sql(server, text.replace("/var/tmp", str(server.directory)), page)


def test_statements_in_tables(make: Make) -> None:
    """What operating.md tells to look at weekly, and in need."""
    server = make(shared_buffers="16MB", shared_preload_libraries=LIBRARIES)
    found = re.findall(r"`(SELECT [^`]*)`", (DOCS / "operating.md").read_text())
    assert len(found) >= 3
    for statement in found:
        server.query(statement)


def test_every_command_is_run_or_known() -> None:
    """No page has a block whose language no test knows."""
    for page in ("operating.md", "monitoring.md", "choosing.md"):
        for language, text in blocks(page):
            if language == "sql":
                continue
            for line in text.splitlines():
                setting = re.fullmatch(r"(\w+=|\[\w+\]|ARGS|DATA).*", line)
                tidepool = re.fullmatch(r"tidepool (compare|advise) \S+", line)
                assert setting or tidepool or any(re.fullmatch(one, line) for one in NOT_RUN), (
                    f"{page}: {line}"
                )
