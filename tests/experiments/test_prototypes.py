"""Policies in Python: the same counts as those in C, and errors for what they do wrong."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidepool as tp
from cli.conftest import busy_events
from experiments.prototypes import PyKeep, PyLru, PyRandom, PySieve
from simulation.generated import Event, EventTrace, phases, zipf
from tidepool.generators import Tpcc, Zipf
from tidepool.simulation import Cell, Options, Sampling
from tidepool.simulation import simulate as replay
from tidepool.traces import Kind, Trace

COUNTS = ("requests", "misses", "hit_ratio", "refused", "correlated", "write_backs", "forgotten")

PAIRS = [(PyLru, "lru"), (PySieve, "sieve"), (PyKeep, "keep")]
pairs = pytest.mark.parametrize(("python", "c"), PAIRS, ids=[c for _, c in PAIRS])


def same(trace: Any, python: Any, c: str, frames: Any, **options: Any) -> None:
    """Both in one call have the same counts."""
    results = tp.simulate(trace, [python, c], frames, **options)
    half = len(results) // 2
    assert half > 0
    for mine, its in zip(results[:half], results[half:], strict=True):
        for name in COUNTS:
            assert getattr(mine, name) == getattr(its, name), (name, mine.frames)
        assert list(mine.series if mine.series is not None else ()) == list(
            its.series if its.series is not None else ()
        )
        assert mine.relations == its.relations


@pairs
def test_generated_traces(python: type[tp.PythonPolicy], c: str) -> None:
    for trace in (zipf(300, 4000), phases(200, 4000), Tpcc(length=4000)):
        same(trace, python, c, [1, 7, "10%", "60%", 100_000], warmup="10%")


@pairs
def test_events_of_all_kinds(python: type[tp.PythonPolicy], c: str) -> None:
    trace = EventTrace(busy_events())
    same(trace, python, c, [5, 40, 150], interval=500, per_relation=True)
    same(trace, python, c, 40, batch=16)
    same(trace, python, c, 40, correlation_window=20)


OTHERS = [Kind.WRITE, Kind.FORGET, Kind.PINNED, Kind.UNPINNED]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from(
                [Kind.READ] * 6 + [Kind.WRITE, Kind.FORGET, Kind.PINNED, Kind.UNPINNED]
            ),
            st.sampled_from([0, 0, 0, 2, 4]),
        ),
        min_size=1,
        max_size=80,
    ),
    st.integers(1, 5),
    st.sampled_from(PAIRS),
)
def test_random_events(events: list[tuple[int, Kind, int]], frames: int, pair: Any) -> None:
    """Pins among them, so that a victim must be passed over."""
    made = [Event(0), *(Event(p, k, f if k <= 1 else 0, count=1) for p, k, f in events)]
    same(EventTrace(made), *pair, frames)


@pytest.mark.parametrize(("python", "c"), PAIRS[:2])
def test_resizes(python: type[tp.PythonPolicy], c: str) -> None:
    resize = [(500, 10), (900, 60), (1500, "1%")]
    same(zipf(300, 4000), python, c, 40, resize=resize, interval=250)


@pytest.mark.parametrize(("python", "c"), PAIRS[:2])
def test_pools_samples_and_an_ssd(python: type[tp.PythonPolicy], c: str) -> None:
    trace = EventTrace(busy_events())
    layouts = tp.simulate(trace, [python, c], 60, pools="hot=lru,20:1", resize="900:hot=9")
    assert layouts[0].misses == layouts[1].misses
    assert layouts[0].pools[1] == layouts[1].pools[1]  # type: ignore[attr-defined]
    cells = [Cell(spec, 60) for spec in (tp.python_policy(python), tp.parse_policy(c))]
    for options in (Options(sampling=Sampling(0.5, 3)),):
        mine, its = replay([(zipf(400, 6000), cells)], options)
        assert (mine.misses, mine.error) == (its.misses, its.error)
    mine, its = tp.simulate(trace, [python, c], 30, ssd_policies="lru", ssd_frames=30)
    assert mine.ssd == its.ssd


def test_randomness_depends_on_the_seed_alone() -> None:
    spec = tp.python_policy(PyRandom, share=0.5)
    trace = zipf(300, 4000)
    first = tp.simulate(trace, spec, 30, seeds=[1, 2, 3])
    again = tp.simulate(trace, spec, 30, seeds=[3, 2, 1], workers=1)
    assert [r.misses for r in first] == [r.misses for r in again][::-1]
    assert len({r.misses for r in first}) > 1
    assert [r.seed for r in first] == [1, 2, 3]
    assert first[0].params == {"share": 0.5}
    assert str(spec) == "PyRandom:share=0.5"
    # others are replayed once
    assert len(tp.simulate(trace, PyLru, 30, seeds=[1, 2, 3])) == 1


def test_it_is_told_of_its_size() -> None:
    sizes: list[tuple[str, int]] = []

    class Sized(PyLru):
        def __init__(self) -> None:
            super().__init__()
            sizes.append(("begin", self.frames))

        def resized(self) -> None:
            sizes.append(("resized", self.frames))

    tp.simulate(zipf(300, 2000), Sized, 5, resize=[(100, 7), (200, 6)])
    assert sizes == [("begin", 5), ("resized", 6), ("resized", 7), ("resized", 6)]


def test_circumstances_of_references() -> None:
    seen: list[tp.Access] = []

    class Watching(PyLru):
        def admit(self, page: int, access: tp.Access) -> None:
            super().admit(page, access)
            seen.append(access)

    events = [
        Event(1, Kind.WRITE, time=5, backend=3),
        Event(2, flags=0x04 | 0x10, time=9),
    ]
    tp.simulate(EventTrace(events), Watching, 2)
    first, second = seen
    assert (first.now, first.backend, first.write, first.vacuum) == (5, 3, True, False)
    assert (second.now, second.vacuum, second.sequential, second.write) == (9, True, True, False)


def test_references_that_do_not_promote() -> None:
    class Counting(PyLru):
        hits = 0

        def hit(self, page: int, access: tp.Access) -> None:
            type(self).hits += 1

    class CountingAll(Counting):
        counts_all = True

    trace = EventTrace([Event(1), Event(1), Event(1, flags=2), Event(1, flags=4)])
    tp.simulate(trace, Counting, 2)
    assert Counting.hits == 1
    tp.simulate(trace, CountingAll, 2)
    assert CountingAll.hits == 1 + 3


def test_a_spec_goes_to_other_processes() -> None:
    spec = tp.python_policy(PyRandom, share=0.5)
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(spec) == hash(tp.python_policy(PyRandom, share=0.5))
    assert spec != tp.python_policy(PyRandom)


# ---- what can be wrong ----


def answering(answer: Any) -> type[tp.PythonPolicy]:
    class Answering(PyLru):
        def victim(self, page: int | None, access: tp.Access) -> Any:
            return answer(self, page)

    return Answering


PINNED = EventTrace([Event(1), Event(1, Kind.PINNED), Event(2), Event(3)], name="pinned")


@pytest.mark.parametrize(
    ("answer", "trace", "message", "hint"),
    [
        (lambda policy, page: None, zipf(9, 99), "names no victim although page", "tidepool.REFUS"),
        (lambda policy, page: 77, zipf(9, 99), "names page 77, which is not resident", "admit"),
        (lambda policy, page: page, zipf(9, 99), "which is the incoming page", "tidepool.REFUSED"),
        (lambda policy, page: "x", zipf(9, 99), "names 'x', which is not a page", "Return a page"),
        (lambda policy, page: 1.5, zipf(9, 99), "names 1.5, which is not a page", "Return a page"),
        (lambda policy, page: 1, PINNED, "names page 1, which is pinned", "self.usable"),
        (lambda policy, page: policy.usable(9), PINNED, "asks whether page 9 is usable", None),
    ],
)
def test_wrong_answers(answer: Any, trace: Trace, message: str, hint: str | None) -> None:
    with pytest.raises(tp.PolicyError, match=f"victim of policy Answering .*{message}") as error:
        tp.simulate(trace, answering(answer), 2)
    assert (hint or "") in (error.value.hint or "")


def test_a_policy_that_does_not_forget_what_it_evicts() -> None:
    class Leaking(PyLru):
        def evict(self, page: int, access: tp.Access) -> None:
            pass

    with pytest.raises(tp.PolicyError, match="which is not resident") as error:
        tp.simulate(zipf(9, 99), Leaking, 2)
    assert "neither evict nor forget" in (error.value.hint or "")


@pytest.mark.parametrize("method", ["__init__", "hit", "victim", "evict", "admit", "resized"])
def test_errors_of_its_own(method: str) -> None:
    """They end the replay, whatever the method, and reach the caller as they are."""

    def fail(self: Any, *args: Any) -> None:
        raise KeyError(f"in {method}")

    failing = type("Failing", (PyLru,), {method: fail})
    with pytest.raises(KeyError, match=f"in {method}") as error:
        tp.simulate(zipf(9, 3000), [failing, "lru"], 2, resize=[(900, 3)])
    if method != "__init__":
        (note,) = error.value.__notes__
        assert note.startswith(f"The replay had called Failing.{method}")


def test_pages_that_cease_to_exist() -> None:
    class Forgetful(PyLru):
        forget = tp.PythonPolicy.forget

    trace = EventTrace([Event(1), Event(1, Kind.FORGET, count=1), Event(2)])
    with pytest.raises(tp.PolicyError, match="Forgetful does not say what to do") as error:
        tp.simulate(trace, Forgetful, 2)
    assert "Define forget" in (error.value.hint or "")


def test_classes_that_are_no_policies() -> None:
    class Half(tp.PythonPolicy):
        def hit(self, page: int, access: tp.Access) -> None: ...

    class Drawing(PyRandom):
        randomized = False

    lru = type("lru", (PyLru,), {})
    trace = Zipf(pages=20, length=200)
    for given_, message in [
        (Half, "policy Half does not define admit, evict, victim"),
        (PyLru(), "an object of the class is not a policy"),
        (int, "<class 'int'> is not a policy"),
        (7, "7 is not a policy"),
        (lru, 'a class is called "lru", as a policy in C is'),
        (Drawing, "Drawing draws random numbers but does not say so"),
    ]:
        with pytest.raises(tp.PolicyError, match=message):
            tp.simulate(trace, given_, 2)  # type: ignore[arg-type]
    with pytest.raises(tp.PolicyError, match=r"cannot have these parameters: .*'chare'"):
        tp.python_policy(PyRandom, chare=1)
    with pytest.raises(tp.PolicyError, match="cannot have these parameters: unhashable"):
        tp.python_policy(PyRandom, share=[1])
