"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.base import Model
from reference.hyperbolic import Hyperbolic
from reference.lean_evict import LeanEvict
from reference.lru import LRU
from reference.w_tinylfu import WTinyLFU
from reference.watt import Watt

MODELS: dict[str, type[Model]] = {
    "hyperbolic": Hyperbolic,
    "lean_evict": LeanEvict,
    "lru": LRU,
    "w_tinylfu": WTinyLFU,
    "watt": Watt,
}
