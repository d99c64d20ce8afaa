"""docs/advice.md: its commands run as they stand; and advised lines can be pasted."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT, Make
from server.counters import settle
from server.pools import FLOOR, create, fill, server_with_pools, sizes
from tidepool import parse_policy
from tidepool.advice import Request, advise
from tidepool.advice.evidence import prepare
from tidepool.advice.pools import units_of
from tidepool.advice.sql import algorithm_settings, pool_lines, size_setting
from tidepool.advice.study import Study
from tidepool.simulation import PoolSpec
from tidepool.simulation.devices import SATA_SSD
from tidepool.traces import Trace, open_trace

PAGE = (ROOT / "docs" / "advice.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    for line in block.splitlines()
]
QUERIES = re.findall(r"^```sql\n(.*?)^```", PAGE, re.M | re.S)


def test_the_commands(tmp_path: Path) -> None:
    """In their order; only what is built is not built again, and less is loaded."""
    place = Path(tempfile.mkdtemp(prefix="tidepool-test-"))
    place.rmdir()
    tidepool = Path(sys.executable).with_name("tidepool")
    environment = os.environ | {"TIDEPOOL_SERVER": str(BIN)}
    printed = []
    try:
        for line in COMMANDS:
            command = line.replace(".venv/bin/tidepool", str(tidepool))
            command = command.replace("build/pgsql/bin", str(BIN)).replace("/tmp/try", str(place))
            command = command.replace("-s 10 ", "-s 2 ").replace("-T 20 ", "-T 3 ")
            where = tmp_path
            if command.startswith("make"):
                command, where = command.replace("make", "make --dry-run", 1), ROOT
            run = subprocess.run(
                command, shell=True, cwd=where, env=environment, text=True, timeout=300,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
            assert run.returncode == 0, f"{command}\n{run.stdout}"
            printed.append(run.stdout)
    finally:
        if place.exists():
            subprocess.run(
                [tidepool, "server", "stop", place, "--remove"], env=environment, check=False
            )
    assert len(COMMANDS) == 10
    advice = printed[-2]
    assert "◀ you are here" in advice
    assert (tmp_path / "advice.html").read_text().startswith("<!DOCTYPE html>")
    assert not place.exists()


def test_the_queries(make: Make) -> None:
    server = make("clock")
    for query in QUERIES:
        text = query.replace("/var/tmp/monday.rec", f"{server.directory}/monday.rec")
        script = server.directory / "guide.sql"
        script.write_text(text)
        run = server.run(server.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script)
        assert run.returncode == 0, run.stdout
    for query in re.findall(r"`(SELECT [^`]*)`", PAGE):
        assert server.query(query)
    for query in re.findall(r"`(pg_bufferpool_trace_start\('[^`]*\))`", PAGE):
        path = f"{server.directory}/again.rec"
        server.query(f"SELECT {query.replace('/var/tmp/monday.rec', path)}")
        server.query("SELECT pg_bufferpool_trace_stop()")


def test_the_options_are_those_of_the_command() -> None:
    from tidepool.cli.advise import advise

    options = {name for each in advise.params for name in each.opts if name.startswith("--")}
    described = set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.M))
    assert described == options - {"--seed", "--workers"}


@pytest.mark.parametrize("settings", [True, False])
def test_advised_lines_can_be_pasted(make: Make, settings: bool) -> None:
    server = make("clock", shared_buffers="16MB")
    server.query(
        'CREATE SCHEMA "My Schema"',
        'CREATE TABLE "My Schema"."Ta""ble" (id serial PRIMARY KEY, body text, long text)',
        'CREATE INDEX "in dex" ON "My Schema"."Ta""ble" (body)',
    )
    path = server.directory / "names.rec"
    server.query(
        f"SELECT pg_bufferpool_trace_start('{path}')",
        """INSERT INTO "My Schema"."Ta""ble" (body)
            SELECT md5(i::text) FROM generate_series(1, 1000) i""",
        """INSERT INTO "My Schema"."Ta""ble" (long)
            SELECT string_agg(body, '') FROM "My Schema"."Ta""ble\"""",
        "SELECT FROM pg_toast.pg_toast_2619 WHERE chunk_id = 1",
        "SELECT pg_bufferpool_trace_stop()",
    )
    trace = open_trace(path)
    table, sequence = '"My Schema"."Ta""ble"', '"My Schema"."Ta""ble_id_seq"'
    never = {"pg_class", "pg_toast.pg_toast_2619_index", sequence}
    assert never <= set(trace.relations.values())
    units = [unit.name for unit in units_of(Study([prepare(trace, 1.0)], SATA_SSD))]
    toast = server.query(
        f"SELECT reltoastrelid::regclass FROM pg_class WHERE oid = '{table}'::regclass"
    )
    index, primary = '"My Schema"."in dex"', '"My Schema"."Ta""ble_pkey"'
    assert sorted(units) == sorted([table, index, primary, toast])
    lines = pool_lines(
        parse_policy("arc"),
        parse_policy("lirs:hir=0.05"),
        [PoolSpec("fenced", parse_policy("lirs:hir=0.05"), 256)],
        [units],
    )
    if settings:
        server.stop()
        with (server.data / "postgresql.conf").open("a") as file:
            file.write("\n".join([*lines.settings, size_setting(2500)]) + "\n")
        server.start()
        assert server.query("SHOW bufferpool.algorithm") == "arc"
        assert server.query("SHOW shared_buffers") == "20000kB"
    script = server.directory / "advice.sql"
    script.write_text("\n".join(lines.sql) + "\n")
    run = server.run(server.bin / "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", script)
    assert (run.returncode, run.stdout) == (0, "")
    assigned = "SELECT oid::regclass FROM pg_class WHERE '{}=fenced' = ANY (reloptions)"
    own = server.query(assigned.format("buffer_pool")).splitlines()
    assert set(own) - {toast} == {table, index, primary}
    assert server.query(assigned.format("overflow_buffer_pool")) == table
    assert server.query("SELECT handler, buffers FROM pg_bufferpool WHERE name = 'fenced'") == (
        "lirs|256"
    )


@pytest.mark.parametrize("rest", ["", "REMAINDER"])
def test_a_server_with_pools_takes_its_advice(make: Make, rest: str) -> None:
    """It divides its buffers otherwise, and reads as much as was foretold."""
    server = server_with_pools(make, "lru", bgwriter_lru_maxpages="0")
    create(server, "hot", "lru", "1MB")
    fill(server, "orders", 400, ", buffer_pool = 'hot'")
    if rest:
        server.query("CREATE BUFFER POOL bulk REMAINDER HANDLER lru")
        server.query("ALTER BUFFER POOL hot SET (max_size = '2MB')")
    fill(server, "log", 3000, ", buffer_pool = 'bulk'" if rest else "")
    draws = random.Random(1)
    lookups = [
        "SET enable_seqscan = off; SET enable_bitmapscan = off",
        *(
            f"SELECT pad FROM {table} WHERE id = {draws.randint(1, pages)}"
            for _ in range(8000)
            for table, pages in (("orders", 400), ("log", 3000))
        ),
    ]

    def reads(name: str) -> tuple[Trace, int]:
        path = server.directory / name
        settle(server)
        server.query(
            "SELECT pg_stat_reset_bufferpools()",
            f"SELECT pg_bufferpool_trace_start('{path}')",
            *lookups,
            "SELECT pg_bufferpool_trace_stop()",
        )
        settle(server)
        return open_trace(path), int(server.query("SELECT sum(reads) FROM pg_stat_bufferpool"))

    reads("before.rec")  # so that what it finds in memory is of these lookups
    trace, before = reads("recorded.rec")
    assert trace.recorded is not None
    pools = {pool.name: pool for pool in trace.recorded.pools}
    assert (pools["hot"].buffers, pools["hot"].most) == (128, 256 if rest else 0)
    assert [pool.name for pool in pools.values() if pool.remainder] == (["bulk"] if rest else [])
    report = advise([trace], Request(SATA_SSD))
    advice = next(each for each in report.advice if each.title.startswith("divide"))
    assert len(advice.lines.sql) == 1
    server.query(*advice.lines.sql)
    now = sizes(server)
    assert now["hot"] == 256 if rest else now["hot"] > 256
    assert now["DEFAULT"] == FLOOR or not rest
    _, after = reads("after.rec")
    assert after / before == pytest.approx(1 - advice.share, abs=0.03)


def test_settings_for_an_algorithm() -> None:
    clock = parse_policy("clock")
    assert algorithm_settings(parse_policy("pbm"), clock) == ("bufferpool.algorithm = 'pbm'",)
    assert algorithm_settings(clock, parse_policy("lirs:hir=0.05")) == (
        "bufferpool.algorithm = 'clock'",
        "bufferpool.parameters = ''",
    )
