"""Private PostgreSQL instances: made in a directory, started, asked, stopped.

An instance listens on a socket in its directory and nowhere else, so any
number of them can run beside each other and beside a server of the system.
A server must not run as root; when root makes an instance, the server runs as
the account ``postgres`` or, if there is none, ``nobody``.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tidepool.errors import TidepoolError

# shared_preload_libraries with which bufferpool.algorithm can be any policy
LIBRARIES = "pg_bp_lru,pg_bp_osic,pg_bp_arc,pg_bp_lirs,pg_bp_rcrd,pg_bp_car,pg_bp_lab"

# what a socket's path may have, less its name
SOCKET_DIRECTORY_LENGTH = 90

# trust is safe: nobody else can reach a socket in this directory
INITDB = ("-A", "trust", "-E", "UTF8", "--locale=C", "-U", "postgres", "--no-sync")


def server_account() -> pwd.struct_passwd | None:
    """Whom a server runs as if this process is root's; None if as this process."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise TidepoolError(
        "a server cannot run as root, and there is no account postgres or nobody",
        hint="run this as another user",
    )


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


class Instance:
    """A PostgreSQL instance in a directory.

    Attributes:
        directory: everything of the instance, the socket too.
        bin: where the server's programs are.
        data: the data directory.
        log: the server's log.
    """

    def __init__(self, directory: Path, bin_directory: Path) -> None:
        """Name an instance, which need not exist yet."""
        self.directory = directory.absolute()
        self.bin = bin_directory.absolute()
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self._account = server_account()
        if not (self.bin / "initdb").exists():
            raise TidepoolError(f"no server in {self.bin}", hint="build it: make postgres")
        if len(str(self.directory)) > SOCKET_DIRECTORY_LENGTH:
            raise TidepoolError(
                f"{self.directory}: path is too long for a socket",
                hint=f"choose a directory of at most {SOCKET_DIRECTORY_LENGTH} characters",
            )

    # ---- life ----

    def exists(self) -> bool:
        """Whether it has been created."""
        return (self.data / "PG_VERSION").exists()

    def create(self, settings: Mapping[str, str] | None = None) -> None:
        """Make the directory and the database cluster in it."""
        if self.exists():
            raise TidepoolError(f"{self.directory}: there is an instance already")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        if self._account:
            os.chown(self.directory, self._account.pw_uid, self._account.pw_gid)
        self._must(self.bin / "initdb", "-D", self.data, *INITDB)
        self.configure({"listen_addresses": "", "unix_socket_directories": str(self.directory)})
        self.configure(settings or {})

    def configure(self, settings: Mapping[str, str]) -> None:
        """Append to postgresql.conf."""
        with (self.data / "postgresql.conf").open("a") as file:
            for name, value in settings.items():
                quoted = value.replace("\\", "\\\\").replace("'", "''")
                file.write(f"{name} = '{quoted}'\n")

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        self._must(self.bin / "pg_ctl", "-D", self.data, "-l", self.log, "-w", "-s", "start")

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
        psql = (self.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database)
        commands = (word for query in queries for word in ("-c", query))
        return self._must(*psql, *commands, input_file=input_file).strip()

    def run(
        self,
        *command: str | Path,
        input_file: IO[bytes] | None = None,
        output: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the server's account, with connections going to this instance."""
        who = self._account
        with (output or Path(os.devnull)).open("w") as file:
            return subprocess.run(
                command,
                cwd=self.directory,
                env=self.environment(),
                stdin=input_file or subprocess.DEVNULL,
                stdout=file if output else subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                user=who.pw_uid if who else None,
                group=who.pw_gid if who else None,
                extra_groups=[] if who else None,
            )

    def environment(self) -> dict[str, str]:
        """The environment in which clients reach this instance."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return clean | {
            "LC_ALL": "C",
            "PATH": f"{self.bin}:{clean.get('PATH', '/usr/bin:/bin')}",
            "PGHOST": str(self.directory),
            "PGUSER": "postgres",
            "PGDATABASE": "postgres",
        }

    def _must(self, *command: str | Path, input_file: IO[bytes] | None = None) -> str:
        run = self.run(*command, input_file=input_file)
        if run.returncode != 0:
            program = Path(command[0]).name
            text = run.stdout.strip()
            if program == "pg_ctl" and self.log.exists():
                text += "\n" + "\n".join(self.log.read_text(errors="replace").splitlines()[-10:])
            raise TidepoolError(f"{program} failed: {text}")
        return run.stdout
