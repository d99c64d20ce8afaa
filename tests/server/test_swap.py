"""One data directory, now under PostgreSQL as it comes, now under ours.

Each binary takes over from the other after a clean stop, and after the server
was killed: then it replays what the other one has logged.  postgresql.conf is
the same all the time, with our settings in it; only the libraries, which stock
does not have, are taken out.

The cluster is like one that a package made: collations of ICU, columns and
logged pages compressed with LZ4 and zstd, checksums, TLS, XML.
"""

from __future__ import annotations

import re
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.conftest import BIN, ROOT
from server.load import kill_server
from tidepool.server import LIBRARIES, Instance

STOCK = ROOT / "build" / "pgsql-stock" / "bin"

# every index access method; toast, partitions, unlogged tables, sequences
FILL = """
CREATE EXTENSION amcheck;
CREATE EXTENSION "uuid-ossp";
CREATE COLLATION numeric (provider = icu, locale = 'en-u-kn');
CREATE TABLE kinds (
    id serial PRIMARY KEY, place point, words tsvector, numbers int[], day date, note text,
    name text COLLATE numeric, body text COMPRESSION lz4, document xml,
    key uuid DEFAULT uuid_generate_v4());
ALTER TABLE kinds ALTER note SET STORAGE EXTERNAL;
CREATE INDEX ON kinds (name);
CREATE INDEX ON kinds (name COLLATE "default");
CREATE INDEX ON kinds USING hash (note);
CREATE INDEX ON kinds USING gist (place);
CREATE INDEX ON kinds USING spgist (place);
CREATE INDEX ON kinds USING gin (words);
CREATE INDEX ON kinds USING gin (numbers);
CREATE INDEX ON kinds USING brin (day);
CREATE TABLE parts (id int, pad text) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON parts (id);
CREATE UNLOGGED TABLE passing (id int PRIMARY KEY);
CREATE MATERIALIZED VIEW many AS SELECT g AS id FROM generate_series(1, 3000) g;
"""
WRITE = """
INSERT INTO kinds (place, words, numbers, day, note, name, body, document)
SELECT point(g, -g), to_tsvector('simple', 'w' || g % 97 || ' v' || g % 11), ARRAY[g, g % 7],
    date '2026-01-01' + g, repeat(md5(g::text), CASE WHEN g % 50 = 0 THEN 200 ELSE 1 END),
    'Größe ' || g, repeat('body ' || g, 500), xmlelement(name number, g)
FROM generate_series(1, 2000) g;
UPDATE kinds SET place = point(id, id) WHERE id % 5 = 0;
DELETE FROM kinds WHERE id % 9 = 0;
INSERT INTO parts SELECT g, repeat('p', 300) FROM generate_series(1, 3000) g;
INSERT INTO passing SELECT coalesce(max(id), 0) + 1 FROM passing;
UPDATE pgbench_accounts SET abalance = abalance + aid WHERE aid % 3 = 0;
"""
# what takes a library to answer
READ = {
    "SELECT 'a' < 'B' AND 'Größe 9' < 'Größe 10' COLLATE numeric": "t",
    "SELECT DISTINCT pg_column_compression(body) FROM kinds": "lz4",
    "SELECT count(*) > 0 FROM kinds WHERE xpath_exists('/number[.=7]', document)": "t",
}

Stop = Callable[[Instance], None]


class Reachable(Instance):
    """An instance that listens on a port, too."""

    port = 0

    def environment(self) -> dict[str, str]:
        # clients look for certificates of their own at home
        return super().environment() | {"PGPORT": str(self.port), "HOME": str(self.directory)}

    def choose_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]


def stop_cleanly(server: Instance) -> None:
    server.stop()


@pytest.fixture
def directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="tidepool-test-"))
    yield path
    Instance(path, BIN).remove()


def create(directory: Path, bin_directory: Path, algorithm: str) -> None:
    server = Instance(directory, bin_directory)
    server.create(
        {
            "listen_addresses": "127.0.0.1",
            "ssl": "on",
            "wal_compression": "zstd",
            "shared_buffers": "1MB",
            "fsync": "off",
            "bufferpool.algorithm": algorithm,
            "bufferpool.batch_size": "32",
            "bufferpool.batch_threshold": "16",
            "bufferpool.trace_buffers": "64",
        },
        initdb=["--locale-provider=icu", "--icu-locale=en-US"],
    )
    certify = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=swap"
    certify += " -addext subjectAltName=IP:127.0.0.1 -keyout data/server.key -out data/server.crt"
    made = server.run(*certify.split())
    assert made.returncode == 0, made.stdout
    (server.data / "server.key").chmod(0o600)
    (server.data / "pg_hba.conf").write_text(
        "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
    )


def open_with(directory: Path, bin_directory: Path) -> Reachable:
    """The same directory under another binary."""
    server = Reachable(directory, bin_directory)
    server.choose_port()
    server.log.unlink(missing_ok=True)
    with (server.data / "postgresql.conf").open("r+") as file:
        kept = [line for line in file if not re.match("shared_preload_libraries|port ", line)]
        kept.append(f"port = {server.port}\n")
        if bin_directory == BIN:
            kept.append(f"shared_preload_libraries = '{LIBRARIES}'\n")
        file.seek(0)
        file.truncate()
        file.writelines(kept)
    server.start()
    return server


def write(server: Instance) -> None:
    # statement by statement, so that VACUUM may be among them
    for statement in [*WRITE.split(";")[:-1], "VACUUM kinds", "CHECKPOINT", "DELETE FROM parts"]:
        server.query(statement)
    bench = server.run(server.bin / "pgbench", "-n", "-c", "4", "-t", "100")
    assert bench.returncode == 0, bench.stdout


def dump(server: Instance) -> str:
    """All of the cluster that outlives a crash, as SQL."""
    run = server.run(server.bin / "pg_dumpall", "--restrict-key=swap", "--no-unlogged-table-data")
    assert run.returncode == 0, run.stdout
    return run.stdout


def control(server: Instance) -> dict[str, str]:
    """What pg_controldata tells, but for what every server changes."""
    run = server.run(server.bin / "pg_controldata", server.data)
    assert run.returncode == 0, run.stdout
    pairs = (line.split(":", 1) for line in run.stdout.splitlines())
    changing = re.compile("checkpoint|last modified|cluster state|LSN", re.I)
    return {name: value.strip() for name, value in pairs if not changing.search(name)}


def connect_by_tls(server: Reachable) -> None:
    """Log in by the certificate and the password that the cluster was made with."""
    address = (
        f"host=127.0.0.1 port={server.port} user=remote password=swap sslmode=verify-full"
        f" sslrootcert={server.data}/server.crt channel_binding=require dbname=postgres"
    )
    query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    login = server.run(server.bin / "psql", "-XAtq", "-d", address, "-c", query)
    assert login.stdout == "t\n", login.stdout


def verify(server: Reachable) -> None:
    check = server.run(server.bin / "pg_amcheck", "--heapallindexed", "postgres")
    assert check.returncode == 0, check.stdout
    for query, answer in READ.items():
        assert server.query(query) == answer
    connect_by_tls(server)
    sums = (
        "SELECT count(*), sum(delta) = (SELECT sum(bbalance) FROM pgbench_branches)"
        " FROM pgbench_history"
    )
    assert server.query(sums) == f"{server.query('SELECT 400 * max(rounds) FROM written')}|t"
    log = server.log.read_text()
    assert not re.search("WARNING|ERROR|PANIC|TRAP", log), log


@pytest.mark.parametrize("algorithm", ["clock", "arc"])
@pytest.mark.parametrize("stop", [stop_cleanly, kill_server])
def test_binaries_take_over_from_each_other(directory: Path, stop: Stop, algorithm: str) -> None:
    create(directory, STOCK, algorithm)
    server = open_with(directory, STOCK)
    server.run(server.bin / "pgbench", "-i", "-q", "-s", "1")
    server.query(FILL)
    server.query("CREATE TABLE written (rounds int)")
    server.query("CREATE ROLE remote LOGIN PASSWORD 'swap'")
    versions = control(server)
    assert "Catalog version number" in versions
    assert versions["Data page checksum version"] != "0"
    dumps: list[str] = []
    for rounds, binaries in enumerate([STOCK, BIN, STOCK], 1):
        if rounds > 1:
            server = open_with(directory, binaries)
            assert dump(server) == dumps[-1]
            verify(server)
            # crashes reset statistics and unlogged tables, stops do neither
            survived = stop is stop_cleanly
            assert (server.query("SELECT max(id) FROM passing") != "") == survived
            inserted = "SELECT n_tup_ins > 0 FROM pg_stat_user_tables WHERE relname = 'kinds'"
            assert (server.query(inserted) == "t") == survived
        write(server)
        if binaries == BIN:  # stock will have to do with an extension whose library it lacks
            server.query("CREATE EXTENSION pg_bufferpool")
            assert server.query("SELECT handler FROM pg_bufferpool") == algorithm
            assert server.query("SELECT * FROM pg_bufferpool_check()") == ""
        server.query(f"INSERT INTO written VALUES ({rounds})")
        dumps.append(dump(server))
        assert len(set(dumps)) == rounds
        assert control(server) == versions
        stop(server)
