"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.arc import ARC
from reference.base import Model
from reference.clock import Clock
from reference.fifo import FIFO
from reference.lru import LRU
from reference.mq import MQ
from reference.mru import MRU
from reference.random import Random
from reference.two_q import TwoQ

MODELS: dict[str, type[Model]] = {
    "clock": Clock,
    "fifo": FIFO,
    "random": Random,
    "lru": LRU,
    "mru": MRU,
    "2q": TwoQ,
    "mq": MQ,
    "arc": ARC,
}
