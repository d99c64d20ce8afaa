"""Copies of a data directory and their pools: standbys, pg_basebackup, pg_rewind."""

from __future__ import annotations

from server.conftest import Make
from server.copies import catch_up, standby_of
from server.pools import create, definitions, fill, server_with_pools, sizes, violations
from tidepool.server import Instance


def file(server: Instance) -> bytes:
    return (server.data / "pg_bufferpools").read_bytes()


def primary(make: Make) -> Instance:
    """A server with a pool of each kind, which standbys may copy."""
    server = server_with_pools(
        make, max_wal_senders="4", wal_level="replica", wal_keep_size="128MB"
    )
    (server.data / "pg_hba.conf").write_text("local all all trust\nlocal replication all trust\n")
    server.query("SELECT pg_reload_conf()")
    server.query("CREATE BUFFER POOL hot HANDLER lirs SIZE '2MB' WITH (hir = '5%')")
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER lru")
    create(server, "kept", "keep", "128kB")
    return server


def test_a_standby_has_pools_of_its_own(make: Make) -> None:
    server = primary(make)
    with standby_of(server) as standby:
        assert definitions(standby) == definitions(server)  # the copy's
        standby.query("DROP BUFFER POOL kept")
        standby.query("ALTER BUFFER POOL hot SET SIZE '3MB'")
        standby.query("ALTER BUFFER POOL hot SET HANDLER arc")
        create(standby, "own", "lru", "128kB")
        fill(server, "t", 100, ", buffer_pool = 'own'")
        catch_up(standby, server)
        assert standby.query("SELECT count(*) FROM t") == "100"
        assert violations(standby) == []
        standby.query("ALTER BUFFER POOL own RENAME TO owned", "DROP BUFFER POOL owned")
        assert sizes(server).keys() == {"DEFAULT", "hot", "rest", "kept"}
        assert sizes(standby).keys() == {"DEFAULT", "hot", "rest"}
        server.query("INSERT INTO t SELECT i, repeat('y', 500) FROM generate_series(1, 300) i")
        standby.stop()
        standby.start()
        assert sizes(standby).keys() == {"DEFAULT", "hot", "rest"}
        assert violations(standby) == []


def test_a_smaller_copy_scales_its_pools(make: Make) -> None:
    """The file keeps the sizes of the source."""
    server = primary(make)
    with standby_of(server, shared_buffers="2MB") as standby:
        assert file(standby) == file(server)
        assert sizes(standby).keys() == sizes(server).keys()
        assert sizes(standby)["hot"] < sizes(server)["hot"]
        assert "buffer pools are larger than" in standby.log.read_text()
        assert violations(standby) == []


def test_pg_rewind_takes_the_pools_of_the_source(make: Make) -> None:
    """The old primary follows the new one, whose pools are others."""
    server = primary(make)
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    with standby_of(server) as promoted:
        promoted.query("DROP BUFFER POOL kept", "ALTER BUFFER POOL hot SET SIZE '1MB'")
        create(promoted, "own", "arc", "256kB")
        catch_up(promoted, server)
        promoted.query("SELECT pg_promote()")
        # both go on, and the old primary changes its file, too
        server.query("INSERT INTO t SELECT i, 'lost' FROM generate_series(1, 50) i")
        server.query("ALTER BUFFER POOL hot SET HANDLER arc")
        (server.data / "pg_bufferpools.corrupt").write_text("an old one")
        promoted.query("INSERT INTO t SELECT i, 'kept' FROM generate_series(1, 20) i")
        server.stop()
        source = f"host={promoted.directory} user=postgres dbname=postgres"
        rewind = ("--target-pgdata", server.data, "--source-server", source, "-R")
        done = server.run(server.bin / "pg_rewind", *rewind)
        assert done.returncode == 0, done.stdout
        assert file(server) == file(promoted)
        assert not (server.data / "pg_bufferpools.corrupt").exists()
        # postgresql.conf is the source's now
        server.configure({"unix_socket_directories": str(server.directory)})
        server.start()
        assert definitions(server) == definitions(promoted)
        assert sizes(server) == sizes(promoted)
        catch_up(server, promoted)
        assert server.query("SELECT count(*), count(*) FILTER (WHERE pad = 'lost') FROM t") == (
            "120|0"
        )
        assert violations(server) == []
