"""Long random sequences of operations, which get deep into the states."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from lockstep.pair import CAPACITY, FLAGS, KINDS, PAGES, RELATION_BLOCKS, WAITS, Operation


def page(random: Random) -> int:
    """Lower pages are hotter."""
    return int(PAGES * random.random() ** random.choice([1, 3]))


# Operations: how often, and with which arguments.
WALK: dict[str, tuple[int, Callable[[Random], tuple[Any, ...]]]] = {
    "reference": (200, lambda r: (page(r), r.choice(FLAGS))),
    "scan": (8, lambda r: (page(r), r.randint(1, PAGES))),
    "switch": (8, lambda r: (r.randrange(20),)),
    "unpin": (30, lambda r: ()),
    "unpin_one": (4, lambda r: (int(CAPACITY * r.random() ** 4),)),
    "pin": (4, lambda r: (r.randrange(CAPACITY),)),
    "pin_page": (4, lambda r: (page(r),)),
    "pin_all_but": (4, lambda r: (r.randrange(CAPACITY),)),
    "pin_victim": (4, lambda r: (page(r), r.choice(FLAGS))),
    "propose": (4, lambda r: (page(r), r.choice(FLAGS))),
    "evict_only": (4, lambda r: (page(r), r.choice(FLAGS))),
    "begin_miss": (12, lambda r: (page(r), r.choice(FLAGS))),
    "end_misses": (12, lambda r: ()),
    "restore_misses": (4, lambda r: (r.choice(FLAGS),)),
    "restore_victim": (4, lambda r: (page(r), r.choice(FLAGS))),
    "forget": (6, lambda r: (page(r), r.randint(1, 4))),
    "wait": (6, lambda r: (r.choice(WAITS),)),
    "join": (12, lambda r: (r.randrange(CAPACITY), r.randint(1, 4))),
    "leave": (6, lambda r: (r.randint(1, 4),)),
    "move": (1, lambda r: ()),
    "look_ahead": (
        20,
        lambda r: (
            r.randint(1, CAPACITY),
            r.randint(1, CAPACITY),
            r.choice([0, r.getrandbits(CAPACITY)]),
        ),
    ),
    "begin_scan": (
        12,
        lambda r: (r.randrange(PAGES), r.randint(1, RELATION_BLOCKS), r.randrange(len(KINDS))),
    ),
    "begin_index_scan": (3, lambda r: (r.randrange(2),)),
    "through": (12, lambda r: (r.randrange(-4, 1),)),
    "advance": (12, lambda r: (r.randrange(PAGES),)),
    "end_scan": (2, lambda r: (r.randrange(-4, 0),)),
    "end_owner": (1, lambda r: (r.randrange(2),)),
}
OFTEN = {name: often for name, (often, _) in WALK.items()}
CALM = {
    name: OFTEN[name]
    for name in (
        "reference",
        "scan",
        "wait",
        "look_ahead",
        "begin_scan",
        "through",
        "advance",
        "end_scan",
        "end_owner",
    )
}
PINNING = OFTEN | {"pin_page": 120, "unpin_one": 110, "pin_victim": 20, "unpin": 2}


def walk(random: Random, often: dict[str, int], length: int) -> list[Operation]:
    chosen = random.choices(list(often), list(often.values()), k=length)
    return [(name, *WALK[name][1](random)) for name in chosen]
