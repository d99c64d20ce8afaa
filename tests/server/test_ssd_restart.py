"""The SSD tier after a restart: full, or empty if anything may have changed meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from server.conftest import ROOT
from server.crc32c import crc32c
from server.load import kill_server, wait_for, wait_for_restart
from server.ssd import (
    Start,
    check,
    fill,
    read_all,
    settle,
    stat,
)
from server.ssd_failing import Faults
from server.ssd_table import GOLDEN, Table, golden
from tidepool.errors import TidepoolError
from tidepool.server import Instance

STOCK = ROOT / "build" / "pgsql-stock" / "bin"
PAGES = "tidepool.ssd"
TABLE = "tidepool.ssd.table"
POLICIES = ("page_temperature", "tac", "lru", "arc")


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
    """After a clean stop and after a crash the SSD has what it had."""
    instance = start(2000, bufferpool__ssd_policy=policy)
    expected = prepare(instance)
    used = stat(instance, "used_pages")
    assert used > 900
    for _ in range(3):
        if how == "clean":
            instance.stop()
            assert (ssd / TABLE).exists()
        elif how == "killed":
            kill_server(instance)
        else:
            instance.stop("immediate")
        restarted(instance)
        settle(instance)  # recovery has written pages
        assert not (ssd / TABLE).exists()
        instance.query("SELECT pg_stat_reset_ssd_tier()")
        assert read_all(instance) == expected
        # reading changes pages, which are on their way back to the SSD for a while
        reads, hits, on_the_way = stat(instance, "reads", "hits", "passed_by")
        assert hits + on_the_way > 0.9 * reads > 700, instance.query(
            "SELECT * FROM pg_stat_ssd_tier"
        )
        assert is_warm(instance, expected, used)
        # by now they have come to the SSD
        instance.query("SELECT pg_stat_reset_ssd_tier()")
        assert read_all(instance) == expected
        reads, hits = stat(instance, "reads", "hits")
        assert hits > 0.99 * reads > 700, instance.query("SELECT * FROM pg_stat_ssd_tier")


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
        kill_server(instance)
        restarted(instance)
        assert read_all(instance) == expected
    check(instance)


def test_pages_that_the_disk_has_lost(start: Start) -> None:
    """Replay mends them without full pages in the log, though the SSD has what they lack."""
    instance = start(
        2000,
        bufferpool__ssd_policy="lru",
        bufferpool__ssd_verify="off",
        full_page_writes="off",
        shared_buffers="1MB",
    )
    fill(instance)
    file = instance.data / instance.query("SELECT pg_relation_filepath('filled')")
    synchronized = file.read_bytes()
    instance.query("UPDATE filled SET text = 'new' WHERE id % 40 = 0")
    expected = read_all(instance)
    settle(instance)
    written = file.read_bytes()
    assert len(written) > 0 and written[: len(synchronized)] != synchronized
    kill_server(instance)
    file.write_bytes(synchronized + written[len(synchronized) :])
    restarted(instance)
    assert stat(instance, "used_pages") > 900
    instance.query("ALTER SYSTEM SET bufferpool.ssd_path = ''")
    instance.stop()
    instance.start()
    assert read_all(instance) == expected


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
        kill_server(instance)
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
    kill_server(instance)
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
    instance.stop() if how == "clean" else kill_server(instance)
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


@pytest.mark.parametrize("how", ["clean", "killed"])
def test_another_server_on_the_ssd_meanwhile(start: Start, ssd: Path, how: str) -> None:
    """Another data directory's server has had the SSD: nothing there is taken for ours."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop() if how == "clean" else kill_server(instance)
    other = start(2000, bufferpool__ssd_policy="lru")
    prepare(other)
    other.stop()
    restarted(instance)
    assert stat(instance, "used_pages") < 300
    assert read_all(instance) == expected
    assert stat(instance, "bad_pages") == 0
    check(instance)


def test_another_server_after_the_table(start: Start, ssd: Path) -> None:
    """A server that claimed the SSD before the table was written has left its mark."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop()
    assert Table.read((ssd / TABLE).read_bytes()).mark != 0
    mark = ssd / "tidepool.ssd.owner"
    mark.write_bytes(b"TPSSDOWN" + bytes(range(1, 9)))
    restarted(instance)
    assert stat(instance, "used_pages") < 300
    assert read_all(instance) == expected
    check(instance)


def segment_of(instance: Instance) -> Path:
    """The shared memory in which the tier is."""
    status = instance.data.stat()
    return Path("/dev/shm") / f"tidepool.{status.st_uid}.{status.st_dev:x}.{status.st_ino:x}"


def test_a_start_that_is_killed_in_the_middle(start: Start) -> None:
    """What it was about to put in order, the next one does not believe."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    kill_server(instance)
    taking_over = 27  # its place in SsdTierShared
    with segment_of(instance).open("r+b") as segment:
        segment.seek(taking_over)
        assert segment.read(1) == b"\0"
        segment.seek(taking_over)
        segment.write(b"\1")
    restarted(instance)
    assert stat(instance, "used_pages") < 300
    assert read_all(instance) == expected
    check(instance)
    settle(instance)
    used = stat(instance, "used_pages")
    kill_server(instance)
    restarted(instance)
    assert is_warm(instance, expected, used)


def test_another_size_when_a_process_crashes(start: Start) -> None:
    """It has the memory that it had, and what is in it."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.query("ALTER SYSTEM SET bufferpool.ssd_size = '1500'", "SELECT pg_reload_conf()")
    wait_for("it is smaller", lambda: stat(instance, "pages") == 1500)
    used = stat(instance, "used_pages")
    checkpointer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    pid = instance.query(checkpointer)
    os.kill(int(pid), signal.SIGKILL)
    wait_for_restart(instance, pid)
    assert is_warm(instance, expected, used)


@pytest.mark.parametrize("how", ["clean", "killed"])
def test_a_smaller_size_at_a_restart(start: Start, ssd: Path, how: str) -> None:
    """What no longer fits goes, and the file gives back its room."""
    instance = start(2000, bufferpool__ssd_policy="lru", bufferpool__ssd_max_size="2000")
    expected = prepare(instance)
    assert stat(instance, "used_pages") > 900
    instance.query("ALTER SYSTEM SET bufferpool.ssd_size = '500'")
    instance.stop() if how == "clean" else kill_server(instance)
    restarted(instance)
    wait_for("the file is smaller", lambda: (ssd / PAGES).stat().st_size == 500 * 8192)
    assert stat(instance, "pages") == 500
    assert is_warm(instance, expected, 500)


def test_a_smaller_size_while_recovery_writes(start: Start, ssd: Path, faults: Faults) -> None:
    """What waits to be written when the tier gets smaller keeps its place, if there is room."""
    instance = start(2000, bufferpool__ssd_policy="lru", bufferpool__ssd_max_size="2000")
    prepare(instance)
    # The first pages of the table have some of the first slots, its last have slots that have
    # to go: one of those is being written, as a rule, when the tier gets smaller.
    changed = "(id <= 1200 OR id > 8000) AND id % 20 = 0"
    instance.query("CHECKPOINT", f"UPDATE filled SET text = 'newer' WHERE {changed}")
    expected = read_all(instance)
    settle(instance)
    instance.query("ALTER SYSTEM SET bufferpool.ssd_size = '500'")
    kill_server(instance)
    faults.strike(room_held=1, disk_slow=1)
    starter = threading.Thread(target=instance.start)
    starter.start()
    try:
        wait_for("recovery writes", lambda: faults.done("disk_slow") >= 300)
    finally:
        faults.strike(disk_slow=1)  # or the writer would wait for ever
    starter.join()
    faults.strike()
    assert instance.query("SELECT pg_ssd_tier_enable()") == "t"
    wait_for("the file is smaller", lambda: (ssd / PAGES).stat().st_size == 500 * 8192)
    settle(instance)
    assert stat(instance, "updates") > 200
    assert stat(instance, "used_pages", "dropped", "failed") == (500, 0, 0)
    assert is_warm(instance, expected, 500)


def test_a_tier_that_is_off_leaves_no_memory(start: Start) -> None:
    """After a clean stop nothing of it is left."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    prepare(instance)
    segment = segment_of(instance)
    assert segment.exists()
    instance.query("SELECT pg_ssd_tier_disable()")
    instance.stop()
    assert not segment.exists()
    restarted(instance)
    check(instance)


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


def test_golden_table() -> None:
    """The format is that of tables which servers have left behind."""
    assert Table.read(golden()) == GOLDEN
    assert GOLDEN.write() == golden()


def test_table(start: Start, ssd: Path) -> None:
    """The file of a clean stop has the format, and says what is on the SSD."""
    instance = start(2000, bufferpool__ssd_policy="page_temperature")
    prepare(instance)
    instance.query("ALTER TABLE filled SET (ssd_tier = keep, toast.ssd_tier = auto)")
    read_all(instance)
    settle(instance)
    node, used, system = instance.query(
        "SELECT pg_relation_filenode('filled'), used_pages, system_identifier"
        " FROM pg_stat_ssd_tier, pg_control_system()"
    ).split("|")
    instance.stop()
    data = (ssd / TABLE).read_bytes()
    table = Table.read(data)
    assert table.write() == data
    status = (ssd / "tidepool.ssd").stat()
    assert (table.block_size, table.slots, table.system) == (8192, 2000, int(system))
    assert (table.device, table.inode) == (status.st_dev, status.st_ino)
    mark = (ssd / "tidepool.ssd.owner").read_bytes()
    assert mark == b"TPSSDOWN" + table.mark.to_bytes(8, "little")
    assert len(table.pages) >= int(used) - 100
    for relation, choice in zip(table.relations, table.choices, strict=True):
        kept = relation[2] == int(node)  # the others: auto; TOAST, by its own choice
        assert choice in ([(3, 1)] if kept else [(2, 0), (2, 1)])
    assert (2, 1) in table.choices
    assert abs(table.hour - time.time() / 3600) < 2
    assert sum(table.written) >= len(table.pages)
    content = (ssd / "tidepool.ssd").read_bytes()
    database = next(relation[1] for relation in table.relations if relation[2] == int(node))
    blocks = (instance.data / "base" / str(database) / node).read_bytes()
    seen = 0
    for slot, place, block, crc in table.pages:
        if table.relations[place][2] == int(node):
            seen += 1
            page = content[8192 * slot : 8192 * (slot + 1)]
            assert page == blocks[8192 * block : 8192 * (block + 1)]
            if seen <= 20:  # the checksum covers the identity, and is slow here
                identity = struct.pack("<4I", *table.relations[place], block)
                assert crc == crc32c(identity + page)
    assert seen > 500
    for extent in table.extents:
        assert extent.relation < len(table.relations)
        assert extent.saved > 0
        assert extent.recent >= 0


def test_table_of_another_program(start: Start, ssd: Path) -> None:
    """What the table says is believed, if it is sound: half the pages are on the SSD."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop()
    table = Table.read((ssd / TABLE).read_bytes())
    half = table.without({slot for slot, *_ in table.pages if slot % 2})
    (ssd / TABLE).write_bytes(half.write())
    restarted(instance)
    assert 0 <= stat(instance, "used_pages") - len(half.pages) < 200
    assert read_all(instance) == expected
    check(instance)


def test_table_that_contradicts_itself(start: Start, ssd: Path) -> None:
    """Slots, relations and blocks that cannot be are left out, and nothing is read from them."""
    instance = start(2000, bufferpool__ssd_policy="lru")
    expected = prepare(instance)
    instance.stop()
    table = Table.read((ssd / TABLE).read_bytes())
    first, second, third, *_ = table.pages
    strange = [
        (5_000_000, *first[1:]),  # no such slot
        (first[0], 99_999, *first[2:]),  # no such relation
        second,
        (second[0], *first[1:]),  # two pages in a slot
        (third[0], *second[1:]),  # one page in two slots
    ]
    (ssd / TABLE).write_bytes(replace(table, pages=strange).write())
    restarted(instance)
    for _ in range(2):
        assert read_all(instance) == expected
        settle(instance)
    check(instance)
