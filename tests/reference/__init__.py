"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.base import Model
from reference.lru import LRU

MODELS: dict[str, type[Model]] = {
    "lru": LRU,
}
