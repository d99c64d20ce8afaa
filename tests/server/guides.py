"""The project's pages as programs: their blocks of commands, and what no test runs of them.

A block names its language.  What a reader would type or paste is in COMMANDS.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from server.conftest import ROOT

COMMANDS = ("sh", "sql", "ini", "python")  # ini: of postgresql.conf
OTHERS = ("text", "json", "c")

# Blocks of a language that another test runs, below tests/.
ELSEWHERE = {
    ("docs/advice.md", "sh"): "server/test_advice_guide.py",
    ("docs/advice.md", "sql"): "server/test_advice_guide.py",
    ("docs/pools.md", "sql"): "server/test_pools_guide.py",
    ("docs/simulator.md", "sh"): "cli/test_documentation.py",
    ("docs/simulator.md", "python"): "cli/test_documentation.py",
    ("docs/ssd-tier.md", "python"): "cli/test_documentation.py",
    ("docs/writing-a-policy.md", "python"): "test_writing_a_policy.py",
}


@dataclass(frozen=True)
class NotRun:
    """Commands of a page, or whole blocks of SQL or settings, that match a pattern."""

    page: str
    pattern: str
    reason: str


# All that no test runs.
NOT_RUN = (
    NotRun("docs/server.md", r"sudo .*", "needs a packaged cluster"),
    NotRun("docs/server.md", r"psql \.\.\.", "is for the reader to complete"),
    NotRun("docs/operating.md", r"sudo .*", "needs a packaged cluster, and makes a directory"),
    NotRun("docs/operating.md", r"\[Service\].*", "is systemd's"),
    NotRun("docs/monitoring.md", r"(DATA_SOURCE_NAME|ARGS)=.*", "is the exporter's service's"),
    NotRun("docs/prediction.md", r"tidepool .*\.parquet.*", "cli/test_prediction.py runs it"),
    NotRun("docs/simulator.md", r"tidepool .* --scheduler .*", "needs a cluster"),
    NotRun("docs/trace-format.md", r"SELECT relation, .*", "is DuckDB's SQL"),
    NotRun("docs/second-opinion.md", r"python bench/.*", "takes minutes"),
    NotRun("docs/writing-a-policy.md", r"make && .*pytest .*", "is itself a test"),
    NotRun("postgres/example/README.md", r"make PG_CONFIG.*", "test_pool.py builds a copy"),
    NotRun("postgres/example/README.md", r"shared_pre.*second_chance.*", "test_pool.py loads it"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str


def pages() -> list[str]:
    """All pages, by their paths in the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).exists())


def blocks(page: str) -> list[Block]:
    """The blocks of a page, without the indentation that they have in a list."""
    text = (ROOT / page).read_text()
    found = re.findall(r"^( *)```([^\n`]*)\n(.*?)^ *``` *$", text, re.M | re.S)
    assert 2 * len(found) == len(re.findall(r"^[ >*-]*(?:```|~~~)", text, re.M)), page
    return [
        Block(language, re.sub(f"^{indent}", "", body, flags=re.M))
        for indent, language, body in found
    ]


def commands(block: Block) -> list[str]:
    """The commands of a block for the shell, one of several lines as one."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def parts(block: Block) -> list[str]:
    """What is run at a time: a command for the shell, and other blocks as a whole."""
    return commands(block) if block.language == "sh" else [block.text]


def is_run(page: str, part: str) -> bool:
    """Whether a part is none of NOT_RUN."""
    return not any(page == each.page and re.fullmatch(each.pattern, part, re.S) for each in NOT_RUN)


def to_run(page: str) -> list[tuple[str, str]]:
    """Languages and texts of what of a page test_guides.py has to run, in order."""
    return [
        (block.language, part)
        for block in blocks(page)
        if block.language in COMMANDS and (page, block.language) not in ELSEWHERE
        for part in parts(block)
        if is_run(page, part)
    ]
