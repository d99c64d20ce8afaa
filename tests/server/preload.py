"""C libraries that tests preload into a server."""

from __future__ import annotations

import subprocess
from pathlib import Path


def built(name: str, directory: Path) -> Path:
    """Compile tests/server/NAME.c to a library in this directory."""
    library = directory / f"{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    options = ("-O1", "-Wall", "-Werror", "-shared", "-fPIC")
    subprocess.run(["cc", *options, "-o", library, source, "-ldl"], check=True)
    return library
