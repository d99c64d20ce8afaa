"""The command as a process: streams, signals, pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.files import write_csv
from cli.interrupts import heed_interrupts
from cli.test_simulate import timeless
from simulation.generated import Event, zipf

COMMAND = [sys.executable, "-c", "from tidepool.cli import main; main()"]
ENVIRONMENT = os.environ | {"COLUMNS": "100"}


def start(args: str, **streams: Any) -> subprocess.Popen[str]:
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options |= {"env": ENVIRONMENT, "text": True} | streams
    return subprocess.Popen([*COMMAND, *args.split()], preexec_fn=heed_interrupts, **options)


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
    assert err == 'tidepool: error: --policy: unknown policy "lur"\nHINT:  Did you mean "lru"?\n'
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
    pages = zipf(3000, 100_000).pages
    trace = tmp_path / "long.csv"
    os.mkfifo(trace)
    sizes = " ".join(f"--frames {i}" for i in range(1000, 2000))
    process = start(f"simulate {trace} --policy clock --policy arc --policy lru {sizes}")
    # what is not in the pipe any more, the command has read: it is at work
    write_csv(trace, [Event(int(page)) for page in pages])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.strip() == ""


SWALLOWED = """
import signal
import click
from tidepool.cli.bar import bar
from tidepool.cli.main import run_command

# a shell's background job ignores it
signal.signal(signal.SIGINT, signal.default_int_handler)

@click.command()
def command():
    with bar("works", None) as advance:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        {then}
    print("did it all")

run_command(command, "command", [])
"""


@pytest.mark.parametrize(
    ("then", "goes_on"), [("advance(1)", False), ("raise ValueError", False), ("pass", True)]
)
def test_an_interrupt_that_a_library_swallows(then: str, goes_on: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED.format(then=then)], capture_output=True, text=True
    )
    assert done.returncode == 130
    assert done.stdout == "did it all\n" * goes_on
    assert done.stderr.strip() == ""


def read_terminal(controller: int) -> bytes:
    """Read all that is shown until the terminal's other end is closed."""
    shown = b""
    try:
        while data := os.read(controller, 1 << 16):
            shown += data
    except OSError:
        pass
    os.close(controller)
    return shown


@pytest.mark.parametrize("command", ["simulate --policy lru --frames 10%", "curve", "compare"])
def test_progress_is_shown_on_a_terminal_and_only_there(
    folder: Path, tmp_path: Path, command: str
) -> None:
    controller, terminal = pty.openpty()
    with (tmp_path / "out").open("w") as out:
        process = start(f"{command} {folder}/zipf.csv --format json", stdout=out, stderr=terminal)
    os.close(terminal)
    shown = read_terminal(controller)
    assert process.wait(60) == 0
    assert b"zipf" in shown and b"%" in shown
    assert b"Traceback" not in shown
    records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert records and all(record["trace"] == "zipf" for record in records)


def test_tables_fit_what_they_can_on_a_narrow_terminal(folder: Path) -> None:
    controller, terminal = pty.openpty()
    narrow = ENVIRONMENT | {"COLUMNS": "40", "TERM": "xterm", "NO_COLOR": "1"}
    args = f"compare {folder}/zipf.csv"
    process = start(args, stdout=terminal, stderr=subprocess.DEVNULL, env=narrow)
    os.close(terminal)
    shown = read_terminal(controller)
    assert process.wait(60) == 0
    assert "…" not in shown.decode()  # no number is cut off
