"""Warm starts: servers that save their list, what is on it, and the file's format."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from server.conftest import Make
from server.load import wait_for
from server.pools import fill, violations
from tidepool.server import Instance

FILE = "pg_bufferpool_warm"
BUFFERS = 1024
SETTINGS = {
    "shared_buffers": "8MB",
    "max_connections": "20",
    "bufferpool__warm_start": "on",
    "bufferpool__warm_save_interval": "0",
}

HEADER = struct.Struct("<8sIIQqIIQIIQII")
POOL = struct.Struct("<64s64s256s8dIIQII640s")
RELATION = struct.Struct("<IIIBBH")
PAGE = struct.Struct("<IIIBBBx")
GHOST = struct.Struct("<QQB3s4x")

HEADER_FIELDS = (
    "magic", "version", "standing_version", "system", "saved_at", "block_size", "pools",
    "relations_at", "relations", "body_crc", "size", "crc", "unused",
)  # fmt: skip


@dataclass
class Page:
    tablespace: int
    database: int
    file: int
    fork: int
    permanent: bool
    block: int
    position: int
    list: int
    count: int
    mark: int
    rest: bytes


@dataclass
class Pool:
    name: str
    algorithm: str
    parameters: str
    buffers: int
    pages: list[Page]
    ghosts: list[tuple[int, int, int, bytes]]


def crc32c(data: bytes) -> int:
    """Bit by bit: the files of tests are small."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table() -> list[int]:
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = _table()


def text(field: bytes) -> str:
    return field.split(b"\0")[0].decode()


def parse(data: bytes) -> tuple[dict[str, object], list[Pool]]:
    """What a file says; its checksums must be right."""
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    count = int(header["pools"])
    body = HEADER.size + POOL.size * count
    assert header["size"] == len(data)
    assert header["crc"] == crc32c(data[: HEADER.size - 8] + data[HEADER.size : body])
    assert header["body_crc"] == crc32c(data[body:])
    relations = [
        RELATION.unpack_from(data, int(header["relations_at"]) + RELATION.size * i)
        for i in range(int(header["relations"]))
    ]
    pools = []
    for i in range(count):
        fields = POOL.unpack_from(data, HEADER.size + POOL.size * i)
        name, algorithm, parameters = (text(field) for field in fields[:3])
        buffers, page_size, at, pages, ghosts = fields[11:16]
        pool = Pool(name, algorithm, parameters, buffers, [], [])
        for _ in range(pages):
            relation, block, position, of_list, uses, mark = PAGE.unpack_from(data, at)
            tablespace, database, file, fork, permanent, _ = relations[relation]
            rest = data[at + PAGE.size : at + page_size]
            pool.pages.append(
                Page(tablespace, database, file, fork, bool(permanent), block, position, of_list,
                     uses, mark, rest)
            )  # fmt: skip
            at += page_size
        for _ in range(ghosts):
            key, value, of_list, small = GHOST.unpack_from(data, at)
            pool.ghosts.append((key, value, of_list, small))
            at += GHOST.size
        pools.append(pool)
    return header, pools


def with_checksums(data: bytes) -> bytes:
    """The file with the checksums and the size that it should have."""
    header = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    body = HEADER.size + POOL.size * int(header["pools"])
    header |= {"size": len(data), "body_crc": crc32c(data[body:])}
    packed = HEADER.pack(*header.values())
    header["crc"] = crc32c(packed[:-8] + data[HEADER.size : body])
    return HEADER.pack(*header.values()) + data[HEADER.size :]


# ---- servers ----


def warm_server(make: Make, algorithm: str = "lru", **settings: str) -> Instance:
    return make(algorithm, **(SETTINGS | settings))


def file(server: Instance) -> Path:
    return server.data / FILE


def stat(server: Instance, column: str) -> str:
    return server.query(f"SELECT {column} FROM pg_stat_progress_bufferpool_warm")


def wait_until_warm(server: Instance) -> None:
    wait_for("the warm start is done", lambda: stat(server, "phase") == "done")


def restarted(server: Instance) -> None:
    """Start it, and let it read its list back."""
    server.start()
    wait_until_warm(server)
    assert violations(server) == []


def contents(server: Instance, database: str = "postgres") -> set[str]:
    """The pages of user tables, with their pools."""
    return set(
        server.query(
            "SELECT pool, b.relfilenode, relforknumber, relblocknumber"
            " FROM pg_bufferpool_buffers b JOIN pg_class c"
            " ON pg_relation_filenode(c.oid) = b.relfilenode"
            " WHERE c.oid >= 16384 AND reldatabase ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())",
            database=database,
        ).splitlines()
    )


def warmed(make: Make, algorithm: str = "lru", table: int = 500, **settings: str) -> Instance:
    """A server some of whose pages are hotter than others."""
    server = warm_server(make, algorithm, **settings)
    fill(server, "t", table)
    server.query(
        *(f"SELECT count(pad) FROM t WHERE id BETWEEN {i} AND {i + 60}" for i in (1, 200, 30, 300)),
        "SELECT count(pad) FROM t WHERE id BETWEEN 40 AND 80",
    )
    return server


def counted(server: Instance) -> dict[str, int]:
    names = ("wanted", "read", "present", "gone", "no_room", "left")
    row = server.query(
        "SELECT pages_wanted, pages_read, pages_present, pages_gone, pages_no_room, pages_left"
        " FROM pg_stat_progress_bufferpool_warm"
    )
    return dict(zip(names, map(int, row.split("|")), strict=True))


def is_complete(counts: dict[str, int]) -> bool:
    """Every wanted page has ended one way or the other."""
    return counts["wanted"] == sum(counts.values()) - counts["wanted"]
