"""No module of the package imports one that imports it, however many are in between."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import tidepool

ROOT = Path(tidepool.__file__).parent


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


def imported(path: Path) -> set[str]:
    """Return the package's modules that one names in imports, wherever they stand in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            modules = {name for name in names if name in MODULES}
            # names that are no modules are the package's own
            found.update(modules if len(modules) == len(node.names) else {*modules, node.module})
    return found & MODULES.keys()


def test_the_imports_have_no_circle() -> None:
    assert len(MODULES) > 80
    graph = {module: imported(path) for module, path in MODULES.items()}
    assert "tidepool.traces.model" in graph["tidepool.simulation.grid"]
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_every_package_says_what_is_in_it() -> None:
    for module, path in MODULES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text())), module
