"""Private PostgreSQL instances: made in a directory, started, asked, stopped.

An instance listens on a socket in its directory and nowhere else, so any
number of them can run at once, and along with a server of the system.
A server must not run as root; when root makes an instance, the server runs as
the account ``postgres`` or, if there is none, ``nobody``.  Where that account
cannot reach the server's programs, as in a clone in root's home, it is given a
copy of them.

That account owns the instance's directory, so root trusts nothing in it: it reads
and writes there as that account, and runs its own programs.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from tidepool.errors import TidepoolError
from tidepool.policies import policies

# shared_preload_libraries with which bufferpool.algorithm can be any policy
LIBRARIES = ",".join(dict.fromkeys(policy.library for policy in policies() if policy.library))

# what a socket's path may have, less its name
SOCKET_DIRECTORY_LENGTH = 90

LAST_LINES = 10  # of a log or of a command's output, told when it fails

_PREFIX = re.compile(r"^[-\d]+ [:.\d]+ \w+ \[\d+\] ")  # of a line of the log

# trust is safe: nobody else can reach a socket in this directory
INITDB = ("-A", "trust", "-E", "UTF8", "--locale=C", "-U", "postgres", "--no-sync")


def server_algorithms() -> list[str]:
    """Return the names that ``bufferpool.algorithm`` may have with these libraries, clock first."""
    there = [policy for policy in policies() if policy.library or policy.built_in]
    there.sort(key=lambda policy: policy.name != "clock")
    return [name for policy in there for name in (policy.name, policy.alias) if name]


def server_account(data: Path | None = None) -> pwd.struct_passwd | None:
    """Whom a server runs as if this process is root's; None if as this process.

    Who owns the data directory, if it exists; else an account that may run servers.
    """
    if os.geteuid() != 0:
        return None
    if data and data.exists():
        owner = data.stat().st_uid
        try:
            return pwd.getpwuid(owner)
        except KeyError:
            raise TidepoolError(f"{data} belongs to user {owner}, who has no account") from None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise TidepoolError(
        "a server cannot run as root, and there is no account postgres or nobody",
        hint="run this as another user",
    )


def reaches(account: pwd.struct_passwd, path: Path) -> bool:
    """Whether an account can get to a file or directory."""
    test = subprocess.run(
        ["test", "-e", path],
        cwd="/",
        check=False,
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=[],
    )
    return test.returncode == 0


def server_directory() -> Path:
    """Where the server's programs are that ``make postgres`` has installed.

    Beside the virtual environment that this runs in, or below the working
    directory.
    """
    places = [base / "build" / "pgsql" / "bin" for base in (Path(sys.prefix).parent, Path.cwd())]
    for place in places:
        if (place / "initdb").exists():
            return place
    raise TidepoolError(
        f"no server in {places[0]}", hint="build it with make postgres, or say where: --bin"
    )


def _output(run: subprocess.CompletedProcess[str]) -> str:
    """What a command printed; raises TidepoolError with the last of it if it failed."""
    if run.returncode != 0:
        program = Path(run.args[0]).name
        last = run.stdout.strip().splitlines()[-LAST_LINES:]
        raise TidepoolError("\n".join([f"{program} failed:", *last]))
    return run.stdout


class Instance:
    """A PostgreSQL instance in a directory.

    Attributes:
        directory: everything of the instance, the socket too.
        bin: where the server's programs are.
        clients: likewise, for this process's account.
        data: the data directory.
        log: the server's log.
    """

    def __init__(self, directory: Path, bin_directory: Path) -> None:
        """Name an instance, which need not exist yet."""
        self.directory = directory.absolute()
        self.bin = bin_directory.absolute()
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self._account = server_account(self.data)
        self._original: Path | None = None  # of what the server has a copy
        self.clients = self.bin
        if not (self.bin / "initdb").exists():
            raise TidepoolError(f"no server in {self.bin}", hint="build it: make postgres")
        if self._account and not reaches(self._account, self.bin / "initdb"):
            self._original = self.bin.parent
            self.bin = self.directory / "pgsql" / "bin"
        if len(str(self.directory)) > SOCKET_DIRECTORY_LENGTH:
            raise TidepoolError(
                f"{self.directory}: path is too long for a socket",
                hint=f"choose a directory of at most {SOCKET_DIRECTORY_LENGTH} characters",
            )

    # ---- life ----

    def exists(self) -> bool:
        """Whether it has been created."""
        return (self.data / "PG_VERSION").exists()

    def create(self, settings: Mapping[str, str] | None = None, initdb: Sequence[str] = ()) -> None:
        """Make the directory, unless it is there and empty, and the database cluster in it.

        Nothing stays if that fails.  ``initdb`` adds options to initdb's usual ones.
        """
        if self.exists():
            raise TidepoolError(f"{self.directory}: there is an instance already")
        if self.directory.exists() and next(self.directory.iterdir(), None):
            raise TidepoolError(
                f"{self.directory}: neither empty nor an instance", hint="name a new directory"
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        self._check_owner(self.directory.lstat())
        try:
            self._take_directory()
            self._copy_programs()
            self._must(self.bin / "initdb", "-D", self.data, *INITDB, *initdb)
            self.configure({"listen_addresses": "", "unix_socket_directories": str(self.directory)})
            self.configure(settings or {})
        except BaseException:
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def _check_owner(self, found: os.stat_result) -> None:
        """Raise TidepoolError if root would give away the directory of somebody else."""
        if self._account is None:
            return
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (0, self._account.pw_uid):
            raise TidepoolError(
                f"{self.directory}: neither root's nor {self._account.pw_name}'s directory",
                hint="name a new directory",
            )

    def _take_directory(self) -> None:
        """Give the directory to the server's account, and to nobody else."""
        follow = 0 if self._account is None else os.O_NOFOLLOW
        here = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | follow)
        try:
            self._check_owner(os.fstat(here))
            os.fchmod(here, 0o700)
            if self._account is None:
                return
            if not reaches(self._account, self.directory):
                raise TidepoolError(
                    f"{self._account.pw_name}, as whom the server runs, cannot reach"
                    f" {self.directory}",
                    hint="choose a directory that everybody can reach, such as one in /tmp",
                )
            os.fchown(here, self._account.pw_uid, self._account.pw_gid)
        finally:
            os.close(here)

    def _copy_programs(self) -> None:
        """Copy the programs as they now are if the server's account cannot reach them."""
        if self._original is None:
            return
        copy = self.bin.parent
        self._must("rm", "-rf", copy)
        self._must("mkdir", copy)
        with subprocess.Popen(
            ("tar", "-C", self._original, "-cf", "-", "."), stdout=subprocess.PIPE
        ) as packed:
            unpacked = self.run("tar", "-C", copy, "-xf", "-", input_file=packed.stdout)
        _output(unpacked)
        if packed.returncode != 0:
            raise TidepoolError(f"could not copy {self._original}")

    def configure(self, settings: Mapping[str, str]) -> None:
        """Append to postgresql.conf."""
        lines = []
        for name, value in settings.items():
            quoted = value.replace("\\", "\\\\").replace("'", "''")
            lines.append(f"{name} = '{quoted}'\n")
        if lines:
            self._write(self.data / "postgresql.conf", "".join(lines), "-a")

    def _write(self, path: Path, text: str, *options: str) -> None:
        """Write a file as the server's account; with ``-a``, append to it."""
        with tempfile.TemporaryFile() as file:
            file.write(text.encode())
            file.seek(0)
            self._must("tee", *options, path, input_file=file)

    def start(self) -> None:
        """Start the server and wait until it accepts connections.

        Raises:
            TidepoolError: it did not; with what it logged.
        """
        self._copy_programs()
        logged = self.log.stat().st_size if self.log.exists() else 0
        command = ("-D", self.data, "-l", self.log, "-w", "-s", "start")
        run = self.run(self.bin / "pg_ctl", *command)
        if run.returncode != 0:
            text = run.stdout
            if self.log.exists():
                text = self.log.read_bytes()[logged:].decode(errors="replace")
            lines = [_PREFIX.sub("", line) for line in text.splitlines()[-LAST_LINES:]]
            raise TidepoolError("\n".join(["the server does not start:", *lines]))

    def restart(
        self, settings: Mapping[str, str], check: Callable[[], None] = lambda: None
    ) -> None:
        """Start the server with further settings, or again if it runs.

        If it does not start with them, or ``check`` raises when it has, all
        is as before.
        """
        running = self.running()
        if running:
            self.stop()
        file = self.data / "postgresql.conf"
        before = self._must("cat", file)
        try:
            self.configure(settings)
            self.start()
            check()
        except TidepoolError:
            if self.running():
                self.stop()
            self._write(file, before)
            if running:
                self.start()
            raise

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: smart, fast or immediate."""
        self._must(self.bin / "pg_ctl", "-D", self.data, "-w", "-s", "-m", mode, "stop")

    def running(self) -> bool:
        """Whether the server runs."""
        if not self.exists():
            return False
        return self.run(self.bin / "pg_ctl", "-D", self.data, "status").returncode == 0

    def remove(self) -> None:
        """Stop the server if it runs and delete everything."""
        if self.running():
            self.stop("immediate")
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- use ----

    def query(
        self,
        *queries: str,
        user: str = "postgres",
        database: str = "postgres",
        input_file: IO[bytes] | None = None,
    ) -> str:
        """What psql prints for queries of one session: rows on lines, columns separated by |.

        ``input_file`` is what COPY … FROM STDIN reads; it must be the only
        statement of its query.
        """
        psql = (self.clients / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database)
        commands = (word for query in queries for word in ("-c", query))
        # as this process's account: to change it, Python copies the whole process
        run = subprocess.run(
            [*psql, *commands],
            stdin=input_file or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
            **(self._surroundings() | {"env": self.environment()}),
        )
        return _output(run).strip()

    def run(
        self,
        *command: str | Path,
        input_file: IO[bytes] | None = None,
        output: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the server's account, with connections going to this instance."""
        with (output or Path(os.devnull)).open("w") as file:
            return subprocess.run(
                command,
                stdin=input_file or subprocess.DEVNULL,
                stdout=file if output else subprocess.PIPE,
                check=False,
                **self._surroundings(),
                **self._identity(),
            )

    def lines(self, *command: str | Path) -> Iterator[str]:
        """Run a command as ``run`` does, and yield each line when it is printed.

        The command is killed if the caller stops reading.

        Raises:
            TidepoolError: it failed; with the last lines.
        """
        last: deque[str] = deque(maxlen=LAST_LINES)
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            **self._surroundings(),
            **self._identity(),
        ) as process:
            try:
                for line in process.stdout or ():
                    last.append(line)
                    yield line
                process.wait()
            finally:
                process.kill()
        if process.returncode != 0:
            raise TidepoolError(f"{Path(command[0]).name} failed:\n{''.join(last).strip()}")

    def _surroundings(self) -> dict[str, Any]:
        """What commands run in, as arguments to subprocess."""
        return {
            "cwd": self.directory,
            "env": self.environment() | self._of_copies(),
            "stderr": subprocess.STDOUT,
            "text": True,
        }

    def _identity(self) -> dict[str, Any]:
        """The server's account, if it is another one, as arguments to subprocess."""
        who = self._account
        if who is None:
            return {}
        return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}

    def environment(self) -> dict[str, str]:
        """The environment in which clients reach this instance."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return clean | {
            "LC_ALL": "C",
            "PATH": self._path(self.clients),
            "PGHOST": str(self.directory),
            "PGUSER": "postgres",
            "PGDATABASE": "postgres",
        }

    def _of_copies(self) -> dict[str, str]:
        """What the server's account has otherwise in its environment if it has copies."""
        if self._original is None:
            return {}
        # programs look for libraries where they were installed
        libraries = (file.parent for file in self.bin.parent.glob("lib/**/libpq.so.5"))
        return {"LD_LIBRARY_PATH": ":".join(map(str, libraries)), "PATH": self._path(self.bin)}

    def _path(self, programs: Path) -> str:
        return f"{programs}:{os.environ.get('PATH', '/usr/bin:/bin')}"

    def _must(self, *command: str | Path, input_file: IO[bytes] | None = None) -> str:
        return _output(self.run(*command, input_file=input_file))
