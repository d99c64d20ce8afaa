"""Two queues that take turns to give a victim: those of CAR, S3-FIFO and Clock2Q+."""

from __future__ import annotations

from collections.abc import Callable, Collection

from reference.base import Frames, last_usable


def choose_of_pair(
    queues: tuple[Frames, Frames],
    first_has_turn: Callable[[], bool],
    spared: Callable[[int], bool],
    unusable: Collection[int],
) -> int | None:
    """The first page found that is not spared; one that is goes to the second queue's head."""
    first, second = queues
    exhausted: list[Frames] = []  # queues in which a search has found nothing
    while len(exhausted) < 2:
        turn = [first, second] if first_has_turn() else [second, first]
        queue = next(q for q in turn if all(q is not e for e in exhausted))
        frame = queue.search(unusable)
        if frame is None:
            exhausted.append(queue)
        elif not spared(frame):
            return frame
        else:
            if queue is second:
                second.to_head(frame)
            else:
                first.remove(frame)
                second.insert(0, frame)
            exhausted = [q for q in exhausted if q is not second]
    return last_usable(second + first, unusable)
