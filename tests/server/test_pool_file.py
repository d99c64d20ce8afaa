"""The file that defines the pools: restarts, crashes, damage, less memory, missing libraries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from server.conftest import Make
from server.crc32c import crc32c
from server.load import kill_server
from server.pools import (
    BUFFERS,
    create,
    definitions,
    fails,
    fill,
    pages,
    pool,
    server_with_pools,
    sizes,
    violations,
)
from tidepool.server import LIBRARIES, Instance


def stop(server: Instance) -> None:
    server.stop()


def stop_at_once(server: Instance) -> None:
    server.stop("immediate")


def file(server: Instance) -> Path:
    return server.data / "pg_bufferpools"


def set_up(make: Make, **settings: str) -> Instance:
    """A server with a pool of each kind."""
    server = server_with_pools(make, **settings)
    server.query("CREATE BUFFER POOL hot HANDLER lirs SIZE '2MB' WITH (hir = '5%')")
    server.query("COMMENT ON BUFFER POOL hot IS E'tab\\tline\\nback\\\\slash\\\\t'")
    create(server, '"Größe"', "arc", "1MB")
    server.query("CREATE BUFFER POOL rest REMAINDER HANDLER lru")
    create(server, "kept", "keep", "128kB")
    return server


def log_of_start(server: Instance) -> str:
    """What it logs from its start on."""
    server.log.unlink()
    server.start()
    return server.log.read_text()


@pytest.mark.parametrize("end", [stop, stop_at_once, kill_server])
def test_pools_survive(make: Make, end: Callable[[Instance], None]) -> None:
    server = set_up(make)
    fill(server, "t", 50, ", buffer_pool = 'hot'")
    before = server.query("TABLE pg_bufferpool"), definitions(server), file(server).read_bytes()
    end(server)
    log = log_of_start(server)
    assert "WARNING" not in log
    assert (
        server.query("TABLE pg_bufferpool"),
        definitions(server),
        file(server).read_bytes(),
    ) == before
    assert server.query("SELECT count(pad) FROM t") == "50"
    # what recovery has read is in DEFAULT, since it knows no relations
    assert pages(server, "t").keys() <= ({"hot"} if end is stop else {"hot", "DEFAULT"})
    assert violations(server) == []


def test_the_file(make: Make) -> None:
    """Its format, which other versions have to read."""
    server = set_up(make)
    header, *lines = file(server).read_text().splitlines()
    assert header.startswith("tidepool buffer pools 1 crc32c ")
    assert lines == [
        "hot\tlirs\thir=5%\t2097152\ttab\\tline\\nback\\\\slash\\\\t",
        "Größe\tarc\t\t1048576\t",
        "rest\tlru\t\tremainder\t",
        "kept\tkeep\t\t131072\t",
    ]
    assert file(server).stat().st_mode & 0o077 == 0
    assert not file(server).with_suffix(".tmp").exists()


def test_the_file_of_this_version(make: Make) -> None:
    """A file as it was once written."""
    server = server_with_pools(make)
    server.stop()
    body = "hot\tlru\t\t1048576\tit is \\\\ hot\n"
    file(server).write_text(f"tidepool buffer pools 1 crc32c {crc32c(body.encode()):08x}\n{body}")
    give(server, file(server))
    server.start()
    assert pool(server, "hot", "handler, buffers, comment") == "lru|128|it is \\ hot"


def give(server: Instance, path: Path) -> None:
    """Let the server's account own a file."""
    owner = server.data.stat()
    os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def replace_version(path: Path) -> None:
    path.write_text(path.read_text().replace("pools 1", "pools 2", 1))


def insert_nul(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"arc", b"a\0c"))


def make_huge(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x" * (2 << 20))


def forbid(path: Path) -> None:
    path.chmod(0)


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


CORRUPT = 'WARNING:  file "pg_bufferpools" is corrupt or of another version'


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (flip, CORRUPT),
        (truncate, CORRUPT),
        (empty, CORRUPT),
        (replace_version, CORRUPT),
        (insert_nul, CORRUPT),
        (make_huge, 'WARNING:  could not read file "pg_bufferpools"'),
        (forbid, 'WARNING:  could not open file "pg_bufferpools": Permission denied'),
        (make_directory, 'WARNING:  could not read file "pg_bufferpools"'),
    ],
)
def test_a_damaged_file(make: Make, damage: Callable[[Path], None], message: str) -> None:
    server = set_up(make)
    fill(server, "t", 50, ", buffer_pool = 'hot'")
    server.stop()
    damage(file(server))
    if file(server).is_dir():
        give(server, file(server))
    log = log_of_start(server)
    assert message in log
    assert sizes(server) == {"DEFAULT": BUFFERS}
    assert server.query("SELECT count(*) FROM t") == "50"
    assert pages(server, "t").keys() == {"DEFAULT"}
    if damage in (make_directory, forbid):
        assert "could not open file" in fails(
            server, "CREATE BUFFER POOL hot HANDLER lru SIZE '1MB'"
        )
        assert sizes(server) == {"DEFAULT": BUFFERS}
        return
    damaged = file(server).read_bytes()
    create(server, "hot")
    if message == CORRUPT:
        assert file(server).with_suffix(".corrupt").read_bytes() == damaged
    server.stop()
    assert "WARNING" not in log_of_start(server)
    assert sizes(server) == {"DEFAULT": BUFFERS - 128, "hot": 128}
    assert violations(server) == []


def test_a_missing_file(make: Make) -> None:
    server = set_up(make)
    server.stop()
    file(server).unlink()
    assert "WARNING" not in log_of_start(server)
    assert sizes(server) == {"DEFAULT": BUFFERS}


def test_a_symbolic_link(make: Make) -> None:
    """It is read through, and replaced by a file, never written through."""
    server = set_up(make)
    before = definitions(server)
    server.stop()
    elsewhere = server.directory / "elsewhere"
    shutil.move(file(server), elsewhere)
    file(server).symlink_to(elsewhere)
    text = elsewhere.read_text()
    server.start()
    assert definitions(server) == before
    server.query("DROP BUFFER POOL kept")
    assert not file(server).is_symlink()
    assert elsewhere.read_text() == text


def test_one_line_that_makes_no_sense(make: Make) -> None:
    server = server_with_pools(make)
    server.stop()
    lines = {"hot": "1048576", "wrong": "much", "": "1048576", "cold": "131072"}
    body = "".join(f"{name}\tlru\t\t{size}\t\n" for name, size in lines.items())
    file(server).write_text(f"tidepool buffer pools 1 crc32c {crc32c(body.encode()):08x}\n{body}")
    give(server, file(server))
    log = log_of_start(server)
    assert log.count("WARNING:  ignoring a buffer pool in file") == 2
    assert sizes(server) == {"DEFAULT": BUFFERS - 144, "hot": 128, "cold": 16}


def test_what_an_interrupted_statement_has_left(make: Make) -> None:
    """The new file before it was renamed."""
    server = set_up(make)
    before = definitions(server)
    server.stop()
    temporary = server.data / "pg_bufferpools.tmp"
    temporary.write_text("half of it")
    give(server, temporary)
    server.start()
    assert definitions(server) == before
    server.query("DROP BUFFER POOL kept")
    assert not temporary.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE BUFFER POOL new HANDLER lru SIZE '128kB'",
        "ALTER BUFFER POOL hot SET SIZE '1MB'",
        "ALTER BUFFER POOL hot SET HANDLER arc",
        "ALTER BUFFER POOL hot RENAME TO warm",
        "COMMENT ON BUFFER POOL hot IS 'new'",
        "DROP BUFFER POOL hot",
    ],
)
def test_a_file_that_cannot_be_written(make: Make, statement: str) -> None:
    server = set_up(make)
    before = server.query("TABLE pg_bufferpool"), definitions(server), file(server).read_bytes()
    obstacle = server.data / "pg_bufferpools.tmp"
    obstacle.mkdir()
    assert 'could not create file "pg_bufferpools.tmp"' in fails(server, statement)
    assert (
        server.query("TABLE pg_bufferpool"),
        definitions(server),
        file(server).read_bytes(),
    ) == before
    obstacle.rmdir()
    server.query(statement)
    assert violations(server) == []


# ---- less memory ----


def test_smaller_shared_buffers(make: Make) -> None:
    """Pools shrink in proportion, and have their sizes back with the memory."""
    server = server_with_pools(make, shared_buffers="16MB")
    create(server, "hot", "arc", "8MB")
    create(server, "cold", "lru", "4MB")
    server.query("COMMENT ON BUFFER POOL cold IS 'is smaller'")
    before = definitions(server)
    server.configure({"shared_buffers": "2MB"})
    server.stop()
    log = log_of_start(server)
    assert 'WARNING:  buffer pools are larger than "shared_buffers" has become' in log
    found = sizes(server)
    assert sum(found.values()) == 256
    assert found["hot"] == pytest.approx(2 * found["cold"], abs=2)
    assert found["DEFAULT"] >= 112  # two for each backend, but at most half
    fill(server, "t", 200, ", buffer_pool = 'hot'")
    assert server.query("SELECT count(*) FROM t") == "200"
    assert violations(server) == []
    server.configure({"shared_buffers": "16MB"})
    server.stop()
    assert "WARNING" not in log_of_start(server)
    assert definitions(server) == before


@pytest.mark.parametrize("last", ["HANDLER lru SIZE '128kB'", "REMAINDER HANDLER lru"])
def test_smaller_shared_buffers_leave_no_pool_empty(make: Make, last: str) -> None:
    """A large pool that comes first in the file does not take what small ones need."""
    server = server_with_pools(make, shared_buffers="16MB")
    create(server, "large", "arc", "7MB")
    for name in ("a", "b", "c"):
        create(server, name, "lru", "128kB")
    server.query(f"CREATE BUFFER POOL d {last}")
    server.configure({"shared_buffers": "2MB"})
    server.stop()
    log_of_start(server)
    found = sizes(server)
    assert [found[name] for name in "abcd"] == pytest.approx([16] * 4, abs=1)
    assert found["large"] == pytest.approx(256 - found["DEFAULT"] - 4 * 16, abs=1)
    assert violations(server) == []


def test_a_statement_writes_the_sizes_that_fit(make: Make) -> None:
    server = server_with_pools(make, shared_buffers="16MB")
    create(server, "hot", "arc", "8MB")
    server.configure({"shared_buffers": "2MB"})
    server.stop()
    server.start()
    size = sizes(server)["hot"]
    server.query("COMMENT ON BUFFER POOL hot IS 'small'")
    server.configure({"shared_buffers": "16MB"})
    server.stop()
    server.start()
    assert sizes(server)["hot"] == size


@pytest.mark.parametrize("shared_buffers", ["128kB", "1MB"])
def test_hardly_any_memory(make: Make, shared_buffers: str) -> None:
    server = set_up(make)
    server.configure({"shared_buffers": shared_buffers})
    server.stop()
    server.start()
    fill(server, "t", 100, ", buffer_pool = 'hot'")
    assert server.query("SELECT count(*) FROM t") == "100"
    assert sum(sizes(server).values()) == (128 if shared_buffers == "1MB" else 16)
    assert violations(server) == []
    server.configure({"shared_buffers": "8MB"})
    server.stop()
    server.start()
    assert sizes(server)["hot"] == 256


def test_fewer_pools(make: Make) -> None:
    """A pool for which there is no memory is left out, and not forgotten."""
    server = set_up(make)
    server.configure({"bufferpool.max_pools": "2"})
    server.stop()
    assert "WARNING" in log_of_start(server)
    assert len(sizes(server)) == 3
    server.query("COMMENT ON BUFFER POOL hot IS 'changed'")
    server.configure({"bufferpool.max_pools": "-1"})
    server.stop()
    server.start()
    assert sizes(server).keys() == {"DEFAULT", "hot", "Größe", "rest", "kept"}


def test_no_pools_at_all(make: Make) -> None:
    server = set_up(make)
    server.configure({"bufferpool.max_pools": "0", "bufferpool.algorithm": "arc"})
    server.stop()
    assert "WARNING" in log_of_start(server)
    assert sizes(server) == {"DEFAULT": BUFFERS}
    server.query("ALTER BUFFER POOL DEFAULT SET HANDLER arc")
    server.configure({"bufferpool.max_pools": "-1"})
    server.stop()
    server.start()
    assert sizes(server).keys() == {"DEFAULT", "hot", "Größe", "rest", "kept"}


# ---- libraries ----


def test_a_missing_library(make: Make) -> None:
    """Its pool has the clock until the library is back, whatever is done meanwhile."""
    server = set_up(make)
    fill(server, "t", 300, ", buffer_pool = 'hot'")
    server.configure({"shared_preload_libraries": "pg_bp_lru"})
    server.stop()
    log = log_of_start(server)
    assert (
        'WARNING:  replacement algorithm "lirs" of buffer pool "hot" does not exist, using "clock"'
        in log
    )
    assert pool(server, "hot", "handler, options, state, buffers") == (
        "clock|hir=5%|handler is missing|256"
    )
    assert "HANDLER lirs" in definitions(server)[0]
    server.query("SELECT count(*) FROM t", "UPDATE t SET id = id", "VACUUM t")
    assert violations(server) == []
    assert "does not exist" in fails(server, "ALTER BUFFER POOL hot SET (hir = 0.1)")
    server.query("ALTER BUFFER POOL hot SET SIZE '1MB'", "COMMENT ON BUFFER POOL rest IS 'x'")
    server.configure({"shared_preload_libraries": LIBRARIES})
    server.stop()
    assert "WARNING" not in log_of_start(server)
    assert pool(server, "hot", "handler, options, state, buffers") == "lirs|hir=5%|ready|128"


def test_no_library(make: Make) -> None:
    """There is no memory for pools, and the file stays as it is."""
    server = set_up(make)
    before = definitions(server)
    text = file(server).read_text()
    server.configure({"shared_preload_libraries": ""})
    server.stop()
    assert "WARNING" in log_of_start(server)
    assert sizes(server) == {"DEFAULT": BUFFERS}
    fails(server, "CREATE BUFFER POOL new HANDLER clock SIZE '1MB'")
    fails(server, "ALTER BUFFER POOL DEFAULT SET HANDLER jam")
    assert file(server).read_text() == text
    server.configure({"shared_preload_libraries": LIBRARIES})
    server.stop()
    server.start()
    assert definitions(server) == before
