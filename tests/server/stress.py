"""Crash a server under load, again and again, and verify what it comes back with.

A round: the server starts with an algorithm and settings drawn at random; many
clients write, drop, extend and scan on a tiny pool, while others cancel and
terminate them, record, and kill a process; the round ends as the server is
killed, stopped at once, or stopped.  After the restart

- pg_amcheck finds nothing in any table and index, and no heap tuple is
  missing from an index;
- each transaction whose commit was acknowledged is there, and none that
  nobody sent; sums agree;
- pg_bufferpool_check() is clean;
- the server's log has no error but those that were provoked.

The data directory goes on from round to round, from algorithm to algorithm.
fsync is off: what a killed process has written is with the operating system,
which does not crash here.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from server.conftest import BIN
from server.load import (
    CLIENTS,
    LEDGER,
    SCRIPTS,
    Interruptions,
    Ledger,
    Worker,
    answers,
    kill_one,
    kill_server,
    resolve_prepared,
    set_up,
    start_server,
    wait_for,
)
from tidepool.server import LIBRARIES, Instance, server_algorithms

SETTINGS = {
    "shared_preload_libraries": LIBRARIES,
    "bufferpool.trace_buffers": "4096",
    "fsync": "off",
    "autovacuum_naptime": "1s",
    "bgwriter_delay": "10ms",
    "max_wal_size": "64MB",
    "max_prepared_transactions": "10",
    "log_autovacuum_min_duration": "-1",
}
DRAWN = {
    "shared_buffers": ["1MB", "2MB", "8MB"],
    "bufferpool.batch_size": ["1", "8", "64"],
    "bgwriter_lru_maxpages": ["0", "100", "1000"],
    "io_method": ["worker", "sync", "io_uring"],
    "io_combine_limit": ["1", "16"],
}
# see start_server()
FUTURE_TRANSACTION = re.compile(r'failed Assert\("TransactionIdPrecedesOrEquals\(xid, .*transam\.h')
MESSAGE = re.compile(r"(?:WARNING|ERROR|FATAL|PANIC|TRAP): +(.*)|.* was terminated by signal .*")
PROVOKED = re.compile(
    r"canceling (statement due to|authentication due to|autovacuum task)"
    r"|terminating (\w+ )+(\"[^\"]*\" )?(due to administrator command|because of crash)"
    r"|the database system is (starting up|shutting down|in recovery mode|not yet accepting)"
    r"|prepared transaction with identifier .* (does not exist|is busy)"
    r"|could not (attach to dynamic shared area|map dynamic shared memory segment)"
    r"|lost connection to parallel worker|parallel worker failed to initialize"
    r"|autovacuum worker took too long to start"  # the machine is busy
    r"|PID \d+ is not a PostgreSQL backend process"  # any more
    r"|could not send signal to process \d+: No such process"  # it has just ended
    r"|(a recording is already|no recording is) in progress"
    r"|the recording is not complete|could not start the recorder"
    r"|\d+ events? (is|are) missing from the recording"
    r"|.* was terminated by signal 9: Killed"
    rf"|.*{FUTURE_TRANSACTION.pattern}"
    r"|startup process .* was terminated by signal 6: Aborted"
    r"|removing future two-phase state"
)
SUMS = (
    "SELECT sum(abalance) = (SELECT sum(bbalance) FROM pgbench_branches)"
    " AND sum(abalance) = (SELECT sum(tbalance) FROM pgbench_tellers)"
    " AND sum(abalance) = (SELECT coalesce(sum(delta), 0) FROM pgbench_history)"
    " AND (SELECT sum(value) FROM balances) = 100000"
    " AND NOT EXISTS (SELECT FROM grown GROUP BY batch HAVING count(*) <> 100)"
    " FROM pgbench_accounts"
)


@dataclass
class Round:
    """What happened in a round.

    Attributes:
        algorithm: the one that ran.
        settings: those that were drawn.
        ending: how the server went down.
        ledger: of pgbench's transactions.
        done: how often a script was run, a client interrupted, a process killed.
        wrong: what must not be.
    """

    algorithm: str
    settings: dict[str, str]
    ending: str
    ledger: Ledger = field(default_factory=Ledger)
    done: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = ", ".join(f"{name} {count}" for name, count in self.done.items())
        return (
            f"{self.algorithm:12}{self.ending:10}"
            f"{self.ledger.committed} committed, {self.ledger.in_doubt} in doubt; {done}"
        )


class Stress:
    """A server and what it must have when it comes back."""

    drawn = DRAWN
    provoked = PROVOKED

    def __init__(self, server: Instance) -> None:
        """Make the tables; the server runs."""
        self.server = server
        self.ledger = Ledger()
        self._log_read = 0
        set_up(server)
        server.configure(SETTINGS)

    def round(self, algorithm: str, rng: random.Random, seconds: float) -> Round:
        """Load, crash, come back, verify; the server runs before and after."""
        drawn = {name: rng.choice(values) for name, values in self.drawn.items()}
        result = Round(algorithm, drawn, rng.choice(["kill", "immediate", "fast"]))
        self.server.configure(drawn | {"bufferpool.algorithm": algorithm})
        self.server.stop()
        self.server.start()
        self._load(result, rng, seconds)
        start_server(self.server)
        result.wrong += self.verify(rng)
        if (
            self.server.query("SELECT handler FROM pg_bufferpool WHERE name = 'DEFAULT'")
            != algorithm
        ):
            result.wrong.append("another algorithm ran")
        return result

    def _load(self, result: Round, rng: random.Random, seconds: float) -> None:
        enough = threading.Event()
        workers = [Worker(self.server, number, enough) for number in range(len(CLIENTS))]
        others = self.others(rng, enough)
        threads: list[Worker | Interruptions] = [*workers, *others]
        for thread in threads:
            thread.start()
        try:
            time.sleep(seconds * rng.uniform(0.3, 0.6))
            kill_one(self.server, rng)
            wait_for("the server is back", lambda: answers(self.server) or self._is_stuck())
            if self._is_stuck():
                kill_server(self.server)
                start_server(self.server)
            time.sleep(seconds * rng.uniform(0.3, 0.6))
            # on a slow machine it takes longer until all have done something
            wait_for(
                "each script has come to its end once, and what else is expected",
                lambda: (
                    {w.script for w in workers if w.transactions} == {*SCRIPTS, LEDGER}
                    and all(other.is_content() for other in others)
                ),
                seconds=300,
            )
            if result.ending == "kill":
                kill_server(self.server)
            else:
                self.server.stop(result.ending)
        except BaseException:
            with contextlib.suppress(OSError):  # clients of a server that hangs would, too
                kill_server(self.server)
            raise
        finally:
            enough.set()
            for thread in threads:
                thread.join()
        for worker in workers:
            result.ledger.committed += worker.ledger.committed
            result.ledger.in_doubt += worker.ledger.in_doubt
            if worker.script != LEDGER:
                result.done[worker.script] = result.done.get(worker.script, 0) + worker.transactions
        result.wrong += [repr(thread.error) for thread in threads if thread.error]
        done = sum((other.done for other in others), Counter())
        result.done |= {name: done[name] for name in sorted(done)}
        self.ledger.committed += result.ledger.committed
        self.ledger.in_doubt += result.ledger.in_doubt

    def _is_stuck(self) -> bool:
        """Whether recovery has met a future prepared transaction.

        The postmaster that began it after a crash does not notice that it failed.
        """
        with self.server.log.open(errors="replace") as log:
            log.seek(self._log_read)
            return FUTURE_TRANSACTION.search(log.read()) is not None

    def others(self, rng: random.Random, enough: threading.Event) -> list[Interruptions]:
        """What runs beside the clients."""
        return [Interruptions(self.server, random.Random(rng.random()), enough)]

    # ---- verification ----

    def verify(self, rng: random.Random) -> list[str]:
        """What is wrong with a server that has no load."""
        wrong = self._pool()
        resolve_prepared(self.server, rng)
        wrong += self._ledger()
        if self.server.query(SUMS) != "t":
            wrong.append("sums differ, or a batch is incomplete")
        options = ("--install-missing", "--heapallindexed")
        amcheck = self.server.run(self.server.bin / "pg_amcheck", *options, "postgres")
        if amcheck.returncode != 0:
            wrong += amcheck.stdout.splitlines()
        return wrong + self._pool() + self._log()

    def _pool(self) -> list[str]:
        return self.server.query("SELECT * FROM pg_bufferpool_check()").splitlines()

    def _ledger(self) -> list[str]:
        least = self.ledger.committed
        most = least + self.ledger.in_doubt
        found = int(self.server.query("SELECT count(*) FROM pgbench_history"))
        if least <= found <= most:
            return []
        return [f"{found} transactions are there, {least} to {most} were sent"]

    def _log(self) -> list[str]:
        """What has been logged since the last time, and was not provoked."""
        with self.server.log.open(errors="replace") as log:
            log.seek(self._log_read)
            lines = log.readlines()
            self._log_read = log.tell()
        return [line.strip() for line in lines if unexpected(line, self.provoked)]


def unexpected(line: str, provoked: re.Pattern[str] = PROVOKED) -> bool:
    """Whether a line of the server's log tells of trouble."""
    message = MESSAGE.search(line)
    return message is not None and not provoked.search(message.group(0))


def run(stress: Stress, names: list[str], rounds: int, seed: int, seconds: float) -> bool:
    """Rounds with one algorithm after the other, each at most once more than others."""
    order: list[str] = []
    done: Counter[str] = Counter()
    for number in range(1, rounds + 1):
        rng = random.Random(f"{seed} {number}")
        order = order or rng.sample(names, len(names))
        start = time.monotonic()
        result = stress.round(order.pop(), rng, seconds)
        print(f"{number:3} {time.monotonic() - start:4.0f} s  {result}", flush=True)
        done.update(result.done)
        if result.wrong:
            print(result.settings, *result.wrong[:20], sep="\n")
            return False
    print("in all:", ", ".join(f"{name} {count}" for name, count in sorted(done.items())))
    return True


def main() -> None:
    """Run rounds as the command line says."""
    from server.pool_stress import PoolStress  # which is built on this module

    known = server_algorithms()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, help="how many; default: one with each algorithm")
    parser.add_argument(
        "--algorithms",
        nargs="+",
        choices=known,
        default=known,
        metavar="NAME",
        help="to draw from: " + " ".join(known),
    )
    parser.add_argument("--seconds", type=float, default=10, help="of load in a round")
    parser.add_argument("--seed", type=int, help="of what is drawn; default: a new one, printed")
    parser.add_argument("--pools", action="store_true", help="also change named pools all the time")
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed
    rounds = len(options.algorithms) if options.rounds is None else options.rounds
    if rounds < 1:
        parser.error("--rounds must be at least 1")
    print(f"{rounds} rounds, --seed {seed}", flush=True)

    server = Instance(Path(tempfile.mkdtemp(prefix="tidepool-stress-")), BIN)
    server.create(SETTINGS | {"shared_buffers": "1MB"})
    server.start()
    try:
        stress = PoolStress(server) if options.pools else Stress(server)
        passed = run(stress, options.algorithms, rounds, seed, options.seconds)
    finally:
        if server.running():
            server.stop("immediate")
    if not passed:
        sys.exit(f"FAIL; see {server.directory}")
    server.remove()
    print("ok")


if __name__ == "__main__":
    main()
