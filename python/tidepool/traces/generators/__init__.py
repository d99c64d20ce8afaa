"""Traces made by a model instead of recorded: what each is and its sources, docs/generators.md.

``GENERATORS`` maps a generator's name to its class.  A class is a frozen
dataclass; its fields (those with ``init``) are the parameters, with a default
and, in the metadata, "help", "min", "max" and "choices".  The first line of
the class's docstring says what it is.
"""

from tidepool.traces.generators.base import GeneratedTrace
from tidepool.traces.generators.dynzipf import DynZipfRo, DynZipfRoCs
from tidepool.traces.generators.hot_cold import HotCold
from tidepool.traces.generators.loop import Loop
from tidepool.traces.generators.ods import Ods
from tidepool.traces.generators.oltp_scan import OltpScan
from tidepool.traces.generators.redset_like import RedsetLike
from tidepool.traces.generators.scan import Scan
from tidepool.traces.generators.shifting import Shifting
from tidepool.traces.generators.tpcc import Tpcc
from tidepool.traces.generators.tpch_scans import TpchScans
from tidepool.traces.generators.ycsb import Ycsb
from tidepool.traces.generators.zipf import Zipf

GENERATORS: dict[str, type[GeneratedTrace]] = {
    generator.command: generator
    for generator in (
        Zipf,
        HotCold,
        Shifting,
        Loop,
        Scan,
        OltpScan,
        TpchScans,
        DynZipfRo,
        DynZipfRoCs,
        RedsetLike,
        Ycsb,
        Tpcc,
        Ods,
    )
}

__all__ = [
    "GENERATORS",
    "DynZipfRo",
    "DynZipfRoCs",
    "GeneratedTrace",
    "HotCold",
    "Loop",
    "Ods",
    "OltpScan",
    "RedsetLike",
    "Scan",
    "Shifting",
    "Tpcc",
    "TpchScans",
    "Ycsb",
    "Zipf",
]
