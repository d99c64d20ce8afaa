"""docs/writing-a-policy.md shows the policy that is in the tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

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


def test_the_prototype_has_the_counts_of_the_policy_in_c() -> None:
    prototype, _ = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(prototype, "docs/writing-a-policy.md", "exec"), names)
    misses = {
        (
            row["policy"].replace("SegmentedLru", "slru"),
            row["policy"][0] == "S",
            row["frames"],
        ): row["misses"]
        for row in names["results"].rows()
    }
    assert len(misses) == 5 * 2
    for (policy, in_python, frames), count in misses.items():
        if in_python:
            assert misses[policy, False, frames] == count


def test_so_is_its_model() -> None:
    assert blocks("python")[1:] == [(ROOT / "tests" / "reference" / "slru.py").read_text()]


def test_so_is_its_line() -> None:
    (line,) = re.findall(r"^POLICY\(.*\)$", PAGE, re.M)
    assert line in (ROOT / "core" / "policies.def").read_text().splitlines()
