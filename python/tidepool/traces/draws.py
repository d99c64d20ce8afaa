"""Random draws, all made from one primitive: the doubles of a seeded PCG64.

Of NumPy's random numbers only ``Generator.random`` is used.  What integers(),
permutation() and the distributions return for a seed is NumPy's to change
from version to version; a trace should outlive that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Random = np.random.Generator
Integers = NDArray[np.int64]


def sources(seed: int, count: int) -> list[Random]:
    """Return independent sources of random numbers, for independent questions."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def below(rng: Random, bound: int, size: int | tuple[int, ...]) -> Integers:
    """Draw whole numbers, uniform over 0 … bound - 1 (bound at most 2**32)."""
    return (rng.random(size) * bound).astype(np.int64)


def choose(rng: Random, shares: tuple[float, ...], size: int) -> Integers:
    """Draw 0 … len(shares) - 1 with these probabilities, which add up to 1."""
    return np.searchsorted(np.cumsum(shares)[:-1], rng.random(size), side="right")


def scattered(rng: Random, count: int) -> NDArray[np.uint32]:
    """Return a random permutation of 0 … count - 1."""
    return np.argsort(rng.random(count), kind="stable").astype(np.uint32)


class ZipfRanks:
    """Ranks 0 … count - 1, rank r with probability proportional to 1 / (r + 1)**alpha.

    Exact for every alpha >= 0, since the support is finite: a draw inverts
    the cumulative distribution, which is kept (8 bytes a rank).
    """

    def __init__(self, count: int, alpha: float) -> None:
        weights = np.arange(1, count + 1, dtype=np.float64) ** -alpha
        self._cumulative = np.cumsum(weights)
        self._cumulative /= self._cumulative[-1]  # the last is 1: above every draw

    def draw(self, rng: Random, size: int) -> Integers:
        """Draw ranks."""
        return np.searchsorted(self._cumulative, rng.random(size), side="right")


def nurand(
    uniform: tuple[NDArray[np.float64], NDArray[np.float64]],
    a: int,
    c: int,
    low: int,
    high: int,
) -> Integers:
    """Return TPC-C's NURand(a, low, high), less ``low``, from pairs of uniform numbers.

    ((random(0 … a) | random(low … high)) + c) modulo the number of values
    (TPC-C, clause 2.1.6).
    """
    count = high - low + 1
    first = (uniform[0] * (a + 1)).astype(np.int64)
    second = low + (uniform[1] * count).astype(np.int64)
    return ((first | second) + c) % count


def hashed(seed: int, numbers: Integers) -> NDArray[np.float64]:
    """Return a uniform number in [0, 1) for each of ``numbers``: always the same for the same.

    For properties of so many things that remembering them would cost too
    much.  The mixing is splitmix64's (Steele, Lea, Flood 2014).
    """
    mixed = _mix(numbers.astype(np.uint64) + _mix(np.array([seed], dtype=np.uint64)))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
