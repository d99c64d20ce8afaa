"""The demo: a short one from end to end, and what can be in its way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from cli.interrupts import heed_interrupts

SHORT = ["--length", "200000"]


def start(*args: object) -> subprocess.Popen[str]:
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "tidepool.demo", *map(str, args)]
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.Popen(command, env=environment, preexec_fn=heed_interrupts, **streams)


def finish(*args: object) -> tuple[int, str, str]:
    process = start(*args)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_table_and_pictures(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "demo"
    directory.mkdir(parents=True)
    (directory / "mix.parquet").write_text("of an earlier demo")
    status, out, err = finish(directory, *SHORT)
    assert (status, err) == (0, "")
    assert "hit ratio minus that of opt" in out
    for name in ("compare.png", "curves.png", "over-time.png"):
        assert name in out
        assert (directory / name).read_bytes().startswith(b"\x89PNG")
    assert (directory / "over-time.csv").read_text().startswith("trace,policy,")
    assert (directory / "mix.parquet").exists()
    # what it says that it ran can be run
    commands = re.findall(r"^\$ (.*)$", out, re.MULTILINE)
    assert len(commands) == 5
    info = subprocess.run(
        commands[1], shell=True, check=True, capture_output=True, text=True
    ).stdout
    assert info.strip() in out


def test_help_names_the_option() -> None:
    status, out, _ = finish("--help")
    assert status == 0
    assert "--length" in out


def test_wrong_arguments(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert finish()[0] == 2
    assert finish(tmp_path / "file", *SHORT)[0] == 2
    for args in ([tmp_path / "file" / "under"], [tmp_path / "short", "--length", "10"]):
        status, out, err = finish(*args)
        assert (status, out) == (1, "")
        assert err.startswith("tidepool: error: ")
        assert "Traceback" not in err
    assert not (tmp_path / "short").exists()


def test_interrupted(tmp_path: Path) -> None:
    process = start(tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if "compare" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.strip()) == (130, "")
