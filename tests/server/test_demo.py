"""The demo: a small one from end to end, and what can be in its way."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.interrupts import heed_interrupts
from server.conftest import BIN
from server.load import wait_for
from tidepool.policies import parse_policy
from tidepool.simulation import Cell, Options, simulate
from tidepool.traces import open_trace

SMALL = ("--scale", "0.02", "--algorithm", "lirs")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Where the demo makes its server: nothing must be left in there."""
    with tempfile.TemporaryDirectory(prefix="tidepool-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path
        # a server gives up its directory a moment before it is gone itself
        wait_for("nothing is left", lambda: not list(path.iterdir()) and processes(name) == "")


def processes(text: str) -> str:
    """The processes with a text in their command lines."""
    command = ["pgrep", "--list-full", "--full", text]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def start(scratch: Path, *args: object, programs: Path = BIN, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidepool.demo", *map(str, args), "--bin", str(programs)]
    return subprocess.Popen(
        command,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **{"preexec_fn": heed_interrupts} | more,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def test_table_and_pictures(scratch: Path, tmp_path: Path) -> None:
    directory = tmp_path / "a" / "demo"
    directory.mkdir(parents=True)
    (directory / "recorded.parquet").write_text("of an earlier demo")
    status, out, err = finish(start(scratch, directory, *SMALL))
    assert (status, err) == (0, "")
    rows = {
        name: [float(field.strip("%").replace(",", "")) for field in fields.split()]
        for name, fields in re.findall(r"^(clock|lirs) +(\d.*)$", out, re.MULTILINE)
    }
    reads, live, simulated, optimum = rows["clock"]
    assert reads > 500
    assert 50 < live < optimum < 100
    assert abs(simulated - live) < 2
    _, to_clock, live, simulated, optimum, foretold = rows["lirs"]
    assert to_clock == pytest.approx(100 * (rows["lirs"][0] / reads - 1), abs=0.06)
    assert abs(simulated - live) < 2
    assert live < optimum
    recorded = open_trace(directory / "recorded.parquet")
    assert recorded.recorded is not None
    work = (recorded, [Cell(parse_policy("lirs"), recorded.recorded.frames)])
    assert foretold == round(100 * simulate([work], Options(batch=32))[0].hit_ratio, 2)
    for name in ("blocks-read.png", "curves.png"):
        assert name in out
        assert (directory / name).read_bytes().startswith(b"\x89PNG")
    # it ends with advice on its own recording
    end = out[out.index("4. What tidepool advise says") :]
    assert "◀ you are here" in end
    assert "recorded under" not in end
    assert (directory / "advice.html").read_text().startswith("<!DOCTYPE html>")
    # what it says to go on with can be run
    (compare,) = re.findall(r"^  (.* compare .*)$", out, re.MULTILINE)
    command = compare + " --policy lru --frames 100"
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (directory / "compare.png").exists()


def test_an_algorithm_that_the_server_lacks(scratch: Path, tmp_path: Path) -> None:
    status, _, err = finish(start(scratch, tmp_path, *SMALL, "--algorithm", "tac"))
    assert status == 1
    assert err.startswith('tidepool: error: the server has no algorithm "tac"\nHINT:  it has ')


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
@pytest.mark.parametrize("when", ["1. A private", "  clock"])
def test_nothing_is_left_of_one_that_is_ended(
    scratch: Path, tmp_path: Path, name: str, when: str
) -> None:
    process = start(scratch, tmp_path, *SMALL)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(when):
            break
    time.sleep(0.3)
    number = getattr(signal, name)
    process.send_signal(number)
    status, _, err = finish(process)
    assert status == (130 if name == "SIGINT" else -number)
    assert err.strip() == ""


def test_a_full_disk(scratch: Path, tmp_path: Path) -> None:
    def limit() -> None:
        # a segment of the write-ahead log has 16 MB
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))

    status, _, err = finish(start(scratch, tmp_path, *SMALL, preexec_fn=limit))
    assert status == 1
    assert err.startswith("tidepool: error: initdb failed:\n")
    assert "File too large" in err
    assert "Traceback" not in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as somebody else")
def test_programs_that_the_server_cannot_reach(scratch: Path, tmp_path: Path) -> None:
    private = tmp_path / "home"
    shutil.copytree(BIN.parent, private / "pgsql", symlinks=True)
    private.chmod(0o700)
    status, out, err = finish(
        start(scratch, tmp_path / "out", *SMALL, programs=private / "pgsql" / "bin")
    )
    assert (status, err) == (0, "")
    assert "blocks-read.png" in out
