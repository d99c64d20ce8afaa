"""Advice: pools, with which relations apart, and how large.

Units (relations that are assigned together) are ordered by what a buffer of
their own is worth, from their miss-ratio curves.  Each cut of that order gives
two groups: one whose pages are worth keeping, and one that only passes through.
Curves of both tell the best division.  So much is a guess, made of LRU; the
cuts that promise most are replayed as layouts, on which the verdict rests.

What the best layout leaves in DEFAULT is cut again for a further pool, as long
as that pays; all pools then divide the buffers anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidepool.advice.curves import Curves, Unit, divide, worth_of
from tidepool.advice.setups import Setup
from tidepool.advice.sql import assignable, unit_of
from tidepool.advice.study import LEAST, Study, Verdict
from tidepool.policies import PolicySpec
from tidepool.simulation.layouts import PoolSpec

UNITS = 24  # that are told apart: those with most read time and most references
CUTS = 6  # of the order of units, for which curves are made
REPLAYED = 3  # of the cuts
FLOOR = 8  # DEFAULT has at least this part of the buffers, ...
FLOOR_BUFFERS = 300  # ... or, up to half, two for each of the backends that servers usually allow
LEAST_POOL = 64  # buffers: a smaller pool has no room for what a few queries pin
MOST_POOLS = 3  # beside DEFAULT: each has to be kept right by hand
STEPS = (0.5, 0.75, 1.33, 2.0)  # of the size found, tried as well
SIMPLER = 0.005  # of the read time: what each further algorithm has to gain
FENCED, PROTECTED = "fenced", "protected"  # names of pools


@dataclass(frozen=True)
class Division:
    """Units that get a pool, with the sizes that curves suggest.

    Attributes:
        name: of the pool.
        units: in it.
        frames: of it.
        others: of the pools that there are already, in their order.
        ms: read time, by the curves.
    """

    name: str
    units: tuple[Unit, ...]
    frames: int
    others: tuple[int, ...]
    ms: float

    @property
    def relations(self) -> frozenset[int]:
        """The relations of all units."""
        return relations_of(self.units)


@dataclass(frozen=True)
class Apart:
    """Units set apart: what it brings, and those of each pool, in the order of the setup's."""

    verdict: Verdict
    units: tuple[tuple[Unit, ...], ...]


def relations_of(units: Iterable[Unit]) -> frozenset[int]:
    """Return the relations of all these units."""
    return frozenset(relation for unit in units for relation in unit.relations)


def units_of(study: Study) -> list[Unit]:
    """Return the units that matter and can be assigned, those with most read time first.

    What has a single page is none: it is worth no pool, and can be a sequence, which takes none.
    """
    members: dict[str, set[int]] = {}
    for prepared in study.recordings:
        for number, name in prepared.names.items():
            if assignable(name):
                members.setdefault(unit_of(name), set()).add(number)
    time = {relation: now for relation, now, _ in study.today.relations(study.today.replayed)}
    large = {r for p in study.recordings for r, blocks in p.blocks.items() if blocks > 1}
    found = [Unit(name, frozenset(each)) for name, each in members.items() if each & large]
    found.sort(key=lambda unit: (-sum(time.get(r, 0.0) for r in unit.relations), unit.name))
    return found[:UNITS]


def tried_pools(study: Study, best: PolicySpec) -> list[Apart]:
    """Return the best layout with one pool beside DEFAULT; with two, if that promises more; ...

    Of a server that has no pools.  Under `best` and today's algorithm.
    """
    if study.setup.pools or study.setup.frames - floor(study.setup.frames) < LEAST_POOL:
        return []
    curves = Curves(study)
    specs = list(dict.fromkeys([best, study.setup.spec]))
    found: list[Apart] = []
    so_far: Apart | None = None
    while len(found) < MOST_POOLS:
        gained = _worth(study, so_far.verdict) if so_far else 0.0
        further = _one_more(study, curves, so_far, specs)
        if further is None:
            break
        if so_far and _worth(study, further.verdict) < gained + LEAST:
            break
        found.append(further)
        so_far = further
        if _worth(study, further.verdict) < LEAST:
            break
    return found


def _worth(study: Study, verdict: Verdict) -> float:
    """Return what a layout gains, less for each algorithm that the server does not run today."""
    setup = verdict.setup
    algorithms = {setup.spec, *(pool.spec for pool in setup.pools)}
    return verdict.chosen_by - SIMPLER * len(algorithms - {study.setup.spec})


def floor(frames: int) -> int:
    """Return the buffers that DEFAULT keeps."""
    return max(frames // FLOOR, min(frames // 2, FLOOR_BUFFERS))


def _one_more(
    study: Study, curves: Curves, so_far: Apart | None, specs: Sequence[PolicySpec]
) -> Apart | None:
    """Return the best layout with one pool more than so far; None if there is no room for it."""
    found = sorted(divisions(study, curves, so_far), key=lambda division: division.ms)[:REPLAYED]
    defaults = [so_far.verdict.setup.spec] if so_far else specs
    setups: dict[Setup, Division] = {}
    for division in found:
        for default in defaults:
            for spec in specs:
                setups[_layout(study, division, so_far, default, spec)] = division
    if not setups:
        return None
    verdicts = study.tried("trying pools", list(setups))
    first = max(verdicts, key=lambda verdict: _worth(study, verdict))
    division = setups[first.setup]
    most = study.setup.frames - floor(study.setup.frames) - sum(division.others)
    spec = first.setup.pools[-1].spec
    for step in STEPS:
        size = round(step * division.frames)
        if LEAST_POOL <= size <= most:
            other = replace(division, frames=size)
            setups[_layout(study, other, so_far, first.setup.spec, spec)] = other
    verdicts = study.tried("trying sizes of pools", list(setups))
    chosen = max(verdicts, key=lambda verdict: _worth(study, verdict))
    return Apart(chosen, (*(so_far.units if so_far else ()), setups[chosen.setup].units))


def divisions(study: Study, curves: Curves, so_far: Apart | None) -> list[Division]:
    """Return what could get a pool of its own, each with the best sizes by the curves."""
    taken = so_far.units if so_far else ()
    units = [unit for unit in units_of(study) if all(unit not in pool for pool in taken)]
    if not units:
        return []
    with study.bar("curves of relations", len(units)) as advance:
        for unit in units:
            curves.of(unit.relations)
            advance(1)
    ordered = worth_of(units, [curves.of(unit.relations) for unit in units])
    found = []
    cuts = _cuts(ordered, curves)
    with study.bar("curves of groups of relations", 2 * len(cuts)) as advance:
        for cut in cuts:
            for name, chosen in ((PROTECTED, ordered[:cut]), (FENCED, ordered[cut:])):
                advance(1)
                division = _division(study, curves, name, chosen, so_far)
                if division is not None:
                    found.append(division)
    return found


def _cuts(ordered: Sequence[Unit], curves: Curves) -> list[int]:
    """Return where to cut: before and after the units with most read time."""
    places = range(len(ordered) + 1)
    weight = [float(curves.of(unit.relations).ms[-1]) for unit in ordered]
    around = [
        (weight[i - 1] if i > 0 else 0.0) + (weight[i] if i < len(weight) else 0.0) for i in places
    ]
    return sorted(sorted(places, key=lambda i: -around[i])[:CUTS])


def _division(
    study: Study, curves: Curves, kind: str, units: Sequence[Unit], so_far: Apart | None
) -> Division | None:
    """Return a pool for these units; None if there are none, or no room."""
    frames = study.setup.frames
    groups = [relations_of(pool) for pool in so_far.units] if so_far else []
    groups.append(relations_of(units))
    everything = frozenset(r for prepared in study.recordings for r in prepared.blocks)
    parts = [curves.of(everything.difference(*groups)), *map(curves.of, groups)]
    least = [floor(frames), *[LEAST_POOL] * len(groups)]
    spare = frames - sum(least)
    if not units or spare < 0:
        return None
    sizes = [each + spare // len(least) for each in least]
    sizes[0] = frames - sum(sizes[1:])
    default, *others, size = divide(parts, sizes, least)
    ms = sum(part.at(each) for part, each in zip(parts, (default, *others, size), strict=True))
    names = [pool.name for pool in so_far.verdict.setup.pools] if so_far else []
    name = kind if kind not in names else f"{kind}_{len(names) + 1}"
    return Division(name, tuple(units), size, tuple(others), ms)


def _layout(
    study: Study, division: Division, so_far: Apart | None, default: PolicySpec, spec: PolicySpec
) -> Setup:
    pools = so_far.verdict.setup.pools if so_far else ()
    resized = [replace(p, frames=n) for p, n in zip(pools, division.others, strict=True)]
    relations = tuple(sorted(division.relations))
    new = PoolSpec(division.name, spec, division.frames, relations)
    return Setup(default, study.setup.frames, (*resized, new))
