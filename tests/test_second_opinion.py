"""Miss counts beside libCacheSim's: equal, or as far apart as docs/second-opinion.md says."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tidepool import parse_policy
from tidepool.generators import Shifting, Zipf

pytest.importorskip("libcachesim")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "bench"))
opinion: Any = importlib.import_module("second_opinion")

PAIRS = {pair.ours: pair for pair in opinion.PAIRS}
SMALL = (
    Zipf(pages=700, length=15_000, alpha=0.8, seed=3),
    Shifting(pages=900, length=15_000, working_set=100, phase=1_000, seed=3),
)


def documented() -> dict[str, float]:
    """Return the bound in percent that the table states for each policy, 0 for equality."""
    text = (ROOT / "docs" / "second-opinion.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \|.*\| (equal|≤ [\d.]+ %) \|$", text, re.MULTILINE)
    return {name: 0 if bound == "equal" else float(bound.split()[1]) for name, bound in rows}


EQUAL = [name for name, bound in documented().items() if bound == 0]
DIFFERENT = [name for name, bound in documented().items() if bound > 0]


@cache
def measured() -> dict[str, list[Any]]:
    """Return part of what the document's numbers come from, by policy."""
    zipf, _, _, shifting, _ = opinion.generated()
    assert isinstance(shifting, Shifting)
    pairs = [PAIRS[name] for name in DIFFERENT]
    found = opinion.compare(zipf, pairs, (0.05, 0.3)) + opinion.compare(shifting, pairs, (0.1,))
    return {name: [c for c in found if c.pair.ours == name] for name in DIFFERENT}


def test_the_document_has_every_policy() -> None:
    assert set(documented()) == set(PAIRS)
    assert {parse_policy(name).policy.name for name in EQUAL} >= {
        "arc",
        "clock",
        "fifo",
        "lru",
        "opt",
        "sieve",
    }


@pytest.mark.parametrize("trace", SMALL, ids=lambda trace: trace.command)
@pytest.mark.parametrize("policy", EQUAL)
def test_equal(policy: str, trace: Any) -> None:
    for comparison in opinion.compare(trace, [PAIRS[policy]]):
        assert comparison.ours == comparison.theirs, comparison


@pytest.mark.parametrize("policy", DIFFERENT)
def test_within_the_documented_bound(policy: str) -> None:
    for comparison in measured()[policy]:
        assert abs(comparison.difference) <= documented()[policy], comparison
