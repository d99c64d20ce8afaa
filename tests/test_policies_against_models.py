"""Every policy against its naive model: random operations, equal states throughout.

Twice: long walks, which get deep into the states, and sequences that
Hypothesis searches and shrinks.  The operations are references (some writes,
some correlated, some VACUUM's), scans, pins, pages that cease to exist,
proposals not carried out, evictions not followed by an admission or undone,
misses under way while others are served, frames that join and leave, moves of the
state in memory, looks ahead of evictions; and scans that run beside, through
some of which references are made.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.pair import CAPACITY, FLAGS, KINDS, PAGES, RELATION_BLOCKS, WAITS, Operation, Pair
from lockstep.variants import SPECS
from lockstep.walks import CALM, OFTEN, PINNING, walk
from reference import MODELS
from tidepool import policies


def test_every_policy_has_a_model() -> None:
    assert {policy.name for policy in policies()} == set(MODELS)


@pytest.mark.parametrize("spec", SPECS)
def test_equals_model_on_walks(spec: str) -> None:
    for frames in (1, 2, 3, 5, 8, 13):
        for pages in (frames + 2, 2 * frames + 1, PAGES):
            random = Random(frames * 100 + pages)
            for often, length in ((OFTEN, 300), (CALM, 150), (PINNING, 300)):
                seed = random.getrandbits(64)
                Pair(spec, frames, pages, seed).run(walk(random, often, length))


# ---- searches ----

pages = st.integers(0, PAGES - 1)
flags = st.sampled_from(FLAGS)
operation = st.one_of(
    st.tuples(st.just("reference"), pages, flags),
    st.tuples(st.just("references"), st.binary(min_size=16, max_size=64)),
    st.tuples(st.just("references"), st.binary(min_size=16, max_size=64)),
    st.tuples(st.just("scan"), pages, st.integers(1, PAGES)),
    st.tuples(st.just("switch"), st.integers(0, 20)),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin")),
    st.tuples(st.just("unpin_one"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("unpin_one"), st.integers(0, 2)),
    st.tuples(st.just("pin"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("pin_page"), pages),
    st.tuples(st.just("pin_page"), pages),
    st.tuples(st.just("pin_all_but"), st.integers(0, CAPACITY - 1)),
    st.tuples(st.just("pin_victim"), pages, flags),
    st.tuples(st.just("propose"), pages, flags),
    st.tuples(st.just("evict_only"), pages, flags),
    st.tuples(st.just("begin_miss"), pages, flags),
    st.tuples(st.just("begin_miss"), pages, flags),
    st.tuples(st.just("end_misses")),
    st.tuples(st.just("restore_misses"), flags),
    st.tuples(st.just("restore_victim"), pages, flags),
    st.tuples(st.just("forget"), pages, st.integers(1, 4)),
    st.tuples(st.just("wait"), st.sampled_from(WAITS)),
    st.tuples(st.just("join"), st.integers(0, CAPACITY - 1), st.integers(1, 4)),
    st.tuples(st.just("leave"), st.integers(1, 4)),
    st.tuples(st.just("move")),
    st.tuples(
        st.just("look_ahead"),
        st.integers(1, CAPACITY),
        st.integers(1, CAPACITY),
        st.integers(0, 2**CAPACITY - 1),
    ),
    st.tuples(
        st.just("begin_scan"),
        pages,
        st.integers(1, RELATION_BLOCKS),
        st.integers(0, len(KINDS) - 1),
    ),
    st.tuples(st.just("begin_index_scan"), st.integers(0, 1)),
    st.tuples(st.just("through"), st.integers(-4, 0)),
    st.tuples(st.just("advance"), pages),
    st.tuples(st.just("end_scan"), st.integers(-4, -1)),
    st.tuples(st.just("end_owner"), st.integers(0, 1)),
)
# (a plain list would have about ten operations, however long it may be)
operations = st.integers(0, 40).flatmap(lambda n: st.lists(operation, min_size=n, max_size=n))


@pytest.mark.parametrize("spec", SPECS)
@given(
    frames=st.integers(1, 6) | st.integers(1, CAPACITY),
    more_pages=st.integers(1, PAGES - CAPACITY),
    seed=st.integers(0, 2**64 - 1),
    operations=operations,
)
def test_equals_model(
    spec: str, frames: int, more_pages: int, seed: int, operations: list[Operation]
) -> None:
    Pair(spec, frames, frames + more_pages, seed).run(operations)
