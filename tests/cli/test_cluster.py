"""``--scheduler``: the same results on a dask.distributed cluster as here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Call
from cli.test_simulate import timeless

distributed: Any = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    tests = str(Path(__file__).parents[1])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(lambda: sys.path.insert(0, tests))  # the traces' classes are the tests'
        yield cluster.scheduler_address


@pytest.mark.parametrize(
    "args",
    [
        "simulate --policy all --frames 5% --frames 30 --interval 300 --warmup 10% --per-relation",
        "simulate --policy all --frames 40 --sample 30% --seed 1 --seed 2",
        "curve --policy lru --policy arc --policy opt --points 5",
    ],
)
def test_cluster_and_threads_agree(ok: Call, folder: Path, scheduler: str, args: str) -> None:
    every = [args, sorted(folder.glob("*.csv")), "--format json"]
    here = ok(*every, "--workers 2").records
    there = ok(*every, "--scheduler", scheduler).records
    assert timeless(there) == timeless(here)


def test_errors_of_workers_are_told_in_one_line(
    call: Call, folder: Path, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidepool.traces import open_trace

    def not_there(path: str, *_: object) -> Any:
        trace = open_trace(path)
        monkeypatch.setattr(type(trace), "__reduce__", lambda _: (open_trace, ("/gone.csv",)))
        return trace

    monkeypatch.setattr("tidepool.cli.inputs.open_trace", not_there)
    out = call("simulate", folder / "loop.csv", "--policy lru --frames 9 --scheduler", scheduler)
    assert out.status == 1
    (error,) = out.err.splitlines()
    assert error.startswith("tidepool: error: the cluster failed: ")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "ftp://x:1"])
def test_no_scheduler(
    call: Call, folder: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidepool.cli.cluster.TIMEOUT", 1)
    out = call("simulate", folder / "loop.csv", "--policy lru --frames 9 --scheduler", address)
    assert out.status == 1
    assert out.err.splitlines() == [
        f'tidepool: error: cannot reach the scheduler "{address}"',
        "HINT:  Start one with: dask scheduler; then give its address, as in tcp://host:8786.",
    ]


def test_no_package(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    out = call("simulate", folder / "loop.csv", "--policy lru --frames 9 --scheduler x:1")
    assert out.status == 1
    assert out.err.splitlines() == [
        "tidepool: error: --scheduler needs the package dask.distributed",
        'HINT:  Install it with: pip install "tidepool[cluster]".',
    ]


def test_no_workers(call: Call, folder: Path) -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        out = call("simulate", folder / "loop.csv", "--policy lru --frames 9 --scheduler", address)
    assert out.status == 1
    assert f'the scheduler "{address}" has no workers' in out.err
