"""The pages' commands run, in their order, on a server made for each page.

Each block is run: commands by a shell in a directory that has the files that
the page speaks of, SQL by psql, settings by appending them to postgresql.conf,
with which the server then must start without a warning, Python as it stands.
Of make this only asks what it would do.  guides.NOT_RUN has what is not run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT, Make
from server.guide_files import orders, traces
from server.guides import (
    COMMANDS,
    ELSEWHERE,
    NOT_RUN,
    OTHERS,
    NotRun,
    blocks,
    commands,
    pages,
    parts,
    to_run,
)
from tidepool.server import LIBRARIES, Instance

# What goes on while a recording is made.
WORK = "SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid;"

# What the machine may lack, or must not do: names of programs and what they do here.
PROGRAMS = {
    "ssh": 'shift; exec "$@"',
    "zstdcat": f"exec {sys.executable} -c 'import sys, zstandard as z;"
    ' z.ZstdDecompressor().copy_stream(open(sys.argv[1], "rb"), sys.stdout.buffer)\' "$1"',
}


@dataclass(frozen=True)
class Before:
    """What the reader of a page has: relations, files, a recording; and what is smaller here."""

    sql: str = ""
    files: Callable[[Path], None] = lambda directory: None
    recording: str = ""
    instead: tuple[tuple[str, str], ...] = ()


BEFORE = {
    "docs/choosing.md": Before(recording="files/monday.rec"),
    "docs/first-hour.md": Before(
        instead=(("work(50000)", "work(9000)"), ("work(20000)", "work(3000)"))
    ),
    "docs/ssd-tier.md": Before(
        sql="CREATE TABLE orders (id int PRIMARY KEY, customer int, note text);"
        "CREATE INDEX orders_customer ON orders (customer);"
        "CREATE TABLE log_entries (note text);"
        "CREATE TABLE documents (body text)",
        files=orders,
        recording="files/monday.rec",
        # of these devices the tier is useful, wherever the tests run
        instead=(
            (
                "100GB",
                "16MB\nbufferpool.ssd_read_time = 80\nbufferpool.disk_random_read_time = 12000",
            ),
        ),
    ),
    "docs/trace-format.md": Before(
        files=traces, recording="monday.rec", instead=(("--length 1e6", "--length 1e5"),)
    ),
    "docs/warm-starts.md": Before(sql="CREATE ROLE replicator REPLICATION LOGIN"),
    "docs/writing-a-policy.md": Before(instead=(("--length 2000000", "--length 20000"),)),
}


def run_sql(server: Instance, text: str, page: str) -> None:
    script = server.directory / "guide.sql"
    script.write_text(text)
    script.chmod(0o644)
    run = server.run(server.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script)
    assert run.returncode == 0, f"{page}:\n{text}\n{run.stdout}"
    assert "WARNING" not in run.stdout, run.stdout


@pytest.fixture
def place() -> Iterator[Path]:
    """In place of /tmp; a server in its directory try is stopped and removed."""
    scratch = Path(tempfile.mkdtemp(prefix="tidepool-guide-"))
    scratch.chmod(0o777)
    for directory in ("bin", "files", "ssd"):
        (scratch / directory).mkdir()
        (scratch / directory).chmod(0o777)
    for name, text in PROGRAMS.items():
        (scratch / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (scratch / "bin" / name).chmod(0o755)
    yield scratch
    if (scratch / "try").exists():
        Instance(scratch / "try", BIN).remove()
    shutil.rmtree(scratch)


@pytest.fixture(scope="module")
def recording(make_once: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    server = make_once(shared_buffers="1MB")
    path = server.directory / "monday.rec"
    server.query(
        "CREATE TABLE t AS SELECT i, repeat('x', 900) AS pad FROM generate_series(1, 4000) AS i",
        "CREATE INDEX ON t (i)",
        f"SELECT pg_bufferpool_trace_start('{path}')",
        *["SELECT count(pad) FROM t WHERE i % 7 = 0 OR i < 300"] * 9,
        "SELECT pg_bufferpool_trace_stop()",
    )
    return Path(shutil.copy(path, tmp_path_factory.mktemp("recording")))


class Reader:
    """Who follows a page."""

    def __init__(self, page: str, make: Make, place: Path) -> None:
        self.page = page
        self.before = BEFORE.get(page, Before())
        self.make = make
        self.place = place
        self.made: Instance | None = None
        self.before.files(place / "files")

    @property
    def server(self) -> Instance:
        """The page's own, if it has started one."""
        if (self.place / "try" / "data").exists():
            return Instance(self.place / "try", BIN)
        if self.made is None:
            self.made = self.make(shared_buffers="64MB", shared_preload_libraries=LIBRARIES)
            self.made.query(self.before.sql)
        return self.made

    def here(self, text: str) -> str:
        """The text with the places and sizes of this test."""
        text = re.sub(r"(?<![\w.])/(var/)?tmp\b", str(self.place), text)
        text = text.replace("/ssd/tidepool", str(self.place / "ssd"))
        text = text.replace(".venv/bin/tidepool", "tidepool")
        for old, new in self.before.instead:
            text = text.replace(old, new)
        return text

    def sh(self, command: str) -> None:
        command = re.sub(r"^make\b", f"make -C {ROOT} --dry-run", command)
        run = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", command],
            cwd=self.place / "files",
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{self.place / 'bin'}:{os.environ['PATH']}",
                "TIDEPOOL_SERVER": str(BIN),
                **(self.connection() if "psql -c" in command else {}),
            },
            stdin=subprocess.DEVNULL,  # psql, by itself, ends at once
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, f"{self.page}: {command}\n{run.stdout}{run.stderr}"
        assert "WARNING" not in run.stderr, run.stderr

    def connection(self) -> dict[str, str]:
        """What a reader's psql knows of the server."""
        path = f"{BIN}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        host = str(self.server.directory)
        return {"PATH": path, "PGHOST": host, "PGUSER": "postgres", "PGDATABASE": "postgres"}

    def sql(self, text: str) -> None:
        if "CREATE EXTENSION pg_bufferpool;" in text:
            self.server.query("DROP EXTENSION pg_bufferpool")  # any server of a test has it
        text = re.sub(r"^(SELECT .*trace_start\(.*;.*)$", rf"\1\n{WORK}", text, flags=re.M)
        run_sql(self.server, text, self.page)

    def ini(self, text: str) -> None:
        server = self.server
        server.stop()
        logged = server.log.stat().st_size
        with (server.data / "postgresql.conf").open("a") as file:
            file.write(text)
        server.start()
        log = server.log.read_bytes()[logged:].decode()
        assert not re.search(r"WARNING|ERROR|FATAL", log), f"{self.page}:\n{text}\n{log}"

    def python(self, text: str) -> None:
        exec(compile(text, self.page, "exec"), {})


@pytest.mark.parametrize("page", [page for page in pages() if to_run(page)])
def test_the_page_runs(
    page: str, make: Make, place: Path, request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(place / "files")
    reader = Reader(page, make, place)
    if reader.before.recording:
        shutil.copy(request.getfixturevalue("recording"), place / reader.before.recording)
    for language, text in to_run(page):
        getattr(reader, language)(reader.here(text))
    if page == "docs/first-hour.md":
        assert not (place / "try").exists()
        assert (place / "files" / "compare.png").stat().st_size > 10_000


def test_statements_in_tables(make: Make) -> None:
    """What operating.md tells to look at weekly, and in need."""
    server = make(shared_buffers="16MB", shared_preload_libraries=LIBRARIES)
    found = re.findall(r"`(SELECT [^`]*)`", (ROOT / "docs" / "operating.md").read_text())
    assert len(found) >= 3
    for statement in found:
        server.query(statement)


def stated_defaults() -> dict[str, str]:
    """Settings with their defaults, as the tables of the pages have them."""
    stated: dict[str, str] = {}
    for page in ("server", "pools", "warm-starts", "ssd-tier"):
        text = (ROOT / "docs" / f"{page}.md").read_text().replace("`…_", "`bufferpool.warm_")
        for table in re.findall(r"^\| [Ss]etting \| [Dd]efault \|.*\n((?:\|.*\n)*)", text, re.M):
            for row in re.findall(r"^\| (`.*?) \| ?(.*?) ?\|", table, re.M):
                names = re.findall(r"`([\w.]+)`", row[0])
                values = row[1].split(", ")
                if len(values) != len(names):
                    values = [row[1]] * len(names)
                stated |= {
                    name: value.strip("`'") for name, value in zip(names, values, strict=True)
                }
    return stated


def test_stated_defaults(make: Make) -> None:
    """A server with all of them set is as one with none."""
    stated = stated_defaults()
    assert len(stated) > 35
    server = make(bufferpool__trace_buffers="-1")
    query = "SELECT name, setting FROM pg_settings WHERE name LIKE 'bufferpool.%' ORDER BY name"
    without = server.query(query)
    server.restart(stated)
    assert server.query(query) == without


@pytest.mark.parametrize("page", pages())
def test_each_block_names_its_language(page: str) -> None:
    for block in blocks(page):
        assert block.language in (*COMMANDS, *OTHERS), f"{page}:\n{block.text}"


@pytest.mark.parametrize("each", NOT_RUN, ids=lambda each: each.pattern)
def test_what_is_not_run_is_there(each: NotRun) -> None:
    found = [part for block in blocks(each.page) for part in parts(block)]
    assert any(re.fullmatch(each.pattern, part, re.S) for part in found)


def test_what_others_run_is_there() -> None:
    for (page, language), test in ELSEWHERE.items():
        assert language in {block.language for block in blocks(page)}
        assert Path(page).stem in (ROOT / "tests" / test).read_text()


# ---- from a fresh clone ----


def steps(page: str) -> list[str]:
    """The commands of a page for the shell, one by one."""
    return [
        step
        for block in blocks(page)
        if block.language == "sh"
        for command in commands(block)
        for step in command.split(" && ")
    ]


BUILT = {"tidepool": r"pip install .* '\.\[", "server": r"^postgres/build release"}


def what_is_built(make: str, nowhere: Path) -> set[str]:
    """What of BUILT a call of make builds where nothing has been built."""
    fresh = f"make -C {ROOT} --dry-run STAMPS={nowhere}/stamps VENV={nowhere}/venv"
    command = re.sub(r"^make\b", fresh, make)
    run = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    return {name for name, rule in BUILT.items() if re.search(rule, run.stdout, re.M)}


def what_it_needs(command: str) -> set[str]:
    """What of BUILT a command needs, and whether it needs to be on the path."""
    needs = {
        "tidepool": re.match(r"(\.venv/bin/)?tidepool ", command),
        "path": re.match(r"tidepool ", command),
        "server": re.search(r"tidepool server start|build/pgsql/bin/", command),
    }
    return {name for name, found in needs.items() if found}


# the example has a Makefile of its own
BUILDING = [
    page
    for page in pages()
    if not page.startswith("postgres/") and any(step.startswith("make") for step in steps(page))
]


@pytest.mark.parametrize("page", BUILDING)
def test_what_is_called_has_been_built(page: str, tmp_path: Path) -> None:
    """Whoever begins with a page that builds has what its later commands need."""
    have: set[str] = set()
    for step in steps(page):
        if step.startswith("make"):
            have |= what_is_built(step, tmp_path)
        elif step.startswith("export PATH=$PWD/.venv/bin:"):
            have.add("path")
        else:
            assert what_it_needs(step) <= have, f"{page}: {step}"
