"""docs/writing-a-policy.md shows the policy that is in the tree."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "writing-a-policy.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


def joined(parts: list[str]) -> str:
    return re.sub(r"\n+", "\n", "\n".join(parts))


def test_the_policy_is_the_one_in_the_tree() -> None:
    *policy, test = blocks("c")
    assert joined(policy) == joined([(ROOT / "core" / "policies" / "slru.c").read_text()])
    assert test in (ROOT / "core" / "tests" / "test_slru.c").read_text()


def test_so_is_its_model() -> None:
    assert blocks("python") == [(ROOT / "tests" / "reference" / "slru.py").read_text()]


def test_so_is_its_line() -> None:
    (line,) = re.findall(r"^POLICY\(.*\)$", PAGE, re.M)
    assert line in (ROOT / "core" / "policies.def").read_text().splitlines()
