"""The monitoring files, with the real exporter and Prometheus on a live server."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from server.conftest import Make
from server.ssd import COSTS, ssd_directory
from server.warm import wait_until_warm
from tidepool.server import Instance

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "monitoring"
PROGRAMS = ROOT / "build" / "monitoring"
PATIENCE = 90  # seconds until everything has its series

# small enough for misses of every kind: pgbench's accounts have 3,300 pages
SETTINGS = {
    "shared_buffers": "8MB",
    "track_io_timing": "on",
    "io_method": "worker",
    "bufferpool__ssd_size": "8MB",
    "bufferpool__warm_start": "on",
    "bufferpool__autotune": "advise",
    "bufferpool__autotune_interval": "1s",
    "bufferpool__autotune_gain": "0",
    **COSTS,
}
LOAD = r"""
\set aid random(1, 200000)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = 1 + (:aid * 7) % 200000;
SELECT count(filler) FROM wide WHERE aid BETWEEN 1 + :aid % 2550 AND 450 + :aid % 2550;
\set scan random(1, 40)
\if :scan = 1
SELECT sum(abalance) FROM pgbench_accounts;
\endif
"""


def program(name: str) -> str:
    """Where a program is that scripts/monitoring-programs has fetched."""
    assert (PROGRAMS / name).exists(), "run scripts/monitoring-programs build/monitoring"
    return str(PROGRAMS / name)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def fetch(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return str(answer.read().decode())


def wait_until(done: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.2)


def answers(port: int, path: str) -> Callable[[], bool]:
    def answer() -> bool:
        try:
            fetch(port, path)
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    return answer


@contextmanager
def running(command: list[str], log: Path, **environment: str) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **environment}
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class Watched:
    """A loaded server, its exporter, and Prometheus."""

    def __init__(self, server: Instance, exporter: int, prometheus: int, logs: Path) -> None:
        self.server, self.exporter, self.prometheus, self.logs = server, exporter, prometheus, logs

    def values(self, query: str) -> list[float]:
        """The values of a query's series, those that are numbers."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": query})
        result = json.loads(fetch(self.prometheus, path))["data"]["result"]
        values = [float(series["value"][1]) for series in result]
        return [value for value in values if math.isfinite(value)]


def load(server: Instance, script: Path) -> list[str]:
    script.write_text(LOAD)
    script.chmod(0o644)
    pgbench = [str(server.bin / "pgbench"), "-n", "-c", "4", "-T", "600", "-f", str(script)]
    return [*pgbench, "--rate", "40"]  # a second: leave time to those who watch


@pytest.fixture(scope="module")
def watched(make_once: Make, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    logs = tmp_path_factory.mktemp("logs")
    ssd = ssd_directory()
    server = make_once("pbm", bufferpool__ssd_path=str(ssd), **SETTINGS)
    server.query("SELECT pg_ssd_tier_enable()")
    server.run(server.bin / "pgbench", "-i", "-q", "-s", "2")
    server.query(
        "CREATE BUFFER POOL small HANDLER arc SIZE '1MB'",
        # 215 pages for 128 buffers, 33 of them in each transaction: more buffers would save far
        # more than chance may account for
        "CREATE TABLE wide WITH (buffer_pool = small) AS"
        " SELECT aid, repeat('w', 500) AS filler FROM generate_series(1, 3000) AS aid",
        "ALTER TABLE wide ADD PRIMARY KEY (aid)",
        "CREATE ROLE watcher LOGIN",
        "GRANT pg_monitor TO watcher",
    )
    server.stop()
    server.start()  # warm
    wait_until_warm(server)
    server.query("SELECT pg_bufferpool_save_warm(true)", "SELECT pg_ssd_tier_enable()")
    server.query(f"SELECT pg_bufferpool_trace_start('{server.directory}/recording')")
    exporter, prometheus = free_port(), free_port()
    config = logs / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        f"rule_files: ['{FILES / 'alerts.yaml'}']\n"
        "scrape_configs:\n"
        "  - job_name: tidepool\n"
        f"    static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]\n"
    )
    clients = subprocess.Popen(
        load(server, server.directory / "load.sql"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=server.environment(),
    )
    try:
        with (
            running(
                [
                    program("prometheus-postgres-exporter"),
                    f"--web.listen-address=127.0.0.1:{exporter}",
                    f"--extend.query-path={FILES / 'queries.yaml'}",
                    "--no-collector.bgwriter",
                ],
                logs / "exporter",
                DATA_SOURCE_NAME=f"user=watcher host={server.directory} dbname=postgres"
                " sslmode=disable",
            ),
            running(
                [
                    program("prometheus"),
                    f"--config.file={config}",
                    f"--storage.tsdb.path={logs / 'data'}",
                    f"--web.listen-address=127.0.0.1:{prometheus}",
                ],
                logs / "prometheus",
            ),
        ):
            wait_until(answers(exporter, "/metrics"), logs / "exporter")
            wait_until(answers(prometheus, "/-/ready"), logs / "prometheus")
            yield Watched(server, exporter, prometheus, logs)
    finally:
        clients.terminate()
        clients.wait()
        server.stop()  # before its SSD goes
        shutil.rmtree(ssd)


def declared() -> set[str]:
    """The metrics of queries.yaml."""
    names = set()
    prefix = ""
    for line in (FILES / "queries.yaml").read_text().splitlines():
        if match := re.match(r"(\w+):$", line):
            prefix = match[1]
        elif (match := re.match(r' +- "?(\w+)"?: \{usage: (\w+)', line)) and match[2] != "LABEL":
            names.add(f"{prefix}_{match[1]}")
    return names


def dashboard_queries() -> list[str]:
    """All queries of the dashboard, for every server and pool."""
    board = json.loads((FILES / "dashboard.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    values = {"$__rate_interval": "10s", "$instance": ".+", "$pool": ".+"}
    for variable, value in values.items():
        queries = [query.replace(variable, value) for query in queries]
    return queries


def test_every_metric_has_samples(watched: Watched) -> None:
    missing = declared()
    assert len(missing) > 60

    def all_there() -> bool:
        text = fetch(watched.exporter, "/metrics")
        for name, value in re.findall(r"^(tidepool_\w+)(?:\{[^}]*\})? (\S+)$", text, re.M):
            if math.isfinite(float(value)):
                missing.discard(name)
        return not missing

    try:
        wait_until(all_there, watched.logs / "exporter")
    except AssertionError:
        pytest.fail(f"no samples of {sorted(missing)}")
    # a query that fails is logged, and its metrics are missing now and then
    assert "err=" not in (watched.logs / "exporter").read_text()


def test_every_query_of_the_dashboard_has_series(watched: Watched) -> None:
    missing = set(dashboard_queries())
    assert len(missing) > 30

    def all_there() -> bool:
        missing.difference_update([query for query in missing if watched.values(query)])
        return not missing

    try:
        wait_until(all_there, watched.logs / "prometheus")
    except AssertionError:
        pytest.fail(f"no series for {sorted(missing)}")


def test_the_numbers_are_the_server_s(watched: Watched) -> None:
    wait_until(lambda: bool(watched.values("tidepool_pool_buffers")), watched.logs / "prometheus")
    assert watched.values('tidepool_pool_buffers{pool="small"}') == [128]
    assert watched.values('tidepool_pool_info_defined{pool="small",algorithm="arc"}') == [1]
    assert watched.values('tidepool_pool_info_defined{pool="DEFAULT",algorithm="pbm"}') == [1]
    assert sum(watched.values("tidepool_pool_buffers")) == 1024
    # it comes to what the server had counted, and is never ahead
    hits = "SELECT hits FROM pg_stat_bufferpool WHERE name = 'DEFAULT'"
    before = int(watched.server.query(hits))

    def is_there() -> bool:
        (scraped,) = watched.values('tidepool_pool_hits_total{pool="DEFAULT"}')
        assert scraped <= int(watched.server.query(hits))
        return scraped > before

    wait_until(is_there, watched.logs / "prometheus")


def test_alerts_are_sound(watched: Watched) -> None:
    def rules() -> list[dict[str, Any]]:
        groups = json.loads(fetch(watched.prometheus, "/api/v1/rules"))["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    wait_until(
        lambda: all(rule["health"] != "unknown" for rule in rules()), watched.logs / "prometheus"
    )
    assert [rule["name"] for rule in rules() if rule["health"] != "ok"] == []
    named = set(re.findall(r"\btidepool_\w+", (FILES / "alerts.yaml").read_text()))
    assert named <= declared()


def test_alerts_fire_when_they_should() -> None:
    for arguments in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        run = subprocess.run(
            [program("promtool"), *arguments],
            cwd=FILES,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
    # every rule fires in the second of the tests
    rules = set(re.findall(r"- alert: (\w+)", (FILES / "alerts.yaml").read_text()))
    fired = set(re.findall(r'alertname="(\w+)"', (FILES / "alerts_test.yaml").read_text()))
    assert rules == fired
