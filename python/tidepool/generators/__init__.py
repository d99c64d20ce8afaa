"""Traces made by a model instead of recorded; docs/generators.md describes each and its sources.

A module for each generator or pair; ``base``, ``ranked``, ``storage`` (heaps and
B-trees), ``transactions`` and ``tpcc_database`` are shared parts.

``GENERATORS`` maps a generator's name to its class.  A class is a frozen
dataclass; its fields (those with ``init``) are the parameters, with a default
and, in the metadata, "help", "min", "max" and "choices".  The first line of
the class's docstring says what it is.
"""

from tidepool.generators.base import GeneratedTrace
from tidepool.generators.dynzipf import DynZipfRo, DynZipfRoCs
from tidepool.generators.hot_cold import HotCold
from tidepool.generators.loop import Loop
from tidepool.generators.ods import Ods
from tidepool.generators.oltp_scan import OltpScan
from tidepool.generators.redset_like import RedsetLike
from tidepool.generators.scan import Scan
from tidepool.generators.shifting import Shifting
from tidepool.generators.tpcc import Tpcc
from tidepool.generators.tpch_scans import TpchScans
from tidepool.generators.ycsb import Ycsb
from tidepool.generators.zipf import Zipf

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
