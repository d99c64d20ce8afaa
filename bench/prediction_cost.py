#!/usr/bin/env python3
"""What prediction costs: an eviction by PBM, an estimate, a scan's advance.

An eviction by `pbm` (10 samples, 64 scans running over the relation) may take
2 microseconds and an advance 50 nanoseconds, or ten times a clock eviction
measured in the same run, whichever is more.  bench/prediction_cost.c measures;
this builds it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from common import report

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"

# Nanoseconds allowed, and times a clock eviction.
GOALS = {"pbm": 2000.0, "pbm:remember=0": 2000.0, "advance": 50.0}
TIMES_CLOCK = 10.0


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
    lines = (line.split() for line in run.stdout.splitlines())
    return {name: float(nanoseconds) for name, nanoseconds in lines}


def main() -> int:
    times = measure()
    clock = times["clock"]
    rows = []
    for name, nanoseconds in times.items():
        goal = max(GOALS[name], TIMES_CLOCK * clock) if name in GOALS else None
        verdict = "" if goal is None else "yes" if nanoseconds <= goal else "MISSED"
        rows.append((name, nanoseconds, nanoseconds / clock, goal or "", verdict))
    title = "processor time, 64 scans of the relation, 131,072 frames; median of 9 runs"
    report("prediction_cost", title, ("what", "ns", "clocks", "goal", "reached"), rows)
    return any(row[-1] == "MISSED" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
