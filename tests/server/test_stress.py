"""Short rounds of the stress test; ``make test-stress`` runs it for long."""

from __future__ import annotations

import random

import pytest

from server.conftest import Make
from server.load import answers, future_transactions, start_server
from server.pool_stress import PoolStress
from server.stress import Stress, unexpected


@pytest.mark.parametrize("algorithm", ["clock", "lru", "arc", "lirs", "osic"])
def test_nothing_is_lost_and_the_pool_is_sound(make: Make, algorithm: str) -> None:
    stress = Stress(make(algorithm))
    result = stress.round(algorithm, random.Random(algorithm), seconds=6)
    assert result.wrong == [], str(result)


def test_losses_are_noticed(make: Make) -> None:
    """The verification sees what it is there for."""
    stress = Stress(make("lru"))
    rng = random.Random(1)
    assert stress.verify(rng) == []
    stress.ledger.committed = 1
    assert stress.verify(rng) == ["0 transactions are there, 1 to 1 were sent"]
    stress.ledger.committed = 0
    stress.server.query("INSERT INTO grown VALUES (1, 1, '')")
    assert stress.verify(rng) == ["sums differ, or a batch is incomplete"]
    stress.server.query("TRUNCATE grown")
    # an index that lacks a tuple
    stress.server.query(
        "UPDATE pg_index SET indisready = false WHERE indexrelid = 'grown_batch_idx'::regclass"
    )
    stress.server.query("INSERT INTO grown SELECT 1, n, '' FROM generate_series(1, 100) n")
    stress.server.query(
        "UPDATE pg_index SET indisready = true WHERE indexrelid = 'grown_batch_idx'::regclass"
    )
    assert any("lacks matching index tuple" in line for line in stress.verify(rng))


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        ("[7] LOG:  server process (PID 8) was terminated by signal 9: Killed", False),
        ("[7] LOG:  server process (PID 8) was terminated by signal 6: Aborted", True),
        ('TRAP: failed Assert("found"), File: "bufmgr.c", Line: 1, PID: 8', True),
        (
            'TRAP: failed Assert("TransactionIdPrecedesOrEquals(xid, '
            'XidFromFullTransactionId(nextFullXid))"), File: "../src/include/access/transam.h"',
            False,
        ),
        ("[8] ERROR:  canceling statement due to statement timeout", False),
        ("[8] ERROR:  division by zero", True),
        ("[8] PANIC:  could not locate a valid checkpoint record", True),
        ("[8] WARNING:  page verification failed, calculated checksum 1 but expected 2", True),
        ("[8] LOG:  checkpoint complete", False),
    ],
)
def test_what_the_log_may_say(line: str, trouble: bool) -> None:
    assert unexpected(line) == trouble


def test_prepared_transactions_of_the_future(make: Make) -> None:
    """A start removes what a crash in a checkpoint has left, and nothing else."""
    server = make("clock", max_prepared_transactions="10")
    server.query("BEGIN; CREATE TABLE t (); PREPARE TRANSACTION 'kept'")
    server.stop()
    (kept,) = (server.data / "pg_twophase").iterdir()
    future = kept.with_name("00000000FFFF0000")
    future.touch()
    assert future_transactions(server) == [future]
    start_server(server)
    assert answers(server)
    assert kept.exists() and not future.exists()
    assert server.query("SELECT gid FROM pg_prepared_xacts") == "kept"
    server.query("ROLLBACK PREPARED 'kept'")


def test_pools_that_change_all_the_time(make: Make) -> None:
    stress = PoolStress(make("arc"))
    result = stress.round("arc", random.Random(1), seconds=8)
    assert result.wrong == [], str(result)
    assert result.done["statements"] > 5 and result.done["switch"] > 0
