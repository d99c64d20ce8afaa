"""A device of limited bandwidth: the throttle of cgroups (version 1) on this machine's disk.

What a process of the group reads from the disk that holds the data directory is
limited to so many bytes a second.  The kernel lets a process have its share of a
tenth of a second at once, so the rate is right on average and comes in bursts.
Reads that the operating system's cache answers are not limited: use
debug_io_direct = data with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from tidepool.errors import TidepoolError

DIRECT = {"debug_io_direct": "data"}


def _group(controller: str) -> Path:
    """Return the directory of the group in which this process is."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == "cgroup" and controller in options.split(","):
            break
    else:
        raise TidepoolError(
            f"no cgroup controller {controller} (version 1) is mounted",
            hint="leave out the limit of the bandwidth",
        )
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return Path(mount) / path.lstrip("/")
    raise TidepoolError(f"this process is in no group of the controller {controller}")


def _disk(path: Path) -> str:
    """Return major:minor of the disk that holds a file; only whole disks can be limited."""
    number = path.stat().st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    device = Path("/sys/dev/block") / name
    if not device.exists():
        raise TidepoolError(
            f"{path} is on no block device", hint="set TMPDIR to a directory on a disk"
        )
    if (device / "partition").exists():
        name = (device.resolve().parent / "dev").read_text().strip()
    return name


@contextmanager
def bandwidth(directory: Path, megabytes: int) -> Iterator[None]:
    """Meanwhile this process and those that it starts read at most so many MB a second.

    They read that little from the disk that holds the directory.  Raises
    TidepoolError where that cannot be had.
    """
    if os.geteuid() != 0:
        raise TidepoolError("only root can limit the bandwidth of a disk")
    disk, parent = _disk(directory), _group("blkio")
    group = parent / f"tidepool-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "blkio.throttle.read_bps_device").write_text(f"{disk} {megabytes << 20}")
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        if group.exists():
            group.rmdir()
        raise TidepoolError(f"the bandwidth of disk {disk} cannot be limited: {error}") from None
    try:
        yield
    finally:
        (parent / "cgroup.procs").write_text(str(os.getpid()))
        _remove(group)


def _remove(group: Path) -> None:
    """Remove the group; processes that are ending may be in it for a moment."""
    for _ in range(100):
        try:
            group.rmdir()
            return
        except OSError:
            sleep(0.05)
    raise TidepoolError(f"processes are left in {group}")
