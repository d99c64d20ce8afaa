"""Generate the C source of tidepool._sim.

Usage: build_binding.py OUTPUT CDEF HEADER...

The declarations are those of CDEF and of each HEADER between the marks
"cffi: begin" and "cffi: end".
"""

import re
import sys
from pathlib import Path

import cffi


def main(output: str, cdef: str, *headers: str) -> None:
    """Write the source to ``output``."""
    ffi = cffi.FFI()
    ffi.cdef(Path(cdef).read_text())
    for header in headers:
        text = Path(header).read_text()
        for part in re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, re.S):
            ffi.cdef(part)
    includes = (f'#include "tidepool/{Path(header).name}"\n' for header in headers)
    ffi.set_source("tidepool._sim", "".join(includes))
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
