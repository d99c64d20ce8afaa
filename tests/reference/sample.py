"""A random sample of the resident frames, as core/include/tidepool/parts/sample.h."""

from __future__ import annotations

from collections.abc import Callable, Collection

from reference.base import Model

TRIES = 4  # draws for each frame wanted


def sample_frames(model: Model, want: int, unusable: Collection[int]) -> list[int]:
    def eligible(frame: int) -> bool:
        return frame in model.page and frame not in unusable

    if model.c <= want:
        return [frame for frame in model.members if eligible(frame)]
    sample: list[int] = []
    for _ in range(TRIES * want):
        frame = model.members[model.random_below(model.c)]
        if eligible(frame):
            sample.append(frame)
        if len(sample) == want:
            return sample
    if not sample:
        start = model.random_below(model.c)
        sample = [f for f in model.members[start:] + model.members[:start] if eligible(f)][:1]
    return sample


def sample_members(model: Model, want: int) -> list[int]:
    """So many members, vacant or not; all of a pool that has no more."""
    if model.c <= want:
        return list(model.members)
    return [model.members[model.random_below(model.c)] for _ in range(want)]


def sample_least(
    model: Model, want: int, unusable: Collection[int], value: Callable[[int], float]
) -> int | None:
    """The usable frame of least value in a sample, the first of equals.

    If none of the sample is usable, of another one of usable frames.
    """
    sample = [frame for frame in sample_frames(model, want, ()) if frame not in unusable]
    if not sample:
        sample = sample_frames(model, want, unusable)
    return min(sample, key=value, default=None)
