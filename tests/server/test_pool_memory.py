"""The memory of pools' bookkeeping: which algorithms it is reserved for, and how much it is."""

from __future__ import annotations

from server.conftest import Make
from server.pools import create, fails, pool, server_with_pools, sizes, violations

NEEDED = 180  # bytes for each buffer, of mq with its default options
RESERVED = 120  # of the most demanding of the other algorithms


def test_an_algorithm_that_needs_too_much(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot")
    error = (
        'not enough memory for replacement algorithm "mq" with these options\n'
        f"DETAIL:  It needs {NEEDED} bytes for each buffer,"
        f" of which the server has reserved {RESERVED}.\n"
        f'HINT:  Set "bufferpool.bytes_per_buffer" to at least {NEEDED} and restart the server,'
        ' or lower "qout".'
    )
    assert error in fails(server, "CREATE BUFFER POOL cold HANDLER mq SIZE '1MB'")
    assert error in fails(server, "ALTER BUFFER POOL hot SET HANDLER mq")
    assert error in fails(server, "ALTER BUFFER POOL DEFAULT SET HANDLER mq")
    assert pool(server, "hot", "handler") == "lru"
    server.query("CREATE BUFFER POOL cold HANDLER mq SIZE '1MB' WITH (qout = 2)")
    assert violations(server) == []


def test_options_that_need_too_much(make: Make) -> None:
    server = server_with_pools(make)
    create(server, "hot", "lirs")
    assert (
        "DETAIL:  It needs 180 bytes for each buffer, of which the server has reserved 120.\n"
        'HINT:  Use the default options, or lower "ghosts".'
    ) in fails(server, "ALTER BUFFER POOL hot SET (ghosts = 4)")


def test_more_bytes(make: Make) -> None:
    """A pool of the file keeps its algorithm whatever the setting has become."""
    server = server_with_pools(make, bufferpool__bytes_per_buffer="200")
    create(server, "hot", "mq")
    create(server, "cold", "lirs2")
    server.stop()
    server.configure({"bufferpool.bytes_per_buffer": "120"})
    server.start()
    assert pool(server, "hot", "handler, options, state") == "mq||ready"
    assert pool(server, "cold", "handler") == "lirs2"
    assert violations(server) == []


def test_fewer_bytes(make: Make) -> None:
    """Memory for the algorithm and parameters of DEFAULT is always reserved."""
    server = server_with_pools(
        make, "mq", bufferpool__bytes_per_buffer="36", bufferpool__parameters="qout=6"
    )
    assert pool(server, "DEFAULT", "handler, options") == "mq|qout=6"
    create(server, "hot", "arc")
    assert violations(server) == []


def test_no_pools(make: Make) -> None:
    server = server_with_pools(make, bufferpool__max_pools="0")
    assert (
        "DETAIL:  It needs 72 bytes for each buffer, of which the server has reserved 0.\n"
        'HINT:  Set "bufferpool.max_pools" and restart the server.'
    ) in fails(server, "ALTER BUFFER POOL DEFAULT SET HANDLER arc")
    assert list(sizes(server)) == ["DEFAULT"]


def test_share_of_shared_buffers(make: Make) -> None:
    server = server_with_pools(make, shared_buffers="512MB")
    for number, handler in enumerate(("arc", "car", "lirs", "lirs2", "lru", "osic", "jam")):
        create(server, f"p{number}", handler)
    percent = server.query("SELECT 100.0 * sum(memory) / sum(size) FROM pg_bufferpool")
    assert 1 < float(percent) <= 1.5
