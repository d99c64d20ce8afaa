"""``tidepool trace``: what it prints, where, and how it exits."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tidepool.cli.main import tidepool
from tidepool.errors import TraceError
from tidepool.traces import Chunk, Trace, open_trace, write_trace
from traces.helpers import everything, pages, plain, rows

COMMAND = [sys.executable, "-c", "from tidepool.cli import main; main()", "trace"]


def run(*args: Any, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [*COMMAND, *map(str, args)], cwd=cwd, capture_output=True, text=True, check=False
    )


def invoke(*args: Any) -> Result:
    """Run the command within this process."""
    return CliRunner().invoke(tidepool, ["trace", *map(str, args)], catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_trace(everything(), tmp_path / "everything.parquet")
    write_trace(plain(), tmp_path / "plain.txt.gz")
    (tmp_path / "disk.csv").write_text("when,op,lbn\n1.5,R,10\n1.75,W,11\n9,R,10\n")
    return tmp_path


# ---- info ----


def test_info(folder: Path) -> None:
    result = run("info", "everything.parquet", "plain.txt.gz", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        """\
everything.parquet
  format           native
  events           9 (2 read, 1 write, 1 scan_begin, 1 scan_advance, 1 scan_end, 1 forget, \
1 pinned, 1 unpinned)
  pages            3 (24 kB)
  referenced once  3 (100.0% of the pages)
  time             2562047788:00:55
  backends         4
  scans            1 (1 bitmap, 1 references)

  relation  name                    references  writes  pages
  5         orders                           2       1      2
  6         a "name", with ünicode           1       0      1

plain.txt.gz
  format           text
  events           1,000 (1,000 read)
  pages            50 (400 kB)
  referenced once  0 (0.0% of the pages)
  time             not recorded
  backends         1
  scans            0

"""
    )


def test_info_of_many_relations(folder: Path) -> None:
    (folder / "t.txt").write_text("".join(f"{i << 34}\n" for i in range(30)))
    lines = invoke("info", folder / "t.txt").output.splitlines()
    assert lines[-2:] == ["  … and 10 more", ""]
    assert len(lines) == 32


def test_info_as_json(folder: Path) -> None:
    result = invoke(
        "info", "--format", "json", folder / "plain.txt.gz", folder / "everything.parquet"
    )
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["path"] == f"{folder}/plain.txt.gz"
    assert (first["format"], first["pages"], first["references"]) == ("text", 50, 1000)
    assert second["relations"][0] == {
        "relation": 5,
        "name": "orders",
        "references": 2,
        "writes": 1,
        "pages": 2,
    }


def test_info_of_csv(folder: Path) -> None:
    result = invoke("info", "--columns", "page=lbn, time=when:s ,kind=op", folder / "disk.csv")
    assert "3 (2 read, 1 write)" in result.output
    assert "7.5 s" in result.output


# ---- convert ----


def test_convert(folder: Path) -> None:
    result = run("convert", "plain.txt.gz", "out.parquet", cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert pages(open_trace(folder / "out.parquet")) == pages(plain())


def test_convert_tells_what_is_lost(folder: Path) -> None:
    result = run("convert", "everything.parquet", "out.txt", cwd=folder)
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == (
        "tidepool: warning: out.txt: the text format does not hold "
        "6 scan, forget and pin events, that 1 references are writes, backends, flags, "
        "pools, scan ids, times, relation names\n"
    )


def test_convert_from_and_to(folder: Path) -> None:
    assert (
        invoke(
            "convert",
            "--from",
            "csv",
            "--columns",
            "page=3,kind=2",
            folder / "disk.csv",
            folder / "a",
            "--to",
            "watt",
        ).exit_code
        == 0
    )
    assert (folder / "a").read_text() == "pages,is_write\n10,False\n11,True\n10,False\n"
    assert invoke("convert", "--from", "watt", folder / "a", folder / "b.vscsi.xz").exit_code == 0
    assert [row[:2] for row in rows(open_trace(folder / "b.vscsi.xz"))] == [
        (10, 0),
        (11, 1),
        (10, 0),
    ]


def test_convert_renumbered(folder: Path) -> None:
    result = run("convert", "--to", "watt", "everything.parquet", "a", cwd=folder)
    assert result.returncode == 1
    assert result.stderr == (
        "tidepool: error: a: page 85899345927 is above the format's largest, 2147483647\n"
        "HINT:  Renumber the pages (--renumber).\n"
    )
    assert not (folder / "a").exists()
    invoke("convert", "--renumber", "--to", "watt", folder / "everything.parquet", folder / "a")
    assert (folder / "a").read_text() == "pages,is_write\n0,False\n1,True\n2,False\n"


# ---- sample ----


def test_sample(folder: Path) -> None:
    assert (
        invoke("sample", "--rate", "30%", folder / "plain.txt.gz", folder / "a.txt").exit_code == 0
    )
    assert (
        invoke("sample", "--rate", "0.3", folder / "plain.txt.gz", folder / "b.txt").exit_code == 0
    )
    invoke("sample", "--rate", "0.3", "--seed", "1", folder / "plain.txt.gz", folder / "c.txt")
    a, b, c = ((folder / name).read_text() for name in ("a.txt", "b.txt", "c.txt"))
    assert a == b != c
    assert 5 <= len(set(a.split())) <= 25


def test_a_sample_of_nothing(folder: Path) -> None:
    result = run("sample", "--rate", "1e-9", "plain.txt.gz", "out.txt", cwd=folder)
    assert result.returncode == 1
    assert result.stderr == "tidepool: error: out.txt: not written, since the trace is empty\n"


# ---- generate ----


@dataclass(frozen=True, kw_only=True)
class Counting(Trace):
    """Counts.

    As far as it is told to.
    """

    name: str = field(init=False, default="counting")
    length: int = field(default=4, metadata={"help": "how far", "min": 1, "max": 9, "choices": ()})
    scale: float = field(default=1.0, metadata={"help": "by how much"})
    backwards: bool = field(default=False, metadata={"help": "from the end"})
    kind: str = field(default="plain", metadata={"help": "what", "choices": ("plain", "odd")})
    first_page: int = field(metadata={"help": "where from"})

    def chunks(self) -> Iterator[Chunk]:
        page = (self.first_page + np.arange(self.length)) * self.scale
        if self.kind == "odd":
            page = page[page % 2 == 1]
        yield Chunk(page=(page[::-1] if self.backwards else page).astype(np.uint64))


@pytest.fixture
def generators(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tidepool.generators")
    module.GENERATORS = {"counting": Counting}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("generators")
def test_generate(tmp_path: Path) -> None:
    out = tmp_path / "t.txt"
    assert invoke("generate", "counting", "--first-page", "5", out).exit_code == 0
    assert out.read_text() == "5\n6\n7\n8\n"
    args = ["--length", "3", "--scale", "2", "--backwards", "--first-page", "1", "--to", "lirs"]
    assert invoke("generate", "counting", *args, out).exit_code == 0
    assert out.read_text() == "6\n4\n2\n"
    assert invoke("generate", "counting", "--kind", "odd", "--first-page", "1", out).exit_code == 0
    assert out.read_text() == "1\n3\n"


@pytest.mark.usefixtures("generators")
def test_generate_help() -> None:
    assert "counting  Counts." in invoke("generate", "--help").output
    text = " ".join(invoke("generate", "counting", "--help").output.split())
    assert "As far as it is told to." in text
    assert "--length N how far; at least 1; at most 9 [default: 4]" in text
    assert "--kind [plain|odd] what [default: plain]" in text
    assert "--backwards / --no-backwards from the end [default: no-backwards]" in text
    assert "--first-page N where from [required]" in text
    assert "--scale X by how much [default: 1.0]" in text


@pytest.mark.usefixtures("generators")
@pytest.mark.parametrize(
    "args",
    [
        ["counting", "t.txt"],
        ["counting", "--first-page", "1", "--kind", "even", "t.txt"],
        ["drawing", "t.txt"],
    ],
)
def test_generate_misused(args: list[str]) -> None:
    assert invoke("generate", *args).exit_code == 2


@pytest.mark.usefixtures("generators")
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--first-page", "x", "invalid value for \"first_page\": 'x'"),
        ("--first-page", "1.5", "invalid value for \"first_page\": '1.5'"),
        ("--length", "10", 'value 10 of "length" is out of range'),
        ("--scale", "big", "invalid value for \"scale\": 'big'"),
    ],
)
def test_generate_with_values_that_cannot_be(option: str, value: str, message: str) -> None:
    with pytest.raises(TraceError, match=re.escape(message)):
        invoke("generate", "counting", "--first-page", "1", option, value, "t.txt")


@pytest.mark.usefixtures("generators")
def test_numbers_as_people_write_them(tmp_path: Path) -> None:
    args = ["--first-page", "1_000", "--length", "0.2e1", "--scale", "1e1", tmp_path / "t.txt"]
    assert invoke("generate", "counting", *args).exit_code == 0
    assert (tmp_path / "t.txt").read_text() == "10000\n10010\n"


# ---- errors ----


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["info", "missing"], "missing: No such file or directory"),
        (["info", "."], ".: Is a directory"),
        (["info", "/dev/null"], "/dev/null: neither a file nor a pipe"),
        (["info", "empty"], "empty: the file is empty"),
        (["info", "cut.parquet"], None),
        (["info", "cut.txt.gz"], "cut.txt.gz: the compressed data ends too early"),
        (["info", "nonsense"], "nonsense: cannot tell the format of the trace"),
        (["info", "--from", "text", "nonsense"], "nonsense: line 1: not a page number"),
        (["info", "disk.csv"], 'disk.csv: no column "page" or "block"'),
        (["info", "--columns", "page=x", "disk.csv"], 'disk.csv: no column "x"'),
        (
            ["convert", "plain.txt.gz", "/dev/full", "--to", "text"],
            "/dev/full: No space left on device",
        ),
        (
            ["convert", "plain.txt.gz", "out.xyz"],
            "out.xyz: the name does not tell the trace format",
        ),
        (["convert", "plain.txt.gz", "no/such/t.txt"], "no/such/t.txt: No such file or directory"),
        (["convert", "cut.txt.gz", "out.txt"], "cut.txt.gz: the compressed data ends too early"),
        (["info", "--from", "xml", "t"], '--from: there is no trace format "xml"'),
        (["info", "--from", "redset:x=1", "t"], '--from: there is no parameter "x"'),
        (["info", "--columns", "page", "t"], '--columns: invalid columns "page"'),
        (["info", "--columns", "page=1,page=2", "t"], '--columns: invalid columns "page=1,page=2"'),
        (["info", "--columns", "page=1,x=2", "t"], '--columns: an event has no "x"'),
        (["info", "--columns", "time=1", "t"], "--columns: no column for the page"),
        (["sample", "--rate", "0", "a", "b"], '--rate: invalid sampling rate "0"'),
        (["sample", "--rate", "101%", "a", "b"], '--rate: invalid sampling rate "101%"'),
        (["sample", "--rate", "half", "a", "b"], '--rate: invalid sampling rate "half"'),
        (["sample", "--rate", "1%", "--seed", "-1", "a", "b"], '--seed: invalid number "-1"'),
    ],
)
def test_bad_input(folder: Path, args: list[str], message: str | None) -> None:
    whole = (folder / "everything.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "cut.txt.gz").write_bytes((folder / "plain.txt.gz").read_bytes()[:300])
    (folder / "empty").touch()
    (folder / "nonsense").write_text("once upon a time\n")
    before = sorted(os.listdir(folder))
    result = run(*args, cwd=folder)
    assert (result.returncode, result.stdout) == (1, "")
    first, *hints = result.stderr.splitlines()
    if message is not None:
        assert first == f"tidepool: error: {message}"
    else:
        assert first.startswith("tidepool: error: cut.parquet: damaged or cut off Parquet file: ")
    assert all(hint.startswith("HINT:  ") for hint in hints) and len(hints) <= 1
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("args", "subcommand"), [([], "convert"), (["generate"], "zipf"), (["generate"], "tpcc")]
)
def test_without_subcommand_help_lists_them(args: list[str], subcommand: str) -> None:
    result = run(*args)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(" ".join(["Usage: tidepool", "trace", *args]))
    assert f"\n  {subcommand} " in result.stdout
    assert result.stdout == run(*args, "--help").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["info"], "Missing argument 'TRACE…'"),
        (["info", "--format", "xml", "t"], "'xml' is not one of"),
        (["convert", "a", "b", "--to", "redset"], "'redset' is not one of"),
        (["convert", "a"], "Missing argument 'OUT'"),
        (["sample", "a", "b"], "Missing option '--rate'"),
        (["copy"], "No such command 'copy'"),
    ],
)
def test_bad_usage(args: list[str], message: str) -> None:
    result = run(*args)
    assert (result.returncode, result.stdout) == (2, "")
    first, *hints = result.stderr.splitlines()
    assert first.startswith("tidepool: error: ")
    assert message in first
    assert len(hints) == 1 and hints[0].startswith("HINT:  Try ")


@pytest.mark.usefixtures("generators")
def test_help_has_examples() -> None:
    for command in ("info", "convert", "sample", "generate"):
        assert "Examples:" in invoke(command, "--help").output
    assert "oracleGeneral" in invoke("convert", "--help").output


def test_output_to_a_full_disk(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, "info", "plain.txt.gz"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("tidepool: error: ")


def test_progress_on_a_terminal_only(folder: Path) -> None:
    terminal, child = pty.openpty()
    result = subprocess.run(
        [*COMMAND, "convert", "plain.txt.gz", "out.parquet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=child,
        check=False,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(child)
    assert result.returncode == 0
    assert b"writing plain" in os.read(terminal, 1 << 16)
    os.close(terminal)
    assert result.stdout == b""


def test_generators_of_the_project(tmp_path: Path) -> None:
    from tidepool.generators import GENERATORS

    for name in GENERATORS:
        assert "Options:" in invoke("generate", name, "--help").output
    args = ["--pages", "3", "--length", "5", "--to", "text", tmp_path / "t"]
    assert invoke("generate", "loop", *args).exit_code == 0
    assert [page & 0xFFFFFFFF for page in pages(open_trace(tmp_path / "t"))] == [0, 1, 2, 0, 1]
