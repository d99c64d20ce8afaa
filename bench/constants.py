#!/usr/bin/env python3
"""What the numbers in the code decide: other values, and what they miss.

A constant that decides something is replaced by other values, one at a time,
in a copy of the sources, which is compiled and replays the workloads that
the constant concerns.  The table shows, for each value, misses (for the SSD
tier: time of the devices) compared with those of the present value, in
percent: mean, most and least over the workloads, policies and sizes.  Below
the groups that draw random numbers is the present value with other ones: what
chance does.

- scans: `pbm` on the workloads of predictive_improvements.py, and on streams
  of scans that do not announce their speed, without and with pauses;
- points: `pbm` on the workloads of baselines.py;
- trails: `pbm` on the workloads of trailing_scans.py;
- pins: policies that search or sample, where scans pin what they read ahead
  (victim_search.py);
- eligible: `lru_k` with a correlated reference period, on Zipf, TPC-C and
  the traces given;
- tier: `tac` and `page_temperature` on the workloads of ssd_tier.py and
  ssd_improvement.py.  The constants of streams are replaced in the policies'
  temperatures alone; the devices keep theirs.

Needs a C compiler.  Takes 7 to 17 minutes on one core, less with --quick.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import baselines
import numpy as np
import trailing_scans
from common import replay, report, tpch
from predictive_improvements import SHARES
from predictive_improvements import WORKLOADS as SCANS
from ssd_improvement import run as run_tier
from ssd_improvement import workloads as tier_workloads
from victim_search import FRAMES, mix

from tidepool.generators import Tpcc, Zipf
from tidepool.simulation import count_pages
from tidepool.traces import InMemoryTrace, load, open_trace
from tidepool.traces.model import Trace

ROOT = Path(__file__).resolve().parents[1]
SCANS_H = "core/include/tidepool/prediction/scan.h"
TRAIL_H = "core/include/tidepool/prediction/trail.h"
NEWCOMERS_H = "core/prediction/newcomers.h"
STREAMS_H = "core/include/tidepool/tier/streams.h"
EXTENTS_H = "core/include/tidepool/tier/extents.h"
EXTENTS_C = "core/tier/extents.c"
RANDOM = ("scans", "points", "trails", "pins")  # groups that draw random numbers
SEED = "other seeds"  # in place of a constant's name


@dataclass(frozen=True)
class Constant:
    """A constant, and values to replace it by."""

    name: str
    file: str
    group: str
    values: tuple[str, ...]

    def replace_in(self, tree: Path, value: str) -> None:
        """Define the constant as the value."""
        path = tree / self.file
        text = path.read_text()
        pattern = rf"^(#define\s+{self.name}\s+)(\([^)]*\)|\S+)"
        match = re.search(pattern, text, re.MULTILINE)
        assert match is not None, f"{self.name} is not defined in {self.file}"
        if self.file != STREAMS_H:
            path.write_text(f"{text[: match.start(2)]}{value}{text[match.end(2) :]}")
            return
        # for the temperatures only: they and the devices have room for as many streams
        guarded = f"#ifndef {self.name}\n{match[0]}\n#endif"
        text = text[: match.start()] + guarded + text[match.end() :]
        path.write_text(text.replace("streams[TP_STREAMS]", "streams[256]"))
        path = tree / EXTENTS_C
        path.write_text(f"#define {self.name} {value}\n{path.read_text()}")


CONSTANTS = (
    Constant("WEIGHT", "core/prediction/advance.c", "scans", ("0.0625f", "1.0f")),
    Constant("SLOWDOWN", "core/prediction/advance.c", "scans", ("4", "1024")),
    Constant("STRIDE", "core/prediction/timeout.h", "scans", ("8", "128")),
    Constant("TIMEOUT_STRIDES", "core/prediction/timeout.h", "scans", ("4", "64")),
    Constant("TP_SCAN_TIMEOUT", SCANS_H, "scans", ("100000", "10000000")),
    Constant("FIRST_BLOCK_TIME", "core/prediction/layout.c", "scans", ("2.0f", "200.0f")),
    Constant("PROBES", "core/prediction/history.c", "scans", ("1", "16")),
    Constant("WEIGHT_INTERVAL", "core/prediction/history.c", "scans", ("0.25f", "0.015625f")),
    Constant("WEIGHT_LEAD_TIME", "core/prediction/history.c", "scans", ("0.1f", "0.001f")),
    Constant("TP_HISTORY_REGIONS", SCANS_H, "scans", ("32", "512")),
    Constant("TP_HISTORY_SCANS", SCANS_H, "scans", ("8", "128")),
    Constant("LOAD_ORDER_SCANS", "core/prediction/load_order.h", "scans", ("1", "4")),
    Constant("WINDOW", NEWCOMERS_H, "points", ("2", "32")),
    Constant("CORRELATED", NEWCOMERS_H, "points", ("2", "32", "1000000")),
    Constant("MEAN_DECAY", NEWCOMERS_H, "points", ("0.5", "1", "1e9")),
    Constant("TP_TRAIL_EVERY", TRAIL_H, "trails", ("1", "4", "64", "256")),
    Constant("SAMPLE_TRIES", "core/include/tidepool/parts/sample.h", "pins", ("1", "16")),
    Constant("TP_LOOKS_AGAIN", "core/include/tidepool/parts/search.h", "pins", ("1", "8")),
    Constant("ELIGIBLE_LOOKS", "core/policies/lru_k.c", "eligible", ("8", "128")),
    Constant("TP_STREAMS", STREAMS_H, "tier", ("8", "16", "256")),
    Constant("TP_STREAM_GAP", STREAMS_H, "tier", ("8", "128")),
    Constant("TP_EXTENT_PROBES", EXTENTS_H, "tier", ("2", "32")),
    Constant("TP_EXTENT_UNIT", EXTENTS_H, "tier", ("1", "32")),
    Constant("DEFAULT_BURST", EXTENTS_C, "tier", ("0.1", "10")),
)

GROUPS = tuple(dict.fromkeys(constant.group for constant in CONSTANTS))

# ---- workloads ----

PINNING = ("mru", "lru_k", "w_tinylfu", "pbm_pq", "hyperbolic", "watt", "pbm")
CORRELATED = ("lru_k:crp=100", "lru_k:crp=5000")
TIERED = ("tac", "page_temperature")

Found = dict[str, float]  # misses or time, by workload, policy and size


def unannounced(trace: Trace, pauses: bool) -> InMemoryTrace:
    """Return the trace with its scans' speeds unknown, and with pauses if wanted.

    One read in 2,000 then takes as long as 500 others in the mean.
    """
    chunks = list(trace.chunks())
    names = ("page", "kind", "flags", "time", "backend", "scan", "count", "size", "low")
    columns = {
        name: np.concatenate([getattr(chunk, name) for chunk in chunks])
        for name in names
        if all(getattr(chunk, name) is not None for chunk in chunks)
    }
    if pauses:
        rng = np.random.default_rng(0)
        time = columns["time"]
        for backend in np.unique(columns["backend"]):
            own = np.flatnonzero(columns["backend"] == backend)
            gap = np.ptp(time[own]) / len(own)
            paused = rng.random(len(own)) < 1 / 2000
            delay = np.cumsum(paused * rng.exponential(500 * gap, len(own)))
            time[own] += delay.astype(np.uint64)
        order = np.argsort(time, kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    return InMemoryTrace.from_arrays(trace.name, columns.pop("page"), **columns)


def scans(scale: int, seed: int) -> Found:
    found = {}
    traces: dict[str, Trace] = {name: make(scale, 0) for name, make in SCANS.items()}
    for pauses in (False, True):
        name = "tpch 8, pauses" if pauses else "tpch 8, unannounced"
        traces[name] = unannounced(tpch(scale, 8), pauses)
    for name, trace in traces.items():
        runs = [replay(trace, ("pbm",), SHARES, 3 * seed + i) for i in range(3)]
        for share in SHARES:
            found[f"{name}, {share}"] = fmean(run.misses["pbm", share] for run in runs)
    return found


def points(length: int, seed: int) -> Found:
    found = {}
    for name, trace in baselines.workloads(length).items():
        runs = replay(trace, ("pbm",), baselines.SHARES, seed)
        found.update({f"{name}, {s}": runs.misses["pbm", s] for s in baselines.SHARES})
    return found


def trails(references: int, seed: int) -> Found:
    found = {}
    shares = trailing_scans.SHARES
    for length in trailing_scans.SCANS:
        trace = trailing_scans.trailing(length, references)
        runs = [replay(trace, ("pbm",), shares, 3 * seed + i) for i in range(3)]
        for share in shares:
            found[f"{trace.name}, {share}"] = fmean(run.misses["pbm", share] for run in runs)
    return found


def pins(queries: int, seed: int) -> Found:
    found = {}
    for streams in (8, 16):
        trace = mix(streams, queries, 64, 0)
        share = FRAMES / count_pages(trace)
        runs = replay(trace, PINNING, (share,), seed)
        found.update({f"{streams} streams, {p}": runs.misses[p, share] for p in PINNING})
    return found


def eligible(length: int, files: Iterable[str]) -> Found:
    found = {}
    traces: list[Trace] = [
        Zipf(pages=20_000, length=length, alpha=0.9),
        Tpcc(warehouses=2, length=length),
        *map(open_trace, files),
    ]
    for trace in traces:
        runs = replay(trace, CORRELATED, SHARES)
        found.update({f"{trace.name}, {p}, {s}": n for (p, s), n in runs.misses.items()})
    return found


def tier(length: int) -> Found:
    found = {}
    for name, made, share, factors in tier_workloads(length):
        trace = load(made)
        memory = round(share * count_pages(trace))
        sizes = [round(factor * memory) for factor in factors]
        for policy, results in zip(TIERED, run_tier(trace, memory, sizes, [*TIERED]), strict=True):
            found.update(
                {f"{name}, {policy}, {f}": r.time for f, r in zip(factors, results, strict=True)}
            )
    return found


def measure(group: str, seed: int, quick: bool, files: list[str]) -> Found:
    """Replay the group's workloads with the extension that is imported."""
    if group == "scans":
        return scans(64 if quick else 16, seed)
    if group == "points":
        return points(100_000 if quick else 500_000, seed)
    if group == "trails":
        return trails(40_000 if quick else trailing_scans.REFERENCES, seed)
    if group == "pins":
        return pins(16 if quick else 64, seed)
    if group == "eligible":
        return eligible(30_000 if quick else 300_000, files)
    return tier(200_000 if quick else 500_000)


# ---- building ----


class Build:
    """A copy of the sources, and their extension with one constant replaced."""

    def __init__(self, scratch: Path) -> None:
        self.tree = scratch / "tree"
        self.out = scratch / "out"
        ignored = shutil.ignore_patterns(".*", "build", "out", "demo-out", "postgres")
        shutil.copytree(ROOT, self.tree, ignore=ignored)
        self._ninja = Path(sys.executable).with_name("ninja")
        meson = Path(sys.executable).with_name("meson")
        path = f"{meson.parent}{os.pathsep}{os.environ['PATH']}"
        subprocess.run(
            [meson, "setup", self.out, self.tree, "-Dunit_tests=disabled", "-Doptimization=1"],
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PATH": path},
        )

    def extension(self, constant: Constant | None, value: str) -> Path:
        """Build the package with this value; return the directory to import it from."""
        files = {constant.file, EXTENTS_C} if constant else set()
        original = {file: (self.tree / file).read_text() for file in files}
        if constant:
            constant.replace_in(self.tree, value)
        target = f"python/_sim{sysconfig.get_config_var('EXT_SUFFIX')}"
        jobs = len(os.sched_getaffinity(0))
        subprocess.run(
            [self._ninja, "-C", self.out, f"-j{jobs}", "--quiet", target],
            check=True,
            stdout=sys.stderr,
        )
        for file, text in original.items():
            if (self.tree / file).read_text() != text:
                (self.tree / file).write_text(text)
        package = self.tree / "python/tidepool"
        shutil.copy(self.out / target, package)
        return package.parent


def measured(package: Path, group: str, seed: int, args: argparse.Namespace) -> Found:
    """Measure in a process of its own, which imports this package."""
    command = [sys.executable, __file__, "--measure", group, "--seed", str(seed), *args.trace]
    output = subprocess.run(
        command + (["--quick"] if args.quick else []),
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
    ).stdout
    return json.loads(output)


def row(group: str, name: str, value: str, found: Found, present: Found) -> tuple[str, ...]:
    changes = [100 * (n / present[key] - 1) for key, n in found.items()]
    figures = (fmean(changes), max(changes), min(changes))
    new = (group, name, value, *(f"{figure:+.2f}" for figure in figures))
    print(*new, file=sys.stderr, flush=True)  # progress
    return new


def rows(build: Build, args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the table's rows."""
    for group in args.group or GROUPS:
        package = build.extension(None, "")
        present = measured(package, group, 0, args)
        for constant in CONSTANTS:
            if constant.group != group:
                continue
            for value in constant.values:
                package = build.extension(constant, value)
                found = measured(package, group, 0, args)
                yield row(group, constant.name, value, found, present)
        if group in RANDOM:
            package = build.extension(None, "")
            for seed in (1, 2):
                found = measured(package, group, seed, args)
                yield row(group, SEED, "", found, present)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="*", help="more traces for the group eligible")
    parser.add_argument(
        "--group", choices=GROUPS, action="append", help="measure this one only; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="smaller workloads")
    parser.add_argument("--measure", choices=GROUPS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.seed, args.quick, args.trace)))
        return
    with TemporaryDirectory() as scratch:
        found = list(rows(Build(Path(scratch)), args))
    columns = ("group", "constant", "value", "mean, %", "worst, %", "best, %")
    report("constants", "misses, or time, compared with the present value", columns, found)


if __name__ == "__main__":
    main()
