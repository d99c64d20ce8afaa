"""README.md counts what there is."""

from __future__ import annotations

import re
from pathlib import Path

from tidepool.demo.__main__ import ALGORITHMS
from tidepool.policies import policies

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def test_algorithms_of_the_server() -> None:
    """Those for an SSD and the simulator alone, such as tac, are not among them."""
    (count,) = re.findall(r"(\d+) replacement algorithms", README)
    assert int(count) == sum(bool(policy.library) or policy.built_in for policy in policies())


def test_algorithms_of_the_demo() -> None:
    """The clock and those that are compared with it."""
    (count,) = re.findall(r"workload under (\w+) algorithms", README)
    assert NUMBERS.index(count) == 1 + len(ALGORITHMS)
