#!/usr/bin/env python3
"""How fast the simulator is compared with another version of itself.

    git worktree add ../older COMMIT && make -C ../older install
    bench/simulator_versions.py ../older/.venv/bin/tidepool

Both replay the same Zipf trace (10 million references to a million pages, a
tenth of them cached), one policy at a time, in turns: this one, the other, the
other, this one.  Compared is the time of the replay, which each reports,
without reading the trace.  A ratio of more than 1 says that this version is
slower.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import report

OWN = Path(sys.prefix) / "bin" / "tidepool"
# a ratio that runs of one version against itself reach
NOISE = 1.02


def seconds(command: Path, trace: Path, policy: str, frames: int) -> float | None:
    """Return the time of a replay; None if this version does not know the policy."""
    run = subprocess.run(
        [command, "simulate", trace, *f"--policy {policy} --frames {frames} --format json".split()],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        return None
    return float(json.loads(run.stdout)["seconds"])


def policies(command: Path) -> list[str]:
    """Return the names of the policies that this version knows."""
    out = subprocess.run(
        [command, "policies", "--format", "json"], capture_output=True, text=True, check=True
    ).stdout
    return [json.loads(line)["name"] for line in out.splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the tidepool command of the other version")
    parser.add_argument("policy", nargs="*", help="all that both know by default")
    parser.add_argument("--rounds", type=int, default=3, help="pairs of turns (default: 3)")
    parser.add_argument("--references", type=int, default=10_000_000)
    options = parser.parse_args()
    length = options.references
    pages = length // 10
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "zipf.parquet"
        subprocess.run(
            [OWN, *f"trace generate zipf --pages {pages} --length {length}".split(), trace],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for policy in options.policy or policies(OWN):
            ratios = []
            for round_ in range(2 * options.rounds):
                turn = [OWN, options.other] if round_ % 2 == 0 else [options.other, OWN]
                times = {one: seconds(one, trace, policy, pages // 10) for one in turn}
                own, other = times[OWN], times[options.other]
                if own is None or other is None:
                    break
                ratios.append(own / other)
            if ratios:
                low, middle, high = statistics.quantiles(ratios, n=4)
                rows.append((policy, middle, low, high, "slower" if low > NOISE else ""))
                print(f"{policy} {middle:.3f}", flush=True)
    title = f"time of a replay, as a multiple of {options.other}'s; quartiles of the pairs"
    report("simulator_versions", title, ("policy", "ratio", "low", "high", ""), rows)
    return any(row[-1] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
