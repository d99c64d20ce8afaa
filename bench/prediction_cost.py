#!/usr/bin/env python3
"""What prediction costs: an eviction by PBM, an estimate, a scan's advance, begin and end.

An eviction by `pbm` (10 samples, 64 scans running over the relation, sequential
or by bitmaps) may take 2 microseconds with 131,072 frames, 3 with a million, and an
advance 50 nanoseconds, or ten times a clock eviction in as many frames measured in the same
run, whichever is more.  Begin, end and the search for a scan to meet may take 2
microseconds together.  bench/prediction_cost.c measures; this builds it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from common import report

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"

# Nanoseconds allowed, and times a clock eviction.
GOALS = {
    "pbm": 2000.0,
    "pbm:remember=0": 2000.0,
    "pbm, bitmap scans": 2000.0,
    "pbm, a million": 3000.0,
    "advance": 50.0,
}
TIMES_CLOCK = 10.0
SCAN_GOAL = 2000.0  # all of a scan's beginning and end


def measure() -> dict[str, float]:
    """Build, run, and return nanoseconds by name."""
    if not (BUILD / "build.ninja").exists():
        command = ["meson", "setup", str(BUILD), str(ROOT), "-Dpython=false"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    ninja = ["ninja", "-C", str(BUILD), "bench/prediction_cost"]
    subprocess.run(ninja, check=True, stdout=subprocess.DEVNULL)
    run = subprocess.run(
        [BUILD / "bench" / "prediction_cost"], check=True, stdout=subprocess.PIPE, text=True
    )
    lines = (line.split("\t") for line in run.stdout.splitlines())
    return {name: float(nanoseconds) for name, nanoseconds in lines}


def main() -> int:
    times = measure()
    for kind in ("", ", bitmap"):
        times[f"begin and end{kind}, meet"] = times[f"begin and end{kind}"] + times["meet"]
    rows = []
    for name, nanoseconds in times.items():
        clock = times["clock, a million" if name.endswith("a million") else "clock"]
        goal: float | None = SCAN_GOAL if name.endswith(", meet") else None
        if name in GOALS:
            goal = max(GOALS[name], TIMES_CLOCK * clock)
        verdict = "" if goal is None else "yes" if nanoseconds <= goal else "MISSED"
        rows.append((name, nanoseconds, nanoseconds / clock, goal or "", verdict))
    title = "processor time, 64 scans of the relation, 131,072 frames or a million; median of 9"
    report("prediction_cost", title, ("what", "ns", "clocks", "goal", "reached"), rows)
    return any(row[-1] == "MISSED" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
