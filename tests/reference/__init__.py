"""Naive models of the replacement policies, one per policy.

Written from the papers and the contract in core/include/tidepool, not from
the C code: plain Python lists, no cleverness, any cost.  MODELS maps a
policy's name to its model.
"""

from reference.base import Model
from reference.car import CAR
from reference.keep import Keep
from reference.lru import LRU
from reference.osic import OSIC
from reference.recycle_jam import Jam, Recycle
from reference.s3fifo import S3FIFO
from reference.sieve import Sieve

MODELS: dict[str, type[Model]] = {
    "lru": LRU,
    "car": CAR,
    "s3fifo": S3FIFO,
    "sieve": Sieve,
    "keep": Keep,
    "recycle": Recycle,
    "jam": Jam,
    "osic": OSIC,
}
