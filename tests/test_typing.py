"""What type checkers learn of the package: everything, and nothing that is not so."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tidepool
from tidepool._sim import ffi, lib

STUB = Path(tidepool.__file__).with_name("_sim.pyi")

SCRIPT = """
from collections.abc import Iterable

import numpy as np

import tidepool as tp
from tidepool.generators import Zipf
from tidepool.plots import save
from tidepool.simulation import Curve, Result


class Fifo(tp.PythonPolicy):
    def __init__(self, slack: int = 0) -> None:
        self.queue: list[int] = []

    def hit(self, page: int, access: tp.Access) -> None:
        assert access.now >= 0

    def victim(self, page: int | None, access: tp.Access) -> int:
        return next(old for old in self.queue if self.usable(old))

    def evict(self, page: int, access: tp.Access) -> None:
        self.queue.remove(page)

    def admit(self, page: int, access: tp.Access) -> None:
        self.queue.append(page)


def misses(results: Iterable[Result]) -> list[int]:
    return [result.misses for result in results]


trace = Zipf(pages=100, length=1000)
results = tp.simulate(trace, policies=["arc", "lirs:hir=2%", Fifo], frames=["5%", 20])
assert len(misses(results)) == 6
first: Result = results[0]
curves: tp.CurveSet = tp.curve({"mine": np.arange(100)}, "lru,arc", points=4)
one: Curve = curves[0]
save(curves.plot(), "curve.png")
rows: int = results.to_table().num_rows
slow = tp.simulate(trace, tp.python_policy(Fifo, slack=1), 20)
tp.compare(trace, "arc", frames=["10%"]).plot()
names: list[str] = [policy.name for policy in tp.policies()]
version: str = tp.__version__
"""

WRONG = """
import tidepool as tp

tp.simulate("t.parquet", policies=[3], frames=5)
tp.simulate("t.parquet", "lru", 5, warmpu=3)
number: str = tp.simulate("t.parquet", "lru", 5)[0].misses


class Half(tp.PythonPolicy):
    def victim(self, page: int | None, access: tp.Access) -> str:
        return "x"
"""


def check(path: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Type-check a user's script, who has the installed package and no settings of ours."""
    path.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)


def test_a_users_script(tmp_path: Path) -> None:
    """It is clean, and it runs."""
    done = check(tmp_path / "script.py", SCRIPT)
    assert done.returncode == 0, done.stdout
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True)
    assert (tmp_path / "curve.png").stat().st_size > 1000


def test_mistakes_are_found(tmp_path: Path) -> None:
    done = check(tmp_path / "script.py", WRONG)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [int(line.split(":")[1]) for line in lines] == [4, 5, 6, 10]


def functions() -> dict[str, ast.FunctionDef]:
    tree = ast.parse(STUB.read_text())
    (methods,) = [n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Lib"]
    return {n.name: n for n in methods if isinstance(n, ast.FunctionDef)}


def constants() -> dict[str, str]:
    tree = ast.parse(STUB.read_text())
    (body,) = [n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Lib"]
    return {
        n.target.id: ast.unparse(n.annotation)
        for n in body
        if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }


def python_type(c_type: object) -> str:
    kind, name = getattr(c_type, "kind", ""), getattr(c_type, "cname", "")
    if kind == "void":
        return "None"
    if kind == "primitive":
        return {"double": "float", "float": "float", "_Bool": "bool"}.get(name, "int")
    return "int" if kind == "enum" else "CData"


def test_the_stub_of_the_c_layer_is_complete() -> None:
    names = set(dir(lib))
    assert functions().keys() | constants().keys() == names


@pytest.mark.parametrize("name", sorted(functions()))
def test_functions_of_the_c_layer(name: str) -> None:
    c_type = ffi.typeof(getattr(lib, name))
    stub = functions()[name]
    _, *arguments = stub.args.posonlyargs or stub.args.args
    assert [ast.unparse(a.annotation) for a in arguments if a.annotation] == [
        python_type(argument) for argument in c_type.args
    ]
    assert stub.returns is not None
    assert ast.unparse(stub.returns) == python_type(c_type.result)


def test_constants_of_the_c_layer() -> None:
    for name, kind in constants().items():
        value = getattr(lib, name)
        assert kind == (type(value).__name__ if isinstance(value, int) else "CData"), name
