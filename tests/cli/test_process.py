"""The command as a process: streams, signals, pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli.files import write_csv
from cli.test_simulate import timeless
from simulation.generated import Event, zipf

TESTS = Path(__file__).parents[1]
COMMAND = [
    sys.executable,
    "-c",
    "from cli.files import install; install(); from tidepool.cli import main; main()",
]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(TESTS), "COLUMNS": "100"}


def start(args: str, **streams: Any) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.Popen([*COMMAND, *args.split()], env=ENVIRONMENT, text=True, **pipes)


def finish(args: str) -> tuple[int, str, str]:
    process = start(args)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_two_processes_say_the_same(folder: Path) -> None:
    args = f"simulate {folder}/zipf.csv --policy all --frames 5% --format json"
    (status, one, err), (_, other, _) = finish(args), finish(args + " --workers 1")
    assert (status, err) == (0, "")
    records = [[json.loads(line) for line in out.splitlines()] for out in (one, other)]
    assert timeless(records[0]) == timeless(records[1])


def test_status_and_streams(folder: Path) -> None:
    status, out, err = finish(f"simulate {folder}/zipf.csv --policy lur --frames 5")
    assert (status, out) == (1, "")
    assert err == 'tidepool: error: unknown policy "lur"\nHINT:  Did you mean "lru"?\n'
    status, out, err = finish("simulate")
    assert (status, out) == (2, "")
    assert finish("--version")[0] == 0


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    process = start(f"simulate {folder}/zipf.csv --policy all --frames 5 --format json")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (1, 141)
    assert err == ""


def test_a_full_disk_is_an_error(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        process = start(f"simulate {folder}/zipf.csv --policy lru --frames 5", stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err == "tidepool: error: input/output: No space left on device\n"


def test_interrupt_leaves_quickly_and_quietly(tmp_path: Path) -> None:
    pages = zipf(3000, 60000).pages
    trace = write_csv(tmp_path / "long.csv", [Event(int(page)) for page in pages])
    sizes = " ".join(f"--frames {i}" for i in range(1, 2500))
    process = start(f"simulate {trace} --policy all {sizes}")
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - begin < 5
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == ""


@pytest.mark.parametrize("command", ["simulate --policy lru --frames 10%", "curve", "compare"])
def test_progress_is_shown_on_a_terminal_and_only_there(folder: Path, command: str) -> None:
    controller, terminal = pty.openpty()
    process = start(f"{command} {folder}/zipf.csv --format json", stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(controller, 1 << 16):
            shown += data
    except OSError:  # the terminal's other end is closed
        pass
    out, _ = process.communicate(timeout=60)
    os.close(controller)
    assert process.returncode == 0
    assert b"zipf" in shown and b"%" in shown
    assert b"Traceback" not in shown
    assert all(json.loads(line)["trace"] == "zipf" for line in out.splitlines())
    assert out


def test_tables_fit_what_they_can_on_a_narrow_terminal(folder: Path) -> None:
    controller, terminal = pty.openpty()
    environment = ENVIRONMENT | {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
    args = ["compare", str(folder / "zipf.csv")]
    process = subprocess.Popen([*COMMAND, *args], env=environment, stdout=terminal)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(controller, 1 << 16):
            shown += data
    except OSError:
        pass
    assert process.wait(60) == 0
    os.close(controller)
    assert "…" not in shown.decode()  # no number is cut off
