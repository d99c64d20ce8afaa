"""Advice: pools, with which relations apart, and how large.

Units (relations that are assigned together) are ordered by what a buffer of
their own is worth, from their miss-ratio curves.  Each cut of that order gives
two groups: one whose pages are worth keeping, and one that only passes through.
Curves of both tell the best division.  So much is a guess, made of LRU; the
cuts that promise most are replayed as layouts, on which the verdict rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidepool.advice.curves import TimeCurve, Unit, split, time_curve, worth_of
from tidepool.advice.setups import Setup
from tidepool.advice.sql import assignable, unit_of
from tidepool.advice.study import Study, Verdict
from tidepool.policies import PolicySpec
from tidepool.simulation.layouts import PoolSpec

UNITS = 24  # that are told apart: those with most read time and most references
CUTS = 6  # of the order of units, for which curves are made
REPLAYED = 3  # of the cuts
FLOOR = 8  # DEFAULT has at least this part of the buffers, ...
FLOOR_BUFFERS = 300  # ... or, up to half, two for each of the backends that servers usually allow
LEAST_POOL = 64  # buffers: a smaller pool has no room for what a few queries pin
STEPS = (0.5, 0.75, 1.33, 2.0)  # of the size found, tried as well
SIMPLER = 0.005  # of the read time: what each further algorithm has to gain
FENCED, PROTECTED = "fenced", "protected"  # names of pools


@dataclass(frozen=True)
class Division:
    """Units that get a pool, with the size that curves suggest."""

    name: str
    units: tuple[Unit, ...]
    frames: int
    ms: float  # by the curves


def units_of(study: Study) -> list[Unit]:
    """Return the units that matter and can be assigned, those with most read time first."""
    members: dict[str, set[int]] = {}
    for prepared in study.recordings:
        for number, name in prepared.names.items():
            if assignable(name):
                members.setdefault(unit_of(name), set()).add(number)
    time = {relation: now for relation, now, _ in study.today.relations(study.today.replayed)}
    found = [Unit(name, frozenset(relations)) for name, relations in members.items()]
    found.sort(key=lambda unit: (-sum(time.get(r, 0.0) for r in unit.relations), unit.name))
    return found[:UNITS]


def tried_pools(study: Study, best: PolicySpec) -> list[tuple[Verdict, list[Unit]]]:
    """Return layouts with what they bring and their pool's units, the best one first."""
    most = study.setup.frames - floor(study.setup.frames)
    if study.setup.pools or most < LEAST_POOL:
        return []
    found = sorted(divisions(study, most), key=lambda division: division.ms)[:REPLAYED]
    algorithms = list(dict.fromkeys([best, study.setup.spec]))
    setups: dict[Setup, Division] = {}
    for division in found:
        for default in algorithms:
            for spec in algorithms:
                setups[_layout(study, division, default, spec, division.frames)] = division
    if not setups:
        return []
    verdicts = study.tried("trying pools", list(setups))
    first = max(verdicts, key=lambda verdict: _worth(study, verdict))
    division = setups[first.setup]
    for step in STEPS:
        size = round(step * division.frames)
        if LEAST_POOL <= size <= most:
            (pool,) = first.setup.pools
            setups[_layout(study, division, first.setup.spec, pool.spec, size)] = division
    verdicts = study.tried("trying sizes of pools", list(setups))
    verdicts.sort(key=lambda verdict: -_worth(study, verdict))
    return [(verdict, list(setups[verdict.setup].units)) for verdict in verdicts]


def _worth(study: Study, verdict: Verdict) -> float:
    """Return what a layout gains, less for each algorithm that the server does not run today."""
    setup = verdict.setup
    algorithms = {setup.spec, *(pool.spec for pool in setup.pools)}
    return verdict.chosen_by - SIMPLER * len(algorithms - {study.setup.spec})


def floor(frames: int) -> int:
    """Return the buffers that DEFAULT keeps."""
    return max(frames // FLOOR, min(frames // 2, FLOOR_BUFFERS))


def divisions(study: Study, most: int) -> list[Division]:
    """Return divisions in two, each with the pool's best size by the curves."""
    units = units_of(study)
    if len(units) < 1:
        return []
    with study.bar("curves of relations", len(units)) as advance:
        curves = []
        for unit in units:
            curves.append(time_curve(study, unit.relations))
            advance(1)
    ordered = worth_of(units, curves)
    everything = frozenset(r for prepared in study.recordings for r in prepared.blocks)
    found = []
    cuts = _cuts(ordered, dict(zip(units, curves, strict=True)))
    with study.bar("curves of groups of relations", 2 * len(cuts)) as advance:
        for cut in cuts:
            for name, chosen in ((PROTECTED, ordered[:cut]), (FENCED, ordered[cut:])):
                advance(1)
                if chosen:
                    found.append(_division(study, name, chosen, everything, most))
    return found


def _cuts(ordered: Sequence[Unit], curves: dict[Unit, TimeCurve]) -> list[int]:
    """Return where to cut: before and after the units with most read time."""
    places = range(len(ordered) + 1)
    weight = [float(curves[unit].ms[-1]) for unit in ordered]
    around = [
        (weight[i - 1] if i > 0 else 0.0) + (weight[i] if i < len(weight) else 0.0) for i in places
    ]
    return sorted(sorted(places, key=lambda i: -around[i])[:CUTS])


def _division(
    study: Study, name: str, units: Sequence[Unit], everything: frozenset[int], most: int
) -> Division:
    inside = frozenset(r for unit in units for r in unit.relations)
    apart, rest = time_curve(study, inside), time_curve(study, everything - inside)
    frames = study.setup.frames
    size = split(apart, rest, frames, LEAST_POOL, most)[0]
    return Division(name, tuple(units), size, apart.at(size) + rest.at(frames - size))


def _layout(
    study: Study, division: Division, default: PolicySpec, spec: PolicySpec, frames: int
) -> Setup:
    relations = tuple(sorted(r for unit in division.units for r in unit.relations))
    pool = PoolSpec(division.name, spec, frames, relations)
    return Setup(default, study.setup.frames, (pool,))
