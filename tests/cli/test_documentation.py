"""The guide's commands and its notebook are run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli import files
from cli.conftest import Call, busy_events

DOCS = Path(__file__).parents[2] / "docs"


def blocks(language: str, guide: str = "simulator") -> list[str]:
    text = (DOCS / f"{guide}.md").read_text()
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)
    return [block for of, block in fenced if of == language]


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]


@pytest.fixture(autouse=True)
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_csv(tmp_path / "orders.csv", busy_events())
    monkeypatch.chdir(tmp_path)


def test_the_guide_has_commands() -> None:
    assert len(COMMANDS) > 15
    assert all(line.startswith("tidepool ") for line in COMMANDS)


@pytest.mark.parametrize("line", [line for line in COMMANDS if "--scheduler" not in line])
def test_command(call: Call, line: str) -> None:
    out = call(shlex.split(line)[1:])
    assert (out.status, out.err) == (0, "")
    assert out.out
    for picture in re.findall(r"--plot (\S+)", line):
        assert Path(picture).stat().st_size > 1000


def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "docs/simulator.md", "exec"), names)
    out = capsys.readouterr().out
    assert "clock " in out and "opt " in out and "lirs:hir=0.02" in out
    assert Path("orders.svg").read_text().startswith("<?xml")
    assert "\nT1: 4 | T2: 2 1 | B1: 3 | B2: | p=1\n" in out


def test_ssd_tier(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (text for text in blocks("sh", "ssd-tier") if "--ssd-policy none" in text)
    command = command.replace("\\\n", " ")
    out = call(shlex.split(command)[1:])
    assert (out.status, out.err) == (0, "")
    assert "opt" in out.out
    for block in blocks("python", "ssd-tier"):
        exec(compile(block, "docs/ssd-tier.md", "exec"), {})
    assert capsys.readouterr().out.count(" s\n") == 4
