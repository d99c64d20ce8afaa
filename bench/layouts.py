"""Servers whose code lies elsewhere in memory, and is otherwise the same.

Where a server's functions lie changes how long they take, by some per cent: the
processor's branch predictors and caches go by addresses.  So whatever a change of
the code costs, it also shifts what lies behind it, for better or worse.  Servers
that are compared are therefore linked in several ways, and drawn anew for each
start.  (Mytkowicz, Diwan, Hauswirth, Sweeney: Producing wrong data without doing
anything obviously wrong, ASPLOS 2009.)
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from live import STOCK, programs

from tidepool.errors import TidepoolError

SHIFTS = 8  # of each server
LINE = 64  # bytes: functions keep their place within a cache line
PAGE = 4096  # the system itself chooses at random at which pages a program begins

_SERVER = "src/backend/postgres"
_OUTPUT = f"-o {_SERVER} "


class Layouts:
    """Directories with the programs of stock and ours, shifted in SHIFTS ways each."""

    def __init__(self, root: Path):
        self._root = root

    def draw(self, server: str, order: Random) -> Path:
        """Return where the programs are of one of the shifts of stock or of ours."""
        return _place(self._root, _kind(server), order.randrange(SHIFTS))


@contextmanager
def shifted() -> Iterator[Layouts]:
    """Link both servers anew, in SHIFTS ways each, half a minute; delete them afterwards.

    Raises TidepoolError if a server was not built here.
    """
    build = programs("clock").parents[1]
    root = Path(tempfile.mkdtemp(prefix="layouts-", dir=build))
    try:
        root.chmod(0o755)  # the server's account reads it
        for server in (STOCK, "clock"):
            _link_all(build / "postgres" / _kind(server), programs(server).parent, root, server)
        yield Layouts(root)
    finally:
        shutil.rmtree(root)


def _kind(server: str) -> str:
    """The name of a build's objects, below build/postgres."""
    return "stock" if server == STOCK else "release"


def _place(root: Path, kind: str, number: int) -> Path:
    return root / f"{kind}-{number}" / "bin"


def _link_all(objects: Path, installed: Path, root: Path, server: str) -> None:
    arguments = _arguments(objects)
    order = Random(server)
    for number, lines in enumerate(order.sample(range(PAGE // LINE), SHIFTS)):
        bin_directory = _place(root, _kind(server), number)
        _imitate(installed, bin_directory)
        _link(objects, arguments, lines * LINE, bin_directory / "postgres")


def _arguments(objects: Path) -> str:
    """What the linker was given for the server; links it, as it was, to see that."""
    try:
        (objects / _SERVER).unlink(missing_ok=True)
        ninja = [str(Path(sys.executable).with_name("ninja")), "-C", str(objects)]
        _run([*ninja, "--quiet", "-d", "keeprsp", _SERVER], objects)
        arguments = (objects / f"{_SERVER}.rsp").read_text()
    except FileNotFoundError:
        raise TidepoolError(
            f"no server's objects in {objects}",
            hint="make postgres, and make postgres BUILD=stock",
        ) from None
    if arguments.count(_OUTPUT) != 1:
        raise TidepoolError(f"{objects}: the linker's arguments name no server")
    return arguments


def _imitate(installed: Path, bin_directory: Path) -> None:
    """Make a directory with all but the server, as if it was installed there.

    Programs look for each other, and for libraries, beside their own place: hence links to files.
    """
    bin_directory.mkdir(parents=True)
    for program in (installed / "bin").iterdir():
        if program.name != "postgres":
            os.link(program, bin_directory / program.name)
    for shared in ("lib", "share"):
        (bin_directory.parent / shared).symlink_to(installed / shared)


def _link(objects: Path, arguments: str, shift: int, output: Path) -> None:
    """Link the server with so many bytes before its first function."""
    with tempfile.TemporaryDirectory() as place:
        padding = Path(place) / "padding.o"
        source = f".text\n.balign {LINE}\n.skip {shift}\n"
        _run(["cc", "-c", "-x", "assembler", "-", "-o", str(padding)], objects, source)
        file = Path(place) / "arguments"
        moved = f"-o {shlex.quote(str(output))} {shlex.quote(str(padding))} "
        file.write_text(arguments.replace(_OUTPUT, moved))
        _run(["cc", f"@{file}"], objects)


def _run(command: list[str], directory: Path, text: str = "") -> None:
    done = subprocess.run(
        command, cwd=directory, input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise TidepoolError(f"{command[0]} failed", hint=(done.stderr or done.stdout)[-500:])
