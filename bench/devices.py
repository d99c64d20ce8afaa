"""An emulated slow disk beside an emulated SSD, each a mounted file system.

The disk is the file of slow_disk.c, which has one arm: a seek takes 8 ms, and
150 MB/s pass below it (Disk).  The SSD is memory.  Each is a loop device with
direct I/O and an ext4 without a journal on it, so a server with
debug_io_direct = data reads and writes the device itself.  The disk can be made
as fast as memory for a while, to load and to warm, and it tells what it has done.

Needs root, FUSE, and the memory that the files take.  All of it is removed at the
end, whatever the end is, except kill -9: then unmount what is below
/dev/shm/tidepool-devices-*, and detach its loop devices (losetup -a).
"""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from tidepool.errors import TidepoolError
from tidepool.server import server_account

ROOT = Path(__file__).resolve().parent.parent
MEMORY = Path("/dev/shm")
SEEK_MS, MB_PER_SECOND = 8.0, 150.0
SKIPPED = 77  # exit status of a script that cannot run here, as automake has it
PATIENCE = 100  # attempts to unmount what processes that are ending still use


class EmulationError(TidepoolError):
    """These devices cannot be had here."""


@dataclass(frozen=True)
class Done:
    """What the disk has done; seconds are those for which its arm was busy."""

    reads: int
    read_bytes: int
    read_seconds: float
    read_seeks: int
    writes: int
    write_bytes: int
    write_seconds: float
    write_seeks: int

    def __sub__(self, earlier: Done) -> Done:
        return Done(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))


# ---- the parts ----


def run(*command: str | Path) -> str:
    """Run a command as root; return what it prints."""
    done = subprocess.run(
        command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode != 0:
        raise TidepoolError(f"{' '.join(map(str, command))} failed: {done.stdout.strip()}")
    return done.stdout.strip()


def insist(action: Callable[[], object]) -> None:
    """Do what fails while processes that are ending use a file system."""
    for _ in range(PATIENCE):
        try:
            action()
            return
        except TidepoolError:
            time.sleep(0.1)
    action()


class Volume:
    """A file as a block device with a file system, mounted at a directory.

    Attributes:
        directory: of the server's account, in the file system.
    """

    def __init__(self, file: Path, mount_point: Path) -> None:
        self._file = file
        self._mount_point = mount_point
        self._device = ""
        self.directory = mount_point / "files"

    def make(self) -> None:
        """Make the file system."""
        self._mount_point.mkdir()
        self._attach()
        run("mkfs.ext4", "-q", "-O", "^has_journal", "-m", "0", self._device)
        self._mount()
        self.directory.mkdir(mode=0o700)
        if account := server_account():
            os.chown(self.directory, account.pw_uid, account.pw_gid)

    def _attach(self) -> None:
        self._device = run("losetup", "--direct-io=on", "--find", "--show", self._file)

    def _mount(self) -> None:
        run("mount", "-o", "noatime", self._device, self._mount_point)

    def close(self) -> None:
        """Unmount the file system and detach the device."""
        if os.path.ismount(self._mount_point):
            insist(lambda: run("umount", self._mount_point))
        if self._device:
            insist(lambda: run("losetup", "-d", self._device))
            self._device = ""

    def open(self) -> None:
        """Undo close."""
        self._attach()
        self._mount()


class Disk:
    """The slow disk: an emulator that runs, and the volume on it."""

    LAYOUT = struct.Struct("10Q")

    def __init__(self, place: Path, megabytes: int) -> None:
        self._backing = place / "backing"
        self._saved = place / "saved"
        self._mount_point = place / "arm"
        with self._backing.open("wb") as file:
            file.truncate(megabytes << 20)
        shared = place / "shared"
        shared.write_bytes(bytes(self.LAYOUT.size))
        with shared.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), self.LAYOUT.size)
        self._mount_point.mkdir()
        self._log = place / "log"
        # what it takes must not depend on what else runs; chrt is in Debian's util-linux
        command = ["chrt", "-f", "50", build(place), self._backing, shared, self._mount_point]
        with self._log.open("w") as log:
            self._emulator = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt is for the bench, which ends it in order
            )
        self.volume = Volume(self._mount_point / "disk", place / "disk")

    def start(self) -> None:
        """Wait for the emulator and make the file system."""
        while not (self._mount_point / "disk").exists():
            if self._emulator.poll() is not None:
                raise EmulationError(
                    f"the emulated disk does not start: {self._log.read_text().strip()}",
                    hint="containers seldom allow FUSE",
                )
            time.sleep(0.01)
        self.volume.make()

    def close(self) -> None:
        """Remove the volume and end the emulator."""
        self.volume.close()
        if os.path.ismount(self._mount_point):
            insist(lambda: run("umount", self._mount_point))
        self._emulator.terminate()
        self._emulator.wait()

    # ---- how it is, and what it has done ----

    def slow(self, seek_ms: float = SEEK_MS, mb_per_second: float = MB_PER_SECOND) -> None:
        """From the next request on it takes as long as such a disk."""
        self._shared[:16] = struct.pack("2Q", round(seek_ms * 1e6), round(mb_per_second * 1e6))

    def fast(self) -> None:
        """From the next request on it takes no time, and counts nothing."""
        self._shared[:16] = bytes(16)

    def done(self) -> Done:
        """Tell what it has done while it was slow."""
        _, _, *work = self.LAYOUT.unpack(self._shared)
        reads, writes = work[:4], work[4:]
        return Done(
            *(
                value
                for requests, size, busy, seeks in (reads, writes)
                for value in (requests, size, busy / 1e9, seeks)
            )
        )

    # ---- the same data again ----

    def save(self) -> None:
        """Keep what is on it; nothing uses it."""
        self.volume.close()
        run("cp", "--sparse=always", self._backing, self._saved)
        self.volume.open()

    def restore(self) -> None:
        """Bring back what was kept; nothing uses it."""
        self.volume.close()
        run("cp", "--sparse=always", self._saved, self._backing)
        self.volume.open()


def build(place: Path) -> Path:
    """Build the emulator; return where it is."""
    program = place / "slow_disk"
    flags = run("pkg-config", "--cflags", "--libs", "fuse3").split()
    run("cc", "-O2", "-o", program, Path(__file__).with_name("slow_disk.c"), *flags, "-lpthread")
    return program


# ---- both ----


@dataclass(frozen=True)
class Devices:
    """Both devices."""

    disk: Disk
    ssd: Volume


def require() -> None:
    """Raise EmulationError unless the devices can be had."""
    if os.geteuid() != 0:
        raise EmulationError(
            "only root can attach emulated devices", hint="run this as root, on a machine for tests"
        )
    if not Path("/dev/fuse").exists():
        raise EmulationError("there is no FUSE here (/dev/fuse)", hint="modprobe fuse")
    done = subprocess.run([ROOT / "scripts" / "system-packages", "bench-devices"], check=False)
    if done.returncode != 0:
        raise EmulationError("packages that emulate devices are missing")


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let the first interrupt end what is done here, and no other disturb how it is ended."""
    kinds = (signal.SIGINT, signal.SIGTERM)

    def end(number: int, _: object) -> None:
        for kind in kinds:
            signal.signal(kind, signal.SIG_IGN)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    before = {kind: signal.signal(kind, end) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def devices(disk_megabytes: int, ssd_megabytes: int) -> Iterator[Devices]:
    """Give a disk, which is fast at first, and an SSD; remove both afterwards."""
    require()
    place = Path(tempfile.mkdtemp(prefix="tidepool-devices-", dir=MEMORY))
    place.chmod(0o755)
    with interrupted_once(), ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        disk = Disk(place, disk_megabytes)
        stack.callback(disk.close)
        disk.start()
        file = place / "ssd-file"
        with file.open("wb") as opened:
            opened.truncate(ssd_megabytes << 20)
        ssd = Volume(file, place / "ssd")
        stack.callback(ssd.close)
        ssd.make()
        yield Devices(disk, ssd)


def skipped(main: Callable[[], None]) -> Callable[[], None]:
    """Let a script that needs the devices say why it cannot run here, and end with SKIPPED."""

    def attempt() -> None:
        try:
            main()
        except EmulationError as error:
            print(f"{Path(sys.argv[0]).name} is left out: {error}", file=sys.stderr)
            if error.hint:
                print(f"HINT:  {error.hint}", file=sys.stderr)
            sys.exit(SKIPPED)

    return attempt
