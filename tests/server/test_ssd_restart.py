"""The SSD tier after a restart: full, or empty if anything may have changed meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import threading
import time
from pathlib import Path

import pytest

from server.conftest import ROOT
from server.ssd import (
    Start,
    check,
    fill,
    read_all,
    settle,
    stat,
    wait_until,
)
from tidepool.errors import TidepoolError
from tidepool.server import Instance

STOCK = ROOT / "build" / "pgsql-stock" / "bin"
TABLE = "tidepool.ssd.table"
POLICIES = ("page_temperature", "tac", "lru", "arc")


def kill(instance: Instance) -> None:
    """Kill the postmaster; the others notice and go."""
    pid = int((instance.data / "postmaster.pid").read_text().split()[0])
    group = os.popen(f"pgrep -P {pid}").read().split()
    os.kill(pid, signal.SIGKILL)
    for child in group:
        try:
            os.kill(int(child), signal.SIGKILL)
        except ProcessLookupError:
            continue
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in group))


def prepare(instance: Instance) -> str:
    """Let the table be on the SSD, some of it written again."""
    fill(instance)
    read_all(instance)
    settle(instance)
    instance.query("UPDATE filled SET text = 'new' WHERE id % 40 = 0", "CHECKPOINT")
    expected = read_all(instance)
    settle(instance)
    return expected


def restarted(instance: Instance) -> None:
    instance.start()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"


def is_warm(instance: Instance, expected: str, used: int) -> bool:
    """Whether the tier has what it had; what it has is right in any case."""
    has = int(stat(instance, "used_pages"))
    instance.query("SELECT pg_stat_reset_ssd_tier()")
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    check(instance)
    return has > 0.95 * used


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("how", ["clean", "killed", "immediate"])
def test_warm(start: Start, ssd: Path, policy: str, how: str) -> None:
    """After a clean stop and after a crash nothing is read from the disk that was on the SSD."""
    instance = start(2000, bufferpool__ssd_policy=policy)
    expected = prepare(instance)
    used = stat(instance, "used_pages")
    assert used > 900
    for _ in range(3):
        if how == "clean":
            instance.stop()
            assert (ssd / TABLE).exists()
        elif how == "killed":
            kill(instance)
        else:
            instance.stop("immediate")
        restarted(instance)
        settle(instance)  # recovery has written pages
        assert not (ssd / TABLE).exists()
        instance.query("SELECT pg_stat_reset_ssd_tier()")
        assert read_all(instance) == expected
        reads, hits = stat(instance, "reads", "hits")
        assert hits > 0.9 * reads > 700, instance.query("SELECT * FROM pg_stat_ssd_tier")
        assert is_warm(instance, expected, used)


def test_pages_written_before_a_crash(start: Start) -> None:
    """A page that was written to the disk before the crash is not read as it was before."""
    instance = start(3000, bufferpool__ssd_policy="lru")
    fill(instance)
    for round_ in range(6):
        read_all(instance)
        instance.query(f"UPDATE filled SET text = '{round_}' WHERE id % 30 = {round_}")
        if round_ % 2 == 0:
            instance.query("CHECKPOINT")
        if round_ == 3:
            instance.query("DELETE FROM filled WHERE id > 18000", "VACUUM filled")
        if round_ == 4:
            instance.query(
                "INSERT INTO filled SELECT i, repeat('x', 300)"
                " FROM generate_series(18001, 19000) AS i"
            )
        expected = read_all(instance)
        kill(instance)
        restarted(instance)
        assert read_all(instance) == expected
    check(instance)


def test_killed_under_load(start: Start) -> None:
    """Killed again and again while pages come and go, some processes within the tier's lock."""
    instance = start(800, bufferpool__ssd_policy="lru", shared_buffers="1MB")
    fill(instance)
    read_all(instance)
    for _ in range(8):
        over = threading.Event()

        def load(seed: int, over: threading.Event = over) -> None:
            while not over.is_set():
                try:
                    instance.query(
                        f"SELECT sum(length(text)) FROM filled WHERE id % 7 = {seed}",
                        f"UPDATE filled SET text = text WHERE id % 200 = {seed}",
                    )
                except TidepoolError:
                    return

        clients = [threading.Thread(target=load, args=(seed,)) for seed in range(4)]
        for client in clients:
            client.start()
        time.sleep(0.7)
        over.set()
        kill(instance)
        for client in clients:
            client.join()
        restarted(instance)
        assert stat(instance, "used_pages") > 300
        expected = read_all(instance)
        assert read_all(instance) == expected
        check(instance)


def test_unlogged_relations(start: Start) -> None:
    """An unlogged table is empty after a crash, whatever is on the SSD."""
    instance = start(bufferpool__ssd_policy="lru")
    instance.query(
        "CREATE UNLOGGED TABLE lost AS SELECT i AS id FROM generate_series(1, 50000) AS i",
        "CREATE INDEX ON lost (id)",
        "CHECKPOINT",
        "SELECT sum(id) FROM lost",
        "SELECT sum(id) FROM lost",
    )
    settle(instance)
    kill(instance)
    restarted(instance)
    assert instance.query("SELECT count(*) FROM lost") == "0"
    instance.query("INSERT INTO lost SELECT i FROM generate_series(1, 40000) AS i", "CHECKPOINT")
    for _ in range(2):
        assert instance.query("SELECT count(*), sum(id) FROM lost") == "40000|800020000"
    check(instance)


@pytest.mark.skipif(not STOCK.exists(), reason="stock PostgreSQL is not built")
@pytest.mark.parametrize("how", ["clean", "killed"])
@pytest.mark.parametrize("end", ["fast", "immediate"])
def test_another_server_meanwhile(start: Start, ssd: Path, how: str, end: str) -> None:
    """Stock PostgreSQL has had the data directory: what is on the SSD is not believed."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    used = stat(instance, "used_pages")
    instance.stop() if how == "clean" else kill(instance)
    ours = instance.bin
    configuration = instance.data / "postgresql.conf"
    before = configuration.read_text()
    try:
        instance.bin = STOCK
        configuration.write_text(before.replace("shared_preload_libraries", "tidepool.libraries"))
        instance.start()
        instance.query("UPDATE filled SET text = 'stock' WHERE id % 3 = 0", "CHECKPOINT")
        expected = read_all(instance)
        instance.stop(end)
    finally:
        instance.bin = ours
        configuration.write_text(before)
    restarted(instance)
    assert not is_warm(instance, expected, used)


def test_control_file_rewritten(start: Start) -> None:
    """Programs that change files of the stopped server change the control file too."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop()
    instance.run(instance.bin / "pg_checksums", "--disable", "-N", "-D", instance.data)
    restarted(instance)
    assert stat(instance, "used_pages") < 300
    assert read_all(instance) == expected


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "huge", "other file"])
def test_damaged_table(start: Start, ssd: Path, damage: str) -> None:
    """A table that is not as it was written is not believed."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop()
    table = ssd / TABLE
    content = bytearray(table.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    elif damage == "truncated":
        del content[len(content) // 2 :]
    elif damage == "empty":
        content.clear()
    elif damage == "huge":
        content += bytes(50_000_000)
    table.write_bytes(content)
    if damage == "other file":
        pages = ssd / "tidepool.ssd"
        shutil.copy2(pages, ssd / "copy")
        shutil.chown(ssd / "copy", *owner(pages))
        pages.unlink()
        (ssd / "copy").rename(pages)
    restarted(instance)
    assert stat(instance, "used_pages") < 300
    assert read_all(instance) == expected
    check(instance)


def owner(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid


def test_table(start: Start, ssd: Path) -> None:
    """The file of a clean stop is as documented (src/backend/storage/ssdtier/persist.c)."""
    instance = start(2000, bufferpool__ssd_policy="page_temperature")
    prepare(instance)
    node, used = instance.query(
        "SELECT pg_relation_filenode('filled'), used_pages FROM pg_stat_ssd_tier"
    ).split("|")
    instance.stop()
    data = (ssd / TABLE).read_bytes()
    magic, _, device, inode, _, block_size, slots, relations, pages, extents = struct.unpack_from(
        "<8s3Q6I", data
    )
    status = (ssd / "tidepool.ssd").stat()
    assert (magic, block_size, slots) == (b"TPSSDTB1", 8192, 2000)
    assert (device, inode) == (status.st_dev, status.st_ino)
    assert pages >= int(used) - 100
    assert len(data) == 64 + 12 * relations + 16 * pages + 64 * extents + 4
    names = [struct.unpack_from("<3I", data, 64 + 12 * i) for i in range(relations)]
    at = 64 + 12 * relations
    content = (ssd / "tidepool.ssd").read_bytes()
    table = instance.data / "base" / str(next(n[1] for n in names if n[2] == int(node))) / node
    blocks = table.read_bytes()
    seen = 0
    for i in range(pages):
        slot, relation, block, _ = struct.unpack_from("<4I", data, at + 16 * i)
        if names[relation][2] == int(node):
            seen += 1
            assert (
                content[8192 * slot : 8192 * (slot + 1)]
                == blocks[8192 * block : 8192 * (block + 1)]
            )
    assert seen > 500
    for i in range(extents):
        relation, _, saved, recent = struct.unpack_from("<2I2d", data, at + 16 * pages + 64 * i)
        assert relation < relations
        assert saved > 0
        assert recent >= 0
