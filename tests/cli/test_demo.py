"""What the demo says before it needs a server; with one: tests/server/test_demo.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidepool.demo import __main__ as demo
from tidepool.demo.workload import Work
from tidepool.errors import TidepoolError
from tidepool.server import Instance


def finish(*args: object) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "tidepool.demo", *map(str, args)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return process.returncode, process.stdout, process.stderr


def test_help_names_the_options() -> None:
    status, out, _ = finish("--help")
    assert status == 0
    assert "--algorithm NAME,…" in out and "--scale FACTOR" in out
    assert "lru,arc,lirs,s3fifo,w_tinylfu" in " ".join(out.split())


def test_wrong_arguments(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert finish()[0] == 2
    assert finish(tmp_path / "file")[0] == 2
    assert finish(tmp_path / "new", "--scale", "0")[0] == 2
    for args, message in (
        (["--algorithm", "fortune"], '--algorithm: unknown policy "fortune"'),
        (["--algorithm", "lru,fortune"], '--algorithm: unknown policy "fortune"'),
        (["--algorithm", "opt"], "a server cannot replace pages by opt: it knows no future"),
        (
            ["--algorithm", "keep"],
            "keep never evicts: alone in a server it leaves all to the clock",
        ),
        (["--bin", tmp_path], f"no server in {tmp_path}"),
    ):
        status, out, err = finish(tmp_path / "new", *args)
        assert (status, out) == (1, "")
        assert err.startswith(f"tidepool: error: {message}")
    assert not (tmp_path / "new").exists()


def test_a_disk_without_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "initdb").touch()
    instance = Instance(Path("/tmp"), tmp_path)
    demo.check_room(instance, Work(0.01))
    with pytest.raises(TidepoolError, match=r"/: .* free, .* needed") as raised:
        demo.check_room(instance, Work(1e6))
    assert "TMPDIR" in str(raised.value.hint)
