"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.base import Model
from reference.lirs import LIRS
from reference.lirs2 import LIRS2
from reference.lru import LRU
from reference.lru_k import LRUK

MODELS: dict[str, type[Model]] = {
    "lru": LRU,
    "lru_k": LRUK,
    "lirs": LIRS,
    "lirs2": LIRS2,
}
