"""A random sample of the resident frames, as core/include/tidepool/parts/sample.h."""

from __future__ import annotations

from collections.abc import Collection

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
