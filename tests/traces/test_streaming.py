"""A trace is never in memory as a whole, neither when read nor when written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# In a process of its own: the peak of memory is the process's.
# Chunks are made small, lest the test take minutes.
SCRIPT = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from traces.helpers import Endless
from tidepool.traces import columns, open_trace, sample_trace, trace_info, write_trace

ROWS = 1 << 15
columns.resize.__defaults__ = (ROWS,)
for name, module in list(sys.modules.items()):
    if name.startswith("tidepool.") and hasattr(module, "CHUNK_ROWS"):
        module.CHUNK_ROWS = ROWS

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def both(chunks):
    write_trace(Endless(chunks, ROWS), sys.argv[2], sys.argv[3])
    trace = open_trace(sys.argv[2], sys.argv[3])
    assert trace_info(trace).references == chunks * ROWS
    assert sum(map(len, sample_trace(trace, 0.5).chunks())) > 0

both(32)  # enough to fill what allocators and libraries keep
before = peak()
both(96)
print(peak() - before)
"""


# The parsers and writers that are not here are as those that are.
@pytest.mark.parametrize(
    "name", ["native", "native.zst", "text.zst", "csv", "oracleGeneral", "vscsi"]
)
def test_memory_does_not_grow_with_the_trace(tmp_path: Path, name: str) -> None:
    format, _, compression = name.partition(".")
    path = str(tmp_path / "t") + ("." + compression if compression else "")
    tests = str(Path(__file__).parent.parent)
    grown = subprocess.run(
        [sys.executable, "-c", SCRIPT, tests, path, format],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    # the 64 chunks more have 32 MB of pages and times alone
    assert float(grown) < 12
